// Device files: docs/reference/formats/device.md.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "chakra/device/device.h"
#include "chakra/device/units.h"

namespace chakra::device {
namespace {

constexpr double kMostOps = 1e9, kMostGb = 1e9;  ///< in the file's units: a million times today's

/// A number above zero, in `unit`s.
Result<double> rate(const Spec& value, std::string_view key, double most, double unit) {
  CHAKRA_ASSIGN(const double number, value.number());
  if (!(number > 0 && number <= most))
    return value.error("device.file.value",
                       fmt::format("{} is {}; it is above 0 and at most {:g}", quote(key), quote(value.scalar), most));
  return number * unit;
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
    const auto at = std::find_if(kPeakTypes.begin(), kPeakTypes.end(), [&](DType t) { return trace::name(t) == type; });
    if (at == kPeakTypes.end())
      return of.error("device.file.key",
                      fmt::format("the element type {} has no peak; known: {}", quote(type), peak_types()));
    CHAKRA_ASSIGN(device.ops_per_s[static_cast<size_t>(at - kPeakTypes.begin())], rate(of, type, kMostOps, kTera));
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

Result<void> read_field(const std::string& key, const Spec& value, Device& device) {
  if (key == "peaks") return read_peaks(value, device);
  if (key == "recorded-as") return read_names(value, device);
  if (key == "memory-bandwidth") {
    CHAKRA_ASSIGN(device.memory_bytes_per_s, rate(value, key, kMostGb, kGiga));
    return {};
  }
  if (key == "memory") {
    CHAKRA_ASSIGN(device.memory_bytes, rate(value, key, kMostGb, kGiga));
    return {};
  }
  if (key == "name" || key == "source") {
    CHAKRA_ASSIGN((key == "name" ? device.name : device.source), value.string());
    return {};
  }
  return value.error("device.file.key",
                     fmt::format("the key {} is not known; a device has 'name', 'peaks', 'memory-bandwidth', 'memory', "
                                 "'recorded-as' and 'source'",
                                 quote(key)));
}

}  // namespace

Result<Device> load(const std::string& path) {
  CHAKRA_ASSIGN(const Spec spec, load_spec(path));
  if (spec.kind != Spec::Kind::map) return spec.error("device.file.value", "a device file is a map");
  Device device;
  for (const auto& [key, value] : spec.fields) CHAKRA_TRY(read_field(key, value, device));
  for (const char* needed : {"name", "peaks", "memory-bandwidth"})
    if (!spec.find(needed)) return spec.error("device.file.key", fmt::format("a device needs {}", quote(needed)));
  return device;
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
