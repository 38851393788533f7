// The system and memory files, key by key.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "chakra/device/device.h"
#include "chakra/device/numbers.h"
#include "chakra/device/tiers.h"

namespace chakra::device {
namespace {

constexpr int64_t kMostGiven = INT32_MAX;  ///< of counts and nanoseconds

/// Known, without effect on anything simulated here.
constexpr std::array<std::string_view, 11> kIgnored{"boost-mode",
                                                    "trace-enabled",
                                                    "track-local-mem",
                                                    "local-mem-trace-filename",
                                                    "L",
                                                    "o",
                                                    "g",
                                                    "G",
                                                    "inter-dimension-scheduling",
                                                    "intra-dimension-scheduling",
                                                    "seprate-log"};

class SystemReader {
 public:
  SystemReader(const Spec& spec, Findings& findings) : spec_(spec), findings_(findings) {}

  Result<System> run() {
    if (spec_.kind != Spec::Kind::map) return spec_.error("sim.system.value", "a system file must be a map");
    for (const auto& [key, value] : spec_.fields) {
      known_ = true;
      CHAKRA_TRY(read(key, value));
      if (known_) note_mode(key);
      else note_unknown(key, value);
    }
    std::move(unknown_).append_to(findings_);
    CHAKRA_TRY(read_tiers(spec_, system_));
    if (system_.roofline && !(system_.peak_flop_per_s > 0 && system_.memory_bytes_per_s > 0))
      return spec_.error("sim.system.key", "the roofline needs 'peak-perf' and 'local-mem-bw' above zero");
    return std::move(system_);
  }

 private:
  /// Which mode a key is for.
  void note_mode(const std::string& key) {
    const bool both = key == "roofline-enabled" || key == "peak-perf" || key == "local-mem-bw";
    if (key == "devices" || key == "ranks" || key == "tiers" || key == "tier-of") system_.native_keys.push_back(key);
    else if (!both) system_.compat_keys.push_back(key);
  }

  void note_unknown(const std::string& key, const Spec& value) {
    unknown_.add({"sim.system.unknown_key", Severity::warning, -1, -1,
                  fmt::format("{}: unknown key {}, without effect", value.place().text(), quote(key))});
  }

  Result<void> read(const std::string& key, const Spec& value) {
    const auto at_least = [&](int64_t& to, int64_t least) -> Result<void> {
      CHAKRA_ASSIGN(to, value.integer(key, least, kMostGiven, "sim.system.value"));
      return {};
    };
    const auto flag = [&](bool& to) -> Result<void> {
      CHAKRA_ASSIGN(to, value.boolean());
      return {};
    };
    const auto rate = [&](double& to, const FileUnit& unit) -> Result<void> {
      CHAKRA_ASSIGN(to, number_in(value, key, unit, "sim.system.value", true));
      return {};
    };
    if (key == "roofline-enabled") return flag(system_.roofline);
    if (key == "replay-only") return flag(system_.replay_only);
    if (key == "model-shared-bus") return flag(system_.shared_bus);
    if (key == "peak-perf") return rate(system_.peak_flop_per_s, kTeraOps);
    if (key == "local-mem-bw") return rate(system_.memory_bytes_per_s, kGigaBytesPerS);
    if (key == "endpoint-delay") return at_least(system_.endpoint_delay_ns, 0);
    if (key == "active-chunks-per-dimension") return at_least(system_.active_chunks, 1);
    if (key == "preferred-dataset-splits") return system_.splits_given = true, at_least(system_.splits, 1);
    if (key == "scheduling-policy") {
      CHAKRA_ASSIGN(system_.scheduling, value.string());
      for (const char* known : {"LIFO", "FIFO", "EXPLICIT"})
        if (system_.scheduling == known) return {};
      return value.error("sim.system.value", fmt::format("unknown scheduling policy {}; known: LIFO, FIFO, EXPLICIT",
                                                         quote(system_.scheduling)));
    }
    if (key == "collective-optimization") {
      std::string text;
      CHAKRA_ASSIGN(text, value.string());
      if (text != "baseline" && text != "localBWAware")
        return value.error(
            "sim.system.value",
            fmt::format("unknown collective optimization {}; known: baseline, localBWAware", quote(text)));
      system_.local_bw_aware = text == "localBWAware";
      return {};
    }
    if (key == "all-reduce-implementation") return names(value, system_.all_reduce);
    if (key == "all-gather-implementation") return names(value, system_.all_gather);
    if (key == "reduce-scatter-implementation") return names(value, system_.reduce_scatter);
    if (key == "all-to-all-implementation") return names(value, system_.all_to_all);
    if (key == "all-reduce-implementation-custom") return path(value, system_.all_reduce_custom);
    if (key == "all-gather-implementation-custom") return path(value, system_.all_gather_custom);
    if (key == "reduce-scatter-implementation-custom") return path(value, system_.reduce_scatter_custom);
    if (key == "all-to-all-implementation-custom") return path(value, system_.all_to_all_custom);
    if (key == "devices") return devices(value);
    if (key == "ranks") return ranks(value);
    if (key == "tiers" || key == "tier-of") return {};  // read_tiers(): the second speaks of the first
    known_ = std::find(kIgnored.begin(), kIgnored.end(), key) != kIgnored.end();
    return {};
  }

  /// {"a": {"device": "H100-SXM", "ranks": [0, 1]}, "b": {"peak-perf": TFLOP/s, "local-mem-bw": GB/s, "ranks": [2]}}
  Result<void> devices(const Spec& value) {
    if (value.kind != Spec::Kind::map)
      return value.error("sim.system.value", "expected a map from device names to device properties");
    for (const auto& [name, row] : value.fields) {
      CHAKRA_ASSIGN(Device device, device_row(name, row));
      for (const Spec& item : row.find("ranks")->items) {
        CHAKRA_ASSIGN(const int64_t rank, item.integer());
        RankTraits& traits = system_.unlike[rank];
        if (rank < 0 || traits.device >= 0)
          return item.error("sim.system.value",
                            fmt::format("rank {} {}", rank, rank < 0 ? "is negative" : "has two devices"));
        traits.device = static_cast<int64_t>(system_.devices.size());
      }
      system_.devices.push_back(std::move(device));
    }
    return {};
  }

  static Result<Device> device_row(const std::string& name, const Spec& row) {
    const Spec *peak = row.find("peak-perf"), *bandwidth = row.find("local-mem-bw"), *of = row.find("ranks"),
               *known = row.find("device");
    const size_t fields = known ? 2 : 3;
    if (!of || of->kind != Spec::Kind::list || row.fields.size() != fields || (!known && !(peak && bandwidth)))
      return row.error("sim.system.key",
                       fmt::format("device {} needs the list 'ranks', and either 'device' (a name of 'chakra list "
                                   "devices', or a device file) or 'peak-perf' and 'local-mem-bw'",
                                   quote(name)));
    if (known) {
      CHAKRA_ASSIGN(const std::string text, known->string());
      auto device = find_or_load(text, std::filesystem::path(*row.file).parent_path().string());
      if (!device && device.error().tag == "device.name.unknown") device.error().place = known->place();
      return device;
    }
    CHAKRA_ASSIGN(const double flops, number_in(*peak, "peak-perf", kTeraOps, "sim.system.value"));
    CHAKRA_ASSIGN(const double bytes, number_in(*bandwidth, "local-mem-bw", kGigaBytesPerS, "sim.system.value"));
    return plain(name, flops, bytes);
  }

  /// {"3": {"speed": 0.5, "start-ns": 1000}}
  Result<void> ranks(const Spec& value) {
    constexpr double kLeastSpeed = 1e-6, kMostSpeed = 1e6;
    if (value.kind != Spec::Kind::map)
      return value.error("sim.system.value", "expected a map from ranks to their differences");
    for (const auto& [name, rank] : value.fields) {
      int64_t number = -1;
      if (!parse_decimal(name, number) || number < 0)
        return rank.error("sim.system.value", fmt::format("{} is not a rank number", quote(name)));
      RankTraits& traits = system_.unlike[number];
      for (const auto& [key, of] : rank.fields) {
        CHAKRA_ASSIGN(const double given, of.number());
        if (key == "speed" && given >= kLeastSpeed && given <= kMostSpeed) traits.speed = given;
        else if (key == "start-ns" && given >= 0 && given < 1e15)
          traits.start_ps = picoseconds(given * 1e-9), traits.start_given = true;
        else
          return of.error("sim.system.value",
                          "a rank has a 'speed' (a factor from 1e-6 to 1e6) and a 'start-ns' (0 to 1e15)");
      }
    }
    return {};
  }

  static Result<void> names(const Spec& value, std::vector<std::string>& to) {
    if (value.kind != Spec::Kind::list)
      return value.error("sim.system.value", "expected a list of algorithms, one per dimension");
    for (const Spec& item : value.items) {
      CHAKRA_ASSIGN(std::string name, item.string());
      to.push_back(std::move(name));
    }
    return {};
  }

  static Result<void> path(const Spec& value, std::string& to) {
    const Spec& item = value.kind == Spec::Kind::list && value.items.size() == 1 ? value.items[0] : value;
    CHAKRA_ASSIGN(to, item.string());
    return {};
  }

  const Spec& spec_;
  Findings& findings_;
  LimitedFindings unknown_;
  System system_;
  bool known_ = true;  ///< the key read last
};

}  // namespace

const RankTraits& System::traits(int64_t rank) const {
  static const RankTraits kAlike;
  const auto found = unlike.find(rank);
  return found == unlike.end() ? kAlike : found->second;
}

const Device* System::device_of(int64_t rank) const {
  const int64_t own = traits(rank).device;
  return own >= 0 ? &devices[static_cast<size_t>(own)] : target ? &*target : nullptr;
}

void System::use_roofline() {
  if (!roofline || target) return;
  target = plain("roofline", peak_flop_per_s, memory_bytes_per_s);
  target_is_roofline = true;
}

Result<System> load_system(const std::string& path, Findings& findings) {
  CHAKRA_ASSIGN(const Spec spec, load_spec(path));
  CHAKRA_ASSIGN(System system, SystemReader(spec, findings).run());
  system.file = path;
  return system;
}

Result<void> load_memory(const std::string& path, System& system) {
  CHAKRA_ASSIGN(const Spec spec, load_spec(path));
  const Spec* type = spec.find("memory-type");
  if (!type) return spec.error("sim.memory.key", "a memory file needs 'memory-type'");
  CHAKRA_ASSIGN(const std::string name, type->string());
  struct Row {
    std::string_view name;
    MemoryKind kind;
  };
  static constexpr std::array<Row, 4> kRows{{{"NO_MEMORY_EXPANSION", MemoryKind::none},
                                             {"PER_NPU_MEMORY_EXPANSION", MemoryKind::per_rank},
                                             {"PER_NODE_MEMORY_EXPANSION", MemoryKind::per_node},
                                             {"MEMORY_POOL", MemoryKind::pool}}};
  const Row* const row = find_row(kRows, name);
  if (!row) return type->error("sim.memory.value", fmt::format("no memory type {}", quote(name)));
  system.memory = row->kind;
  if (system.memory == MemoryKind::none) return {};
  const auto number = [&](const char* key, double& to) -> Result<void> {
    const Spec* value = spec.find(key);
    if (!value) return spec.error("sim.memory.key", fmt::format("{} needs {}", quote(name), quote(key)));
    CHAKRA_ASSIGN(to, value->number());
    if (to < 0) return value->error("sim.memory.value", fmt::format("{} is negative", quote(key)));
    return {};
  };
  CHAKRA_TRY(number("remote-mem-latency", system.remote_memory_latency_ns));
  CHAKRA_TRY(number("remote-mem-bw", system.remote_memory_bytes_per_ns));
  if (!(system.remote_memory_bytes_per_ns > 0)) return spec.error("sim.memory.value", "'remote-mem-bw' is zero");
  if (system.memory == MemoryKind::per_node) {
    constexpr std::string_view kKey = "num-npus-per-node";
    const Spec* const ranks = spec.find(kKey);
    if (!ranks) return spec.error("sim.memory.key", fmt::format("{} needs {}", quote(name), quote(kKey)));
    CHAKRA_ASSIGN(system.remote_memory_ranks_per_node, ranks->integer(kKey, 1, kMostGiven, "sim.memory.value"));
  }
  return {};
}

}  // namespace chakra::device
