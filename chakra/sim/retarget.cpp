#include "chakra/sim/retarget.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "chakra/sim/kernel_times.h"
#include "chakra/trace/metadata.h"
#include "chakra/work/work.h"

namespace chakra::sim {
namespace {

using device::Device;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr double kTooFast = 1.05;       ///< that a kernel may beat its device's peak by: clocks vary
constexpr double kTooFastShare = 0.01;  ///< of device time, from which on it is said
constexpr double kShareSaid = 1e-4;     ///< of the operations, likewise: what would be printed as 0.00 % is not

bool is_measured(const Trace& t, NodeId n) { return t.type[n] == NodeType::comp && !t.on_cpu(n) && t.has_start(n); }

/// Copies that the link to the host bounds, not the device.
bool is_host_copy(std::string_view name) { return work::uses_link(work::copy_route(name)); }

/// Measured nodes that took less time than their operations can on the recording's device.
struct MeasuredAbove {
  Picoseconds ps = 0;
  std::string on;  ///< the device
};

/// Priced nodes that take less time than the device can (device::too_fast).
struct Above {
  int64_t nodes = 0;
  double least_s = 0, all_least_s = 0;  ///< the roofline's time: of these nodes, and of all priced ones
  device::TooFast worst;
  std::string kernel, row;  ///< of the worst: its name, and what gave its time
  std::string last_table;   ///< that gave a time
  void add(const Above& more, int64_t times) {
    nodes += more.nodes * times;
    least_s += more.least_s * static_cast<double>(times);
    all_least_s += more.all_least_s * static_cast<double>(times);
    if (more.worst.times > worst.times) worst = more.worst, kernel = more.kernel, row = more.row;
  }
};

/// Gives the nodes of one trace their time on one device.
class Carrier {
 public:
  Carrier(Trace& t, const device::System& system, const Device& to, KnownShapes& shapes)
      : t_(t), system_(system), to_(to), kernels_(t, shapes) {}

  const Trace& trace() const { return t_; }

  Result<void> run() {
    std::vector<double> factor(t_.size(), 1);
    const StringId unknown_work = t_.strings.find("unknown_work");
    std::vector<Scaling> how;
    how.resize(t_.size(), Scaling::given);  // in its constructor GCC 12 sees a free() of what is not on the heap
    for (const NodeId n : t_.nodes()) {
      has.host |= t_.on_cpu(n);
      has.passes |= t_.name_of(n).starts_with("prefill.") || t_.name_of(n).starts_with("decode.");
      if (t_.type[n] != NodeType::comp || t_.on_cpu(n)) continue;
      const Picoseconds before = t_.dur_ps[n];
      double error = 0;
      has.lower_bounds += !is_measured(t_, n) && has_attribute(n, unknown_work);
      ops += static_cast<double>(work::work_of(t_, n).ops);
      const bool first = t_.part_of[n] == trace::kNoNode || t_.part_of[n] >= n;
      if (is_measured(t_, n)) {
        if (first) CHAKRA_TRY(choose(n, how[n], factor[n], error));
        else how[n] = how[t_.part_of[n]], factor[n] = factor[t_.part_of[n]];  // of the same operation
        if (factor[n] != 1) t_.dur_ps.edit(n) = picoseconds(static_cast<double>(before) / kPsPerSecond * factor[n]);
      } else if (const auto time = kernels_.on(to_, n)) {
        take(n, *time, how[n]);
        error = time->error;
      } else if (const work::NodeWork work = work::work_of(t_, n); work.ops > 0 || work.bytes > 0) {
        estimate(n, work, how[n], error);
      } else if (before == 0) {
        continue;
      }
      if (is_predicted(how[n]) && first) compare_with_peak(n, how[n]);
      const Device* from = is_measured(t_, n) ? from_of(n) : nullptr;
      ScaledTime& row = rows[{from ? from->name : "", how[n]}];
      ++row.nodes;
      row.before_ps = add_saturated(row.before_ps, before);
      row.after_ps = add_saturated(row.after_ps, t_.dur_ps[n]);
      row.off_ps += error * static_cast<double>(t_.dur_ps[n]);
      if (error == 0) row.unknown_ps = add_saturated(row.unknown_ps, t_.dur_ps[n]);
    }
    return {};
  }

  std::map<std::pair<std::string, Scaling>, ScaledTime> rows;
  std::map<const device::KernelTable*, TableUse> tables;
  std::map<std::tuple<std::string, trace::DType, trace::DType>, double> stand_ins;  ///< device, type, in its place: ops
  double ops = 0;                                                                   ///< of all nodes
  MeasuredAbove too_fast;
  Above above;
  struct Has {
    bool host = false, passes = false;  ///< passes of serving
    int64_t lower_bounds = 0;           ///< nodes without a measured time that have calls of unknown work
  } has;

 private:
  bool has_attribute(NodeId n, StringId name) const {
    if (name == 0) return false;  // no node has it
    for (const trace::Attr& attr : t_.attrs_of(n))
      if (attr.name == name) return true;
    return false;
  }
  static double roofline(const Device& device, const work::NodeWork& work) {
    return device::roofline_seconds(device, work);
  }

  /// A node that no table is for.
  void estimate(NodeId n, const work::NodeWork& work, Scaling& how, double& error) {
    const device::Price price = device::predict(to_, work);
    how = to_.others    ? Scaling::others
          : !to_.prices ? Scaling::work
                        : static_cast<Scaling>(static_cast<int>(Scaling::compute_bound) + static_cast<int>(price.of));
    error = price.error;
    t_.dur_ps.edit(n) = picoseconds(price.seconds + part_of_expert_layer(to_, t_.name_of(n)));
    t_.flags.edit(n) |= trace::kHasDuration;
    note_types(to_, work);
  }
  void compare_with_peak(NodeId n, Scaling how) {
    const work::NodeWork work = work::work_of(t_, n);
    const double peak = device::peak(to_, work.type).ops_per_s;
    const double ops_s = peak > 0 ? static_cast<double>(work.ops) / peak : 0;
    const double bytes_s = static_cast<double>(work.bytes) / to_.memory_bytes_per_s, least = std::max(ops_s, bytes_s);
    above.all_least_s += least;
    const auto over = device::too_fast(ops_s, bytes_s, static_cast<double>(t_.dur_ps[n]) / kPsPerSecond);
    if (!(over.times > 0)) return;
    Above one{1, least, 0, over, std::string(t_.name_of(n)), std::string(kScalings[static_cast<size_t>(how)].text), {}};
    if (is_measured_kernel(how)) one.row = above.last_table;
    above.add(one, 1);
  }
  void take(NodeId n, const KernelTime& time, Scaling& how) {
    how = how_of(time);
    t_.dur_ps.edit(n) = picoseconds(time.seconds);
    t_.flags.edit(n) |= trace::kHasDuration;
    count(time, t_.dur_ps[n]);
  }
  static Scaling how_of(const KernelTime& time) {
    if (!time.table) return Scaling::stack;
    return time.extrapolated ? Scaling::extrapolated : Scaling::table;
  }
  void count(const KernelTime& time, Picoseconds after) {
    if (!time.table) return;
    above.last_table = fmt::format("by the rows of '{}' in {}", time.table->name(), trace::name(time.table->type()));
    tables[time.table].add({after, time.extrapolated ? after : 0, time.unaligned ? after : 0});
  }

  /// Price a measured node on a device with measured kernels, unless it was recorded there. False without a prediction.
  bool choose_kernel(NodeId n, Scaling& how, double& factor, double& error) {
    const auto here = kernels_.on(to_, n);
    const Device* from = from_of(n);
    const double measured = static_cast<double>(t_.dur_ps[n]) / kPsPerSecond;
    if (!here || !(measured > 0) || (from && from->name == to_.name)) return false;
    const auto there = from ? kernels_.on(*from, n) : std::nullopt;
    how = there && there->extrapolated && here->table ? Scaling::extrapolated : how_of(*here);
    factor = here->seconds / (there ? there->seconds : measured);
    error = here->error;
    count(*here, picoseconds(measured * factor));
    return true;
  }

  Result<void> choose(NodeId n, Scaling& how, double& factor, double& error) {
    const std::string_view name = t_.name_of(n);
    how = Scaling::host_copy;
    if (is_host_copy(name)) return {};
    how = Scaling::communication;
    if (work::is_communication_kernel(name)) return {};
    const bool unrecorded = name == trace::kUnrecorded;
    how = Scaling::kept_unrecorded;
    if (unrecorded && system_.keep_unrecorded) return {};
    if (choose_kernel(n, how, factor, error)) return {};
    how = Scaling::unknown;
    CHAKRA_ASSIGN(const Device* from, find_from(n));
    if (!from) return {};
    const work::NodeWork work = work::work_of(t_, n);
    const double there = roofline(*from, work), here = roofline(to_, work);
    how = unrecorded ? Scaling::unrecorded : there > 0 && here > 0 ? Scaling::roofline : Scaling::bandwidth;
    factor = how == Scaling::roofline ? here / there : from->memory_bytes_per_s / to_.memory_bytes_per_s;
    note_types(*from, work);
    note_types(to_, work);
    const auto has_tf32 = [](const Device& d) { return device::peak(d, trace::DType::tf32).as == trace::DType::tf32; };
    if (work.type == trace::DType::f32 && !has_tf32(*from) && has_tf32(to_))  // else names of kernels tell
      stand_ins[{to_.name, work.type, trace::DType::tf32}] += static_cast<double>(work.ops);
    const double peak = work.ops > 0 ? device::peak(*from, work.type).ops_per_s : 0;
    const double seconds = static_cast<double>(t_.dur_ps[n]) / kPsPerSecond;
    if (peak > 0 && static_cast<double>(work.ops) / peak > kTooFast * seconds) {
      too_fast.ps = add_saturated(too_fast.ps, t_.dur_ps[n]);
      too_fast.on = from->name;
    }
    return {};
  }

  int64_t number_of(NodeId n) const { return t_.lane[n] == trace::kNoLane ? 0 : t_.lanes[t_.lane[n]].process; }
  std::string_view name_of_device(NodeId n) const { return device::recorded_name(t_, number_of(n)); }

  /// The device on which a node was recorded; null where it is not known.
  const Device* from_of(NodeId n) {
    if (system_.recorded) return &*system_.recorded;
    const auto [found, added] = from_.try_emplace(number_of(n));
    if (added) {
      const std::string_view name = name_of_device(n);
      if (const device::DeviceRow* row = name.empty() ? nullptr : device::find(name))
        found->second = device::device(*row);
    }
    return found->second ? &*found->second : nullptr;
  }

  /// The same, where it has to be known: only the system file's roofline does without.
  Result<const Device*> find_from(NodeId n) {
    const Device* from = from_of(n);
    if (from || (system_.target_is_roofline && &to_ == &*system_.target)) return from;
    const std::string_view name = name_of_device(n);
    return fail(
        Code::bad_input, "sim.device.unknown",
        name.empty()
            ? fmt::format(
                  "the trace of rank {} does not name the recorded device; name it with --from-device NAME|FILE",
                  t_.rank)
            : fmt::format("rank {} was recorded on {}, which is not in 'chakra list devices'; describe it with "
                          "--from-device NAME|FILE{}",
                          t_.rank, quote(name), device::similar(name)),
        {t_.file});
  }

  void note_types(const Device& device, const work::NodeWork& work) {
    if (work.ops == 0) return;
    const device::Peak peak = device::peak(device, work.type);
    if (peak.as != work.type) stand_ins[{device.name, work.type, peak.as}] += static_cast<double>(work.ops);
  }

  Trace& t_;
  const device::System& system_;
  const Device& to_;
  KernelTimes kernels_;
  std::map<int64_t, std::optional<Device>> from_;  ///< by the device's number in the recording
};

/// Return the time that counts for a share: the predicted time if there is a prediction, else the recorded time.
Picoseconds counted(const ScaledTime& row) { return is_predicted(row.how) ? row.after_ps : row.before_ps; }

Picoseconds time_of(const std::vector<ScaledTime>& rows) {
  Picoseconds all = 0;
  for (const ScaledTime& row : rows) all = add_saturated(all, counted(row));
  return all;
}

/// Where the device time came from, and how far off each part may be: what was measured first. Errors of different ways
/// are independent of each other; within one they are not. "" without device time.
std::string reliability(const std::vector<ScaledTime>& rows) {
  std::array<ScaledTime, kScalings.size()> by{};
  for (const ScaledTime& row : rows) {
    ScaledTime& sum = by[static_cast<size_t>(row.how)];
    sum.before_ps = add_saturated(sum.before_ps, counted(row));
    sum.after_ps = add_saturated(sum.after_ps, row.after_ps);
    sum.off_ps += row.off_ps;
    sum.unknown_ps = add_saturated(sum.unknown_ps, row.unknown_ps);
  }
  const Picoseconds all = time_of(rows);
  if (all == 0) return "";
  std::string parts;
  double squares = 0, known = 0;
  int sources = 0;
  for (size_t place = 0; place < by.size(); ++place) {  // measured kernels and estimates first, as kScalings ends
    const size_t i = (place + static_cast<size_t>(Scaling::table)) % by.size();
    const ScaledTime& row = by[i];
    if (row.before_ps == 0) continue;
    parts +=
        fmt::format("{}{} {}", parts.empty() ? "" : ", ",
                    show_percent(static_cast<double>(row.before_ps) / static_cast<double>(all)), kScalings[i].text);
    if (row.error() == 0) continue;
    parts += fmt::format(" (off by {})", show_percent(row.error()));
    ++sources;
    squares += row.off_ps * row.off_ps;
    known += static_cast<double>(row.after_ps);
  }
  std::string text = fmt::format("of {} of device time: {}", show_time(all), parts);
  if (sources > 1)
    text += fmt::format("; together the {} with a known error are off by {}",
                        show_time(static_cast<Picoseconds>(known)), show_percent(std::sqrt(squares) / known));
  return text;
}

/// What all carriers found, by ranks.
class Summary {
 public:
  void add(const Carrier& carrier, const Device& device, int64_t ranks) {
    const std::string& to = device.name;
    for (const auto& [key, row] : carrier.rows) {
      ScaledTime& sum = rows_[{key.first, to, key.second}];
      sum.from = key.first;
      sum.to = to;
      sum.how = key.second;
      sum.nodes += row.nodes * ranks;
      sum.before_ps = add_saturated(sum.before_ps, multiply_saturated(row.before_ps, ranks));
      sum.after_ps = add_saturated(sum.after_ps, multiply_saturated(row.after_ps, ranks));
      sum.off_ps += row.off_ps * static_cast<double>(ranks);
      sum.unknown_ps = add_saturated(sum.unknown_ps, multiply_saturated(row.unknown_ps, ranks));
    }
    for (const auto& [table, use] : carrier.tables) {
      auto& [sum, of] = tables_[{device.name, table->name(), table->type()}];
      sum.add(use, ranks);
      of = {&device, table};
    }
    sums_.lower_bounds = add_saturated(sums_.lower_bounds, multiply_saturated(carrier.has.lower_bounds, ranks));
    const auto weight = static_cast<double>(ranks);
    for (const auto& [key, ops] : carrier.stand_ins) stand_ins_[key] += weight * ops;
    sums_.ops += weight * carrier.ops;
    too_fast_.ps = add_saturated(too_fast_.ps, multiply_saturated(carrier.too_fast.ps, ranks));
    if (!carrier.too_fast.on.empty()) too_fast_.on = carrier.too_fast.on;
    above_[to].add(carrier.above, ranks);
    if (device.host_s > 0 && !carrier.has.host) without_host_ = to;
    if (device.stack.pass_s > 0 || device.stack.sequence_s > 0) {
      pass_stack_ = device.stack.name;
      serves_ |= carrier.has.passes, has_host_ |= carrier.has.host;
    }
    if (device.kernels.empty() && !carrier.rows.empty() && !device::measured_file(to).empty()) measured_.insert(to);
  }

  std::vector<ScaledTime> finish(Findings& findings) const {
    std::vector<ScaledTime> rows;
    for (const auto& [key, row] : rows_) rows.push_back(row);
    if (sums_.lower_bounds > 0)
      findings.push_back({"sim.device.unknown_work", Severity::warning, -1, -1,
                          fmt::format("{} nodes have calls of unknown work, such as kernels that a program only names, "
                                      "and no measured time: these calls take no time, so the result is a lower bound",
                                      show_count(sums_.lower_bounds))});
    const std::string shares = reliability(rows);
    if (shares.empty()) return rows;
    const auto find = [&](const char* tag, Severity severity, std::string text) {
      findings.push_back({tag, severity, -1, -1, std::move(text)});
    };
    find("sim.device.scaled", Severity::note, shares);
    for (const auto& [key, use] : tables_)
      find(use.first.extrapolated_ps > 0 ? "sim.device.extrapolated" : "sim.device.kernels",
           use.first.extrapolated_ps > 0 ? Severity::warning : Severity::note,
           describe(*use.second.first, *use.second.second, use.first));
    for (const std::string& device : measured_)
      find("sim.device.measured", Severity::note,
           fmt::format("--device {} knows the data sheet only; kernels of this device were measured: --device "
                       "devices/{} in the folder of the examples, which 'chakra doctor' shows",
                       device, device::measured_file(device)));
    const Picoseconds all = time_of(rows);
    if (const Picoseconds experts = experts_ps(); experts > 0)
      find("sim.device.experts", Severity::warning,
           fmt::format(
               "{} of {} of device time is in matrix multiplications of experts: 22 predictions of "
               "published training steps with experts were 0.4 to 1.8 times the published times, beyond the errors of "
               "kernels",
               show_time(experts), show_time(all)));
    if (const std::string which = stand_ins(); !which.empty()) find("sim.device.peak", Severity::warning, which);
    if (!without_host_.empty())
      find("sim.device.host", Severity::warning,
           fmt::format("host-us of {} has no effect: the traces have no host; 'chakra gen step --device' adds one",
                       without_host_));
    if (serves_ && !has_host_)
      find(
          "sim.device.host", Severity::warning,
          fmt::format("pass-us and sequence-us of the stack {} have no effect: the traces have no host between passes; "
                      "'chakra gen serve --device --stack' adds one",
                      pass_stack_));
    if (static_cast<double>(too_fast_.ps) > kTooFastShare * static_cast<double>(all))
      find("sim.device.too_fast", Severity::warning,
           fmt::format("{} of the device time is in kernels that were faster than the peak rate of {}; check the "
                       "device, the FLOPs and their element types",
                       show_percent(static_cast<double>(too_fast_.ps) / static_cast<double>(all)), too_fast_.on));
    for (const auto& [device, above] : above_)
      if (above.least_s > kTooFastShare * above.all_least_s) findings.push_back(too_fast(device, above));
    return rows;
  }

 private:
  Picoseconds experts_ps() const {
    Picoseconds sum = 0;
    for (const auto& [key, use] : tables_)
      if (std::get<1>(key).starts_with("experts")) sum = add_saturated(sum, use.first.all_ps);
    return sum;
  }

  static Finding too_fast(const std::string& device, const Above& above) {
    return {
        "sim.device.too_fast",
        Severity::warning,
        -1,
        -1,
        fmt::format("{} computations are faster than {} can be; the worst is {} ({}), at {} times the {}; check the "
                    "unit of the times and the element types in the device file",
                    show_count(above.nodes), device, quote(above.kernel), above.row,
                    device::show_times(above.worst.times), above.worst.by_ops ? "peak FLOP/s" : "memory bandwidth"),
        {{"nodes", above.nodes}}};
  }

  /// "12.00 % of the operations are bf16, for which V100-SXM2 has no peak: there they count as f32; ..."
  std::string stand_ins() const {
    std::string text;
    for (const auto& [key, ops] : stand_ins_) {
      const auto& [device, type, as] = key;
      if (ops < kShareSaid * sums_.ops) continue;
      const std::string part = show_percent(ops / sums_.ops);
      text += text.empty() ? "" : "; ";
      if (as == trace::DType::tf32)
        text += fmt::format(
            "{} of the operations are f32, which libraries may run as tf32 on {} (PyTorch does in "
            "convolutions): faster than f32, as which they count",
            part, device);
      else if (type == trace::DType::unknown)
        text += fmt::format("{} of the operations have no element type: on {} they count as {}", part, device,
                            trace::name(as));
      else
        text +=
            fmt::format("{} of the operations are {}, for which {} has no peak: {}", part, trace::name(type), device,
                        as == trace::DType::unknown ? "only their bytes count there"
                                                    : fmt::format("there they count as {}", trace::name(as)));
    }
    return text;
  }

  std::map<std::tuple<std::string, std::string, Scaling>, ScaledTime> rows_;
  std::map<std::tuple<std::string, trace::DType, trace::DType>, double> stand_ins_;
  /// By device, kernel and element type.
  std::map<std::tuple<std::string, std::string, trace::DType>,
           std::pair<TableUse, std::pair<const Device*, const device::KernelTable*>>>
      tables_;
  struct {
    double ops = 0;
    int64_t lower_bounds = 0;
  } sums_;
  MeasuredAbove too_fast_;
  std::map<std::string, Above> above_;      ///< by device
  std::set<std::string> measured_;          ///< devices by name, whose kernels a file of the examples has
  std::string pass_stack_;                  ///< a stack with host time between passes of serving
  bool serves_ = false, has_host_ = false;  ///< ranks with that stack
  std::string without_host_;                ///< a device with host-us whose ranks have no host
};

}  // namespace

Result<std::vector<ScaledTime>> retarget(trace::ClassJob& job, const device::System& system, Findings& findings) {
  Summary summary;
  KnownShapes shapes;
  if (!system.target && system.devices.empty()) return std::vector<ScaledTime>();
  // The ranks of each class by device, in the order of the system's devices; null: as recorded.
  using Key = std::pair<uint32_t, int64_t>;
  std::map<Key, std::vector<uint32_t>> by_device;
  for (uint32_t r = 0; r < job.ranks.size(); ++r)
    by_device[{job.ranks[r].cls, system.traits(job.ranks[r].rank).device}].push_back(r);
  const auto classes = static_cast<uint32_t>(job.classes.size());
  for (uint32_t c = 0; c < classes; ++c) {
    const auto first = by_device.lower_bound({c, INT64_MIN}), last = by_device.lower_bound({c + 1, INT64_MIN});
    std::vector<std::pair<uint32_t, const Device*>> of;  // the class that each group of ranks gets, and its device
    for (auto group = first; group != last; ++group) {
      of.emplace_back(c, system.device_of(job.ranks[group->second.front()].rank));
      if (group == first) continue;
      of.back().first = static_cast<uint32_t>(job.classes.size());
      job.classes.push_back(job.classes[c]);
      job.group_slots.push_back(job.group_slots[c]);
      job.peer_slots.push_back(job.peer_slots[c]);
      for (const uint32_t r : group->second) job.ranks[r].cls = of.back().first;
    }
    auto group = first;
    for (const auto& [cls, to] : of) {
      const auto ranks = static_cast<int64_t>((group++)->second.size());
      if (!to) continue;
      Carrier carrier(job.classes[cls], system, *to, shapes);
      CHAKRA_TRY(carrier.run());
      summary.add(carrier, *to, ranks);
    }
  }
  for (const MemoryUse& use : memory_uses(job, system))
    if (auto finding = memory_finding(use)) findings.push_back(std::move(*finding));
  return summary.finish(findings);
}

std::optional<Device> recorded_device(const Trace& t, const device::System& system) {
  if (system.recorded) return system.recorded;
  return device::recorded_device(t);
}

}  // namespace chakra::sim
