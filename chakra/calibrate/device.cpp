#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "chakra/answer/answer.h"
#include "chakra/base/spec_json.h"
#include "chakra/calibrate/calibrate.h"
#include "chakra/calibrate/device_fit.h"
#include "chakra/calibrate/device_rows.h"
#include "chakra/work/work.h"

namespace chakra::calibrate {
namespace {

using device::KernelTable;

Result<device::Device> measured_device(const DeviceOptions& options, const MeasuredRows& rows) {
  if (!options.device.empty()) return device::find_or_load(options.device);
  std::vector<std::string_view> named;
  for (const auto& [name, kernels] : rows.kernels)
    if (!name.empty()) named.push_back(name);
  if (named.size() > 1)
    return fail(Code::bad_input, "calibrate.device.several",
                fmt::format("the rows are of several devices ({} and {}); choose one with --device NAME",
                            quote(named.front()), quote(named.back())));
  if (!named.empty())
    if (const device::DeviceRow* row = device::find(named[0])) return device::device(*row);
  return fail(Code::bad_input, "calibrate.device.unknown",
              named.empty()
                  ? "the files do not name the measured device; name it with --device NAME|FILE"
                  : fmt::format("the device {} is not in 'chakra list devices'; describe it with --device NAME|FILE{}",
                                quote(named[0]), device::similar(named[0])));
}

/// The rows that are of a device: those that name it and those that name none; all of them where none names it.
MeasuredRows::Kernels rows_of(const device::Device& device, MeasuredRows& rows, Findings& findings) {
  const auto is_it = [&](const std::string& name) {
    const device::DeviceRow* row = device::find(name);
    return row && row->name == device.name;
  };
  const bool any = std::any_of(rows.kernels.begin(), rows.kernels.end(), [&](const auto& r) { return is_it(r.first); });
  MeasuredRows::Kernels kernels;
  for (auto& [name, of_name] : rows.kernels) {
    const device::DeviceRow* row = device::find(name);
    const bool other = row && row->name != device.name;
    if (other && !any)
      findings.push_back({"calibrate.device.other", Severity::warning, -1, -1,
                          fmt::format("the rows were measured on {}, not on {}", row->name, device.name)});
    for (auto& [key, measured] : of_name) {
      if (any && !name.empty() && !is_it(name)) {
        rows.skipped[fmt::format("measured on {}", quote(name))] += static_cast<int64_t>(measured.size());
        continue;
      }
      std::vector<device::MeasuredKernel>& to = kernels[key];
      to.insert(to.end(), measured.begin(), measured.end());
    }
  }
  return kernels;
}

void note_undetermined(const KernelData& data, const FittedConstants& fitted, Findings& findings) {
  const device::KernelConstants& errors = fitted.errors;
  const bool steps = fitted.constants.step_s > 0;
  const work::KernelKind& kind = *work::find_kernel_kind(data.name);
  const bool multiplies = kind.ops(data.measured[0].sizes) > 0;
  std::string which;
  const auto look = [&](double error, const std::string& name) {
    if (!(error < kUndetermined)) which += (which.empty() ? "" : ", ") + name;
  };
  if (multiplies) look(errors.ops_time, "ops-time");
  for (size_t i = 0; i < kind.tensor_count(); ++i)
    look(errors.bytes_time[i],
         kind.tensor_count() == 1 ? "bytes-time" : fmt::format("bytes-time of {}", kind.tensors[i]));
  look(errors.fixed_s, "fixed-us");
  if (steps) look(errors.step_s, "step-ns");
  if (which.empty()) return;
  findings.push_back({"calibrate.device.undetermined", Severity::warning, -1, -1,
                      fmt::format("{} in {}: the measured shapes do not determine {}; far outside of their range the "
                                  "table says nothing",
                                  data.name, trace::name(data.type), which)});
}

// `calibrate.device.above` (warning): rows that are faster than the peak FLOP/s or the memory bandwidth of the device
void note_above(const KernelData& data, Findings& findings) {
  const work::KernelKind& kind = *work::find_kernel_kind(data.name);
  device::TooFast worst;
  const device::MeasuredKernel* row = nullptr;
  int64_t above = 0;
  for (const device::MeasuredKernel& m : data.measured) {
    const device::RooflineParts parts = device::roofline_parts(*data.device, kind, data.type, m.sizes);
    const device::TooFast too_fast = device::too_fast(parts.ops_s, parts.bytes_s(), m.seconds);
    above += too_fast.times > 0;
    if (too_fast.times > worst.times) worst = too_fast, row = &m;
  }
  if (!row) return;
  std::string sizes;
  for (size_t i = 0; i < kind.size(); ++i)
    sizes += fmt::format("{}{} = {:.15g}", sizes.empty() ? "" : ", ", kind.sizes[i], row->sizes[i]);
  findings.push_back({"calibrate.device.above", Severity::warning, -1, -1,
                      fmt::format("{} in {}: {} of {} shapes are faster than {} can be; the worst, {} in {:.6g} us, is "
                                  "at {} times its {}; check the unit of the times and the element type",
                                  data.name, trace::name(data.type), show_count(above),
                                  show_count(std::ssize(data.measured)), data.device->name, sizes, row->seconds * 1e6,
                                  device::show_times(worst.times), worst.by_ops ? "peak FLOP/s" : "memory bandwidth")});
}

/// A text for each tensor of the kernel.
template <class Text>
std::string each_tensor(const KernelTable& table, const Text& text) {
  std::string all;
  for (size_t t = 0; t < table.kind().tensor_count(); ++t) all += (t == 0 ? "" : ", ") + text(t);
  return all;
}

/// The rates as a reader of the file computes them from its numbers.
device::Device as_read(const device::Device& device) {
  device::Device read = device;
  for (double& rate : read.ops_per_s) rate = rate / 1e12 * 1e12;
  read.memory_bytes_per_s = device.memory_bytes_per_s / 1e9 * 1e9;
  return read;
}

/// The medians of the written times, digit for digit those of a reader without this line.
std::string classes_text(const device::Device& read, const KernelTable& table, std::string_view checksum) {
  if (!device::has_classes(table)) return "";
  std::vector<device::MeasuredKernel> written = table.measured();
  for (device::MeasuredKernel& m : written) {
    double us = 0;
    CHAKRA_ASSERT(parse_decimal(fmt::format("{:.6g}", m.seconds * 1e6), us));
    m.seconds = us * 1e-6;
  }
  const device::ClassMedians medians =
      class_medians(read, {read, table.name(), table.type(), table.constants(), written});
  std::string text;
  for (size_t c = 0; c < medians.size(); ++c)
    if (medians[c] > 0) text += fmt::format("\"{}\": {}, ", device::kClassKeys[c], medians[c]);
  return fmt::format("     \"classes\": {{{}\"of\": \"{}\"}},\n", text, class_checksum(read, table, checksum));
}

}  // namespace

Result<FittedDevice> fit_device(const DeviceOptions& options) {
  MeasuredRows rows;
  for (const std::string& file : options.files) CHAKRA_TRY(read_measured_kernels(file, rows));
  for (const trace::Trace& trace : options.traces) add_measured_kernels(trace, rows);
  if (rows.kernels.empty()) {
    std::string why;
    for (const auto& [reason, count] : rows.skipped)
      why += fmt::format("{} {} rows are not used: {}", why.empty() ? ";" : ",", show_count(count), reason);
    return fail(Code::bad_input, "calibrate.device.rows",
                rows.source.empty() ? "the traces have no measured kernel" + why
                                    : fmt::format("no measured kernel in {}{}", rows.source, why));
  }
  FittedDevice fitted;
  CHAKRA_ASSIGN(fitted.device, measured_device(options, rows));
  MeasuredRows::Kernels kernels = rows_of(fitted.device, rows, fitted.findings);
  fitted.device.kernels.clear();
  const device::Device bare = fitted.device;
  for (auto& [key, measured] : kernels) {
    KernelFit fit{static_cast<int64_t>(measured.size()), {}, 0, 0};
    KernelData data{&bare, key.first, key.second, medians(std::move(measured))};
    FittedConstants constants = fit_constants(data);
    const size_t shapes = data.measured.size();
    data = without_outlying(data, constants.constants, fitted.findings);
    if (data.measured.size() < shapes) constants = fit_constants(data);
    fit.accuracy = constants.errors;
    KernelTable table(bare, data.name, data.type, constants.constants, data.measured);
    table.source = rows.source;
    note_undetermined(data, constants, fitted.findings);
    note_above(data, fitted.findings);
    if (data.measured.size() >= kFewest) {
      const KernelJudgement judgement = judge_kernel(data);
      table.error = judgement.error;
      fit.extrapolated = judgement.extrapolated;
      fit.random_95 = judgement.random_95;
    } else {
      fitted.findings.push_back({"calibrate.device.few", Severity::warning, -1, -1,
                                 fmt::format("{} in {}: {} shapes are too few to hold some out; the error is unknown",
                                             data.name, trace::name(data.type), data.measured.size())});
    }
    fitted.device.kernels.push_back(std::move(table));
    fitted.fits.push_back(fit);
  }
  for (const auto& [reason, count] : rows.skipped)
    fitted.findings.push_back({"calibrate.device.skipped", Severity::note, -1, -1,
                               fmt::format("{} rows are not used: {}", show_count(count), reason)});
  return fitted;
}

std::string to_device_file(const device::Device& device) {
  const device::Device read = as_read(device);
  const auto quoted = [](std::string_view text) {
    std::string out;
    answer::append_text(out, text);
    return out;
  };
  std::string peaks, names, kernels;
  for (size_t i = 0; i < device::kPeakTypes.size(); ++i)
    if (device.ops_per_s[i] > 0)
      peaks += fmt::format("{}\"{}\": {}", peaks.empty() ? "" : ", ", trace::name(device::kPeakTypes[i]),
                           device.ops_per_s[i] / 1e12);
  for (const std::string& name : device.recorded_as) names += (names.empty() ? "" : ", ") + quoted(name);
  for (const KernelTable& k : device.kernels) {
    std::string sizes, error, measured, more;
    const size_t n = k.kind().size();
    for (size_t i = 0; i < n; ++i) sizes += fmt::format("{}, ", quoted(k.kind().sizes[i]));
    if (k.error)
      error = fmt::format(
          "     \"error\": {{\"random\": {:.4f}, \"block\": {:.4f}, \"worst\": {:.4f}, \"worst-of\": {}, "
          "\"roofline\": {:.4f}, \"spread\": {:.4f}, \"near\": {:.4f}, \"apart\": {:.4f}, "
          "\"far\": {:.4f}, \"beyond\": {:.4f}}},\n",
          k.error->random, k.error->block, k.error->worst, quoted(k.error->worst_of), k.error->roofline,
          k.error->spread, k.error->near, k.error->apart, k.error->far, k.error->beyond);
    const std::string times =
        each_tensor(k, [&](size_t t) { return fmt::format("{:.6g}", k.constants().bytes_time[t]); });
    const std::string bytes_times = k.kind().tensor_count() == 1 ? times : "[" + times + "]";
    if (k.constants().step_s > 0) more = fmt::format(" \"step-ns\": {:.6g},", k.constants().step_s * 1e9);
    if (k.constants().overlap) more += " \"overlap\": true,";
    for (const device::MeasuredKernel& m : k.measured()) {
      measured += measured.empty() ? "[\n[" : ",\n[";  // no blanks: files have a hundred thousand numbers
      for (size_t i = 0; i < n; ++i) measured += fmt::format("{},", m.sizes[i]);
      measured += fmt::format("{:.6g}]", m.seconds * 1e6);
    }
    measured += "]";
    const std::string checksum = text_checksum(measured);
    kernels += fmt::format(
        "{}\n    {{\"kernel\": {}, \"type\": \"{}\", \"source\": {},\n"
        "     \"ops-time\": {:.6g}, \"bytes-time\": {}, \"fixed-us\": {:.6g},{}\n"
        "{}     \"sizes\": [{}\"us\"],\n{}     \"checksum\": \"{}\",\n     \"measured\": {}}}",
        kernels.empty() ? "" : ",", quoted(k.name()), trace::name(k.type()), quoted(k.source), k.constants().ops_time,
        bytes_times, k.constants().fixed_s * 1e6, more, error, sizes, classes_text(read, k, checksum), checksum,
        measured);
  }
  std::string text = fmt::format("{{\n  \"name\": {},\n  \"peaks\": {{{}}},\n  \"memory-bandwidth\": {},\n",
                                 quoted(device.name), peaks, device.memory_bytes_per_s / 1e9);
  if (device.sustained_time != 1) text += fmt::format("  \"sustained-time\": {:.6g},\n", device.sustained_time);
  if (device.unaligned_time != 1) text += fmt::format("  \"unaligned-time\": {:.6g},\n", device.unaligned_time);
  if (device.others)
    text += fmt::format("  \"others\": {{\"ops-time\": {:.6g}, \"bytes-time\": {:.6g}, \"fixed-us\": {:.6g}}},\n",
                        device.others->ops_time, device.others->bytes_time, device.others->fixed_s * 1e6);
  if (device.host_s > 0) text += fmt::format("  \"host-us\": {:.6g},\n", device.host_s * 1e6);
  if (device.memory_bytes > 0) text += fmt::format("  \"memory\": {},\n", device.memory_bytes / 1e9);
  return text + fmt::format("  \"recorded-as\": [{}],\n  \"source\": {},\n  \"kernels\": [{}\n  ]\n}}\n", names,
                            quoted(device.source), kernels);
}

}  // namespace chakra::calibrate
