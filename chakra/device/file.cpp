// Device files: docs/reference/formats/device.md.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chakra/base/spec_json.h"
#include "chakra/device/device.h"
#include "chakra/device/numbers.h"
#include "chakra/device/units.h"

namespace chakra::device {
namespace {

Result<double> rate(const Spec& value, std::string_view key, const FileUnit& unit) {
  return number_in(value, key, unit, "device.file.value");
}

std::string peak_types() {
  std::string names;
  for (const DType type : kPeakTypes) names += fmt::format("{}{}", names.empty() ? "" : ", ", trace::name(type));
  return names;
}

Result<void> read_peaks(const Spec& value, Device& device) {
  if (value.kind != Spec::Kind::map || value.fields.empty())
    return value.error("device.file.value",
                       fmt::format("'peaks' is a map from an element type ({}) to TFLOP/s", peak_types()));
  for (const auto& [type, of] : value.fields) {
    const auto at =
        std::find_if(kPeakTypes.begin(), kPeakTypes.end(), [&type = type](DType t) { return trace::name(t) == type; });
    if (at == kPeakTypes.end())
      return of.error("device.file.key",
                      fmt::format("the element type {} has no peak; known: {}", quote(type), peak_types()));
    CHAKRA_ASSIGN(device.ops_per_s[static_cast<size_t>(at - kPeakTypes.begin())], rate(of, type, kTeraOps));
  }
  return {};
}

Result<void> read_names(const Spec& value, Device& device) {
  if (value.kind != Spec::Kind::list)
    return value.error("device.file.value", "'recorded-as' is a list of names that recordings have for the device");
  for (const Spec& item : value.items) {
    CHAKRA_ASSIGN(std::string name, item.string());
    device.recorded_as.push_back(std::move(name));
  }
  return {};
}

// ---- measured kernels ----------------------------------------------------------------------------------------------

constexpr double kMostSize = 1e15, kMostUs = 1e12, kMostTimes = 1e6, kMostHostUs = 1e6, kLeastUs = 1e-6;
constexpr double kMostSustained = 4;

Result<double> within(const Spec& value, std::string_view key, double least, double most) {
  return number_within(value, key, least, most, "device.file.value");
}

Result<void> read_error(const Spec& value, KernelError& error) {
  for (const auto& [key, of] : value.fields) {
    if (key == "worst-of") {
      CHAKRA_ASSIGN(error.worst_of, of.string());
      continue;
    }
    double* const to = key == "random"     ? &error.random
                       : key == "block"    ? &error.block
                       : key == "worst"    ? &error.worst
                       : key == "roofline" ? &error.roofline
                       : key == "spread"   ? &error.spread
                       : key == "near"     ? &error.near
                       : key == "apart"    ? &error.apart
                       : key == "far"      ? &error.far
                       : key == "beyond"   ? &error.beyond
                                           : nullptr;
    if (!to)
      return of.error("device.file.key",
                      fmt::format("unknown key {}; an error has 'random', 'block', 'worst', "
                                  "'worst-of', 'roofline', 'spread', 'near', 'apart', 'far' and 'beyond'",
                                  quote(key)));
    CHAKRA_ASSIGN(*to, within(of, key, 0, 1e9));
  }
  return {};
}

/// The cells of a KernelTable.
Result<std::vector<double>> read_measured(const Spec& value, const KernelKind& kind) {
  std::vector<double> cells;
  for (const Spec& row : value.items) {
    if (row.items.size() != kind.size() + 1)
      return row.error("device.file.value",
                       fmt::format("a measured {} is {} sizes and microseconds", quote(kind.name), kind.size()));
    for (size_t i = 0; i < kind.size(); ++i) {
      CHAKRA_ASSIGN(cells.emplace_back(), within(row.items[i], kind.sizes[i], 1, kMostSize));
    }
    CHAKRA_ASSIGN(const double us, within(row.items.back(), "microseconds", kLeastUs, kMostUs));
    cells.push_back(us * kMicro);
  }
  return cells;
}

/// Microseconds become seconds. False where a number cannot be.
bool make_cells(NumberTable& table, const KernelKind& kind) {
  const size_t sizes = kind.size();
  bool good = table.columns == sizes + 1 && !table.cells.empty();
  for (size_t cell = 0; cell < table.cells.size() && good; ++cell) {
    for (const size_t us = cell + sizes; cell < us; ++cell)
      good &= table.cells[cell] >= 1 && table.cells[cell] <= kMostSize;
    good &= table.cells[cell] >= kLeastUs && table.cells[cell] <= kMostUs;
    table.cells[cell] *= kMicro;
  }
  return good;
}

/// The same of a table, whose numbers have no lines: where one is wrong, load() reads the file as a tree.
Result<std::vector<double>> take_measured(const Spec& value, NumberTable& table, const KernelKind& kind) {
  if (!make_cells(table, kind)) return value.error("device.file.value", "invalid measured time or size");
  return std::move(table.cells);
}

/// Of a table that is as `chakra calibrate` wrote it. Nothing where a file only says so.
std::function<std::vector<double>()> read_later(const std::shared_ptr<const std::string>& file, std::string_view text,
                                                const KernelKind& kind) {
  return [file, text, &kind] {
    std::optional<NumberTable> table = read_rows(text);
    return table && make_cells(*table, kind) ? std::move(table->cells) : std::vector<double>();
  };
}

/// Microseconds, as seconds.
Result<double> microseconds(const Spec& value, std::string_view key) {
  CHAKRA_ASSIGN(const double us, within(value, key, 0, kMostUs));
  return us * kMicro;
}
Result<double> bytes_time(const Spec& value) { return within(value, "bytes-time", 1e-12, kMostTimes); }

/// One number, for all tensors, or a list of as many as the kernel has.
Result<Tensors> read_bytes_times(const Spec& value, const KernelKind& kind) {
  Tensors times{1, 1, 1};
  if (value.kind != Spec::Kind::list) {
    CHAKRA_ASSIGN(const double all, bytes_time(value));
    times.fill(all);
    return times;
  }
  if (value.items.size() != kind.tensor_count())
    return value.error("device.file.value", fmt::format("'bytes-time' of a {} is a number or a list of {}",
                                                        quote(kind.name), kind.tensor_count()));
  for (size_t i = 0; i < value.items.size(); ++i) {
    CHAKRA_ASSIGN(times[i], bytes_time(value.items[i]));
  }
  return times;
}

/// False where there is no constant of that name.
Result<bool> read_constant(const std::string& key, const Spec& value, const KernelKind& kind,
                           KernelConstants& constants) {
  if (key == "ops-time") {
    CHAKRA_ASSIGN(constants.ops_time, within(value, key, 0, kMostTimes));
  } else if (key == "bytes-time") {
    CHAKRA_ASSIGN(constants.bytes_time, read_bytes_times(value, kind));
  } else if (key == "fixed-us") {
    CHAKRA_ASSIGN(constants.fixed_s, microseconds(value, key));
  } else if (key == "overlap") {
    CHAKRA_ASSIGN(constants.overlap, value.boolean());
  } else if (key == "step-ns") {
    CHAKRA_ASSIGN(const double ns, within(value, key, 0, kMostUs));
    constants.step_s = ns * kNano;
    if (kind.steps({1, 1, 1, 1, 1, 1}) == 0)
      return value.error("device.file.value", fmt::format("{} has no steps", quote(kind.name)));
  } else {
    return false;
  }
  return true;
}

constexpr double kLeastMedian = 1e-30, kMostMedian = 1e30;

/// The medians that calibrate wrote, if `of` shows that they belong to these rows and this device.
Result<void> read_classes(const Spec& value, const Device& device, std::string_view rows, KernelTable& table) {
  if (value.kind != Spec::Kind::map)
    return value.error("device.file.value", "'classes' is a map of 'compute', 'memory', 'seconds' and 'of'");
  ClassMedians medians{};
  std::string of;
  for (const auto& [key, number] : value.fields) {
    if (key == "of") {
      CHAKRA_ASSIGN(of, number.string());
      continue;
    }
    const auto at = std::find(kClassKeys.begin(), kClassKeys.end(), key);
    if (at == kClassKeys.end())
      return number.error(
          "device.file.key",
          fmt::format("unknown key {}; 'classes' has 'compute', 'memory', 'seconds' and 'of'", quote(key)));
    CHAKRA_ASSIGN(medians[static_cast<size_t>(at - kClassKeys.begin())],
                  within(number, key, kLeastMedian, kMostMedian));
  }
  if (!rows.empty() && of == class_checksum(device, table, rows)) table.classes = medians;
  return {};
}

Result<void> read_kernel(const Spec& spec, SpecWithTables& file, Device& device) {
  for (const char* needed : {"kernel", "type", "measured"})
    if (!spec.find(needed)) return spec.error("device.file.key", fmt::format("a kernel needs {}", quote(needed)));
  CHAKRA_ASSIGN(const std::string name, spec.find("kernel")->string());
  const KernelKind* kind = find_kernel_kind(name);
  if (!kind)
    return spec.error("device.file.value",
                      fmt::format("unknown kernel {} ('chakra list kernels' shows all)", quote(name)));
  CHAKRA_ASSIGN(const std::string type_name, spec.find("type")->string());
  const DType type = trace::dtype_of(type_name);
  if (type == DType::unknown)
    return spec.error("device.file.value", fmt::format("unknown element type {}", quote(type_name)));
  if (const KernelTable* other = find_table(device, name, type); other && other->type() == type)
    return spec.error("device.file.value", fmt::format("two tables of {} in {}", quote(name), type_name));
  KernelConstants constants;
  std::optional<KernelError> error;
  std::string source;
  for (const auto& [key, value] : spec.fields) {
    if (key == "kernel" || key == "type" || key == "measured" || key == "sizes" || key == "checksum" ||
        key == "classes")
      continue;
    if (key == "error") {
      CHAKRA_TRY(read_error(value, error.emplace()));
    } else if (key == "source") {
      CHAKRA_ASSIGN(source, value.string());
    } else {
      CHAKRA_ASSIGN(const bool known, read_constant(key, value, *kind, constants));
      if (!known)
        return value.error(
            "device.file.key",
            fmt::format("unknown key {}; known: 'ops-time', 'bytes-time', 'fixed-us', 'step-ns', 'overlap', 'kernel', "
                        "'type', 'sizes', 'error', 'source', 'classes', 'checksum', 'measured'",
                        quote(key)));
    }
  }
  const Spec& rows = *spec.find("measured");
  NumberTable* const table = file.table_of(rows);
  const bool is_later = table && !table->unread.empty() && table->columns == kind->size() + 1;
  if (is_later) {
    device.kernels.emplace_back(device, name, type, constants, read_later(file.text, table->unread, *kind));
  } else {
    CHAKRA_ASSIGN(std::vector<double> cells, table ? take_measured(rows, *table, *kind) : read_measured(rows, *kind));
    if (cells.empty()) return spec.error("device.file.value", fmt::format("{} has no measured rows", quote(name)));
    device.kernels.emplace_back(device, name, type, constants, std::move(cells));
  }
  device.kernels.back().source = source;
  device.kernels.back().error = error;
  const Spec* const checksum = spec.find("checksum");
  if (const Spec* classes = spec.find("classes"))
    CHAKRA_TRY(read_classes(*classes, device, is_later && checksum ? checksum->scalar : "", device.kernels.back()));
  return {};
}

Result<void> read_others(const Spec& value, Device& device) {
  if (value.kind != Spec::Kind::map)
    return value.error("device.file.value", "'others' is a map of 'ops-time', 'bytes-time' and 'fixed-us'");
  WorkConstants& others = device.others.emplace();
  for (const auto& [key, of] : value.fields) {
    if (key == "ops-time") {
      CHAKRA_ASSIGN(others.ops_time, within(of, key, 0, kMostTimes));
    } else if (key == "bytes-time") {
      CHAKRA_ASSIGN(others.bytes_time, bytes_time(of));
    } else if (key == "fixed-us") {
      CHAKRA_ASSIGN(others.fixed_s, microseconds(of, key));
    } else {
      return of.error("device.file.key",
                      fmt::format("unknown key {}; known: 'ops-time', 'bytes-time', 'fixed-us'", quote(key)));
    }
  }
  return {};
}

Result<void> read_field(const std::string& key, const Spec& value, Device& device) {
  if (key == "others") return read_others(value, device);
  if (key == "host-us") {
    CHAKRA_ASSIGN(const double us, within(value, key, 0, kMostHostUs));
    device.host_s = us * kMicro;
    return {};
  }
  if (key == "sustained-time") {
    CHAKRA_ASSIGN(device.sustained_time, within(value, key, 1, kMostSustained));
    return {};
  }
  if (key == "unaligned-time") {
    CHAKRA_ASSIGN(device.unaligned_time, within(value, key, 1, kMostTimes));
    return {};
  }
  if (key == "kernels") return {};  // they need the peaks
  if (key == "peaks") return read_peaks(value, device);
  if (key == "recorded-as") return read_names(value, device);
  if (key == "memory-bandwidth") {
    CHAKRA_ASSIGN(device.memory_bytes_per_s, rate(value, key, kGigaBytesPerS));
    return {};
  }
  if (key == "memory") {
    CHAKRA_ASSIGN(device.memory_bytes, rate(value, key, kGigaBytes));
    return {};
  }
  if (key == "name" || key == "source") {
    CHAKRA_ASSIGN((key == "name" ? device.name : device.source), value.string());
    return {};
  }
  return value.error(
      "device.file.key",
      fmt::format("unknown key {}; a device has 'name', 'peaks', 'memory-bandwidth', 'memory', "
                  "'recorded-as', 'source', 'kernels', 'others', 'host-us', 'sustained-time' and 'unaligned-time'",
                  quote(key)));
}

Result<Device> read_device(SpecWithTables file) {
  const Spec& spec = file.spec;
  if (spec.kind != Spec::Kind::map) return spec.error("device.file.value", "a device file must be a map");
  Device device;
  for (const auto& [key, value] : spec.fields) CHAKRA_TRY(read_field(key, value, device));
  for (const char* needed : {"name", "peaks", "memory-bandwidth"})
    if (!spec.find(needed)) return spec.error("device.file.key", fmt::format("a device needs {}", quote(needed)));
  if (const Spec* kernels = spec.find("kernels")) {
    device.kernels.reserve(kernels->items.size());
    for (const Spec& kernel : kernels->items) CHAKRA_TRY(read_kernel(kernel, file, device));
  }
  device.prices = prices_of(device);
  return device;
}

}  // namespace

Result<Device> load(const std::string& path) {
  CHAKRA_ASSIGN(SpecWithTables file, load_spec_tables(path, "measured"));
  if (auto device = read_device(std::move(file))) return device;
  CHAKRA_ASSIGN(Spec tree, load_spec(path));  // whose values know their lines
  return read_device({std::move(tree), {}, {}});
}

Result<Device> find_or_load(const std::string& name_or_file, const std::string& folder) {
  if (const DeviceRow* row = find(name_or_file)) return device(*row);
  if (is_file(name_or_file)) return load(name_or_file);
  if (!folder.empty())
    if (const std::string beside = (std::filesystem::path(folder) / name_or_file).string(); is_file(beside))
      return load(beside);
  return fail(Code::bad_input, "device.name.unknown",
              fmt::format("{} is neither a device ('chakra list devices') nor a file{}", quote(name_or_file),
                          similar(name_or_file)));
}

}  // namespace chakra::device
