// A program alone -> the traces of its devices, by classes. Devices differ in groups and partners only, so devices that
// send and receive equally often run the same trace.
#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include "chakra/xla/files.h"
#include "chakra/xla/hosts.h"
#include "chakra/xla/nodes.h"

namespace chakra::xla {
namespace {

class Import {
 public:
  Import(const Program& program, Findings& findings) : p_(program), findings_(findings), work_(program) {}

  Result<ImportedProgram> run() {
    CHAKRA_ASSIGN(communication_, communication_of(p_));
    CHAKRA_ASSIGN(unrolled_, unroll(p_, work_, nullptr));
    report_program(p_, work_, &unrolled_, findings_);
    out_.report = report_of(p_, work_, unrolled_);
    for (CollectiveCount& count : out_.report.collectives)
      count.executions = multiply_bytes(count.executions, static_cast<uint64_t>(p_.device_count()));
    choose_slots();
    std::map<std::vector<size_t>, uint32_t> classes;  // by the numbers of messages
    std::map<int64_t, ClassRank> ranks;
    for (int64_t logical = 0; logical < p_.device_count(); ++logical) {
      std::vector<size_t> counts;
      for (const auto& [key, messages] : communication_.messages) {
        counts.push_back(messages.to[static_cast<size_t>(logical)].size());
        counts.push_back(messages.from[static_cast<size_t>(logical)].size());
      }
      const auto [found, added] = classes.try_emplace(counts, static_cast<uint32_t>(classes.size()));
      if (added) add_class(logical);
      ranks[p_.device(logical)] = {logical, found->second};
    }
    for (const auto& [rank, of] : ranks) add_rank(rank, of);
    return std::move(out_);
  }

 private:
  struct ClassRank {
    int64_t logical = 0;
    uint32_t cls = 0;
  };

  /// Collectives with the same groups share a slot.
  void choose_slots() {
    std::map<std::vector<std::vector<int64_t>>, size_t> slot_of;
    for (const auto& [key, meeting] : communication_.meetings) {
      const auto [found, added] = slot_of.try_emplace(meeting.groups, meetings_.size());
      if (added) meetings_.push_back(&meeting);
      slots_[key] = found->second;
    }
  }
  static std::string slot_name(size_t slot) { return fmt::format("group{}", slot); }

  void add_class(int64_t logical) {
    trace::Builder builder;
    trace::Trace& t = builder.trace;
    t.file = p_.file;
    t.says_rank = true;
    add_metadata(t, p_);
    std::map<std::pair<Communication::Key, bool>, int64_t> first_peer;  // slot 0: the device itself
    int64_t peers = 1;
    for (const auto& [key, messages] : communication_.messages)
      for (const bool sends : {false, true}) {
        first_peer[{key, sends}] = peers;
        peers += static_cast<int64_t>((sends ? messages.to : messages.from)[static_cast<size_t>(logical)].size());
      }
    Device device;
    device.logical = logical;
    device.group = [&](Communication::Key key, const Meeting&) { return t.strings.intern(slot_name(slots_.at(key))); };
    device.peer = [&](Communication::Key key, bool sends, size_t number) {
      return first_peer.at({key, sends}) + static_cast<int64_t>(number);
    };
    NodeWriter writer(builder, p_, work_, communication_, device);
    for (uint32_t op = 0; op < unrolled_.ops.size(); ++op) writer.add(unrolled_, op);
    std::vector<std::string> names;
    for (size_t slot = 0; slot < meetings_.size(); ++slot) {
      names.push_back(slot_name(slot));
      t.groups.push_back({names.back(), "", "", {}, 0});
    }
    out_.job.classes.push_back(std::move(builder).finish());
    out_.job.group_slots.push_back(std::move(names));
    out_.job.peer_slots.push_back(static_cast<uint32_t>(peers));
  }

  void add_rank(int64_t rank, const ClassRank& of) {
    trace::ClassJob& job = out_.job;
    job.ranks.push_back(
        {rank, of.cls, static_cast<uint32_t>(job.group_of.size()), static_cast<uint32_t>(job.peer_of.size())});
    const auto logical = static_cast<size_t>(of.logical);
    for (const Meeting* meeting : meetings_) {
      const uint32_t group = meeting->group_of[logical];
      job.group_of.push_back(number_of(group == kNone ? std::vector<int64_t>{rank} : meeting->groups[group]));
    }
    job.peer_of.push_back(rank);
    for (const auto& [key, messages] : communication_.messages) {
      job.peer_of.insert(job.peer_of.end(), messages.from[logical].begin(), messages.from[logical].end());
      job.peer_of.insert(job.peer_of.end(), messages.to[logical].begin(), messages.to[logical].end());
    }
  }

  uint32_t number_of(const std::vector<int64_t>& members) {
    const auto [found, added] = groups_.try_emplace(members, static_cast<uint32_t>(out_.job.groups.size()));
    if (added)
      out_.job.groups.push_back(
          {fmt::format("{}", found->second), "", "", members, static_cast<int64_t>(members.size())});
    return found->second;
  }

  const Program& p_;
  Findings& findings_;
  ProgramWork work_;
  Communication communication_;
  Unrolled unrolled_;
  std::vector<const Meeting*> meetings_;  ///< by slot
  std::map<Communication::Key, size_t> slots_;
  std::map<std::vector<int64_t>, uint32_t> groups_;
  ImportedProgram out_;
};

}  // namespace

Result<ImportedProgram> import_program(ByteSource source, Findings& findings) {
  const std::string file = source.file();
  CHAKRA_ASSIGN(auto bytes, read_all(std::move(source)));
  const bool text = is_text_program(std::string_view(*bytes).substr(0, 4096));
  CHAKRA_ASSIGN(Program program, text ? parse_text(std::move(bytes), file) : parse_program(std::move(bytes), file));
  CHAKRA_TRY(settle_devices(program));
  set_ranks(ranks_of({program.devices.begin(), program.devices.end()}), program);
  return Import(program, findings).run();
}

}  // namespace chakra::xla
