// Random jobs with one fault, run until no rank can move: each rank makes its calls in order, and a call
// ends when all members have made the same call. The fault determines the truth about the job.
#pragma once

#include <optional>

#include "chakra/flight/testing/made_dumps.h"

namespace chakra::flight::testing {

enum class Fault : uint8_t { none, missing, dead, order, size, circle };

struct MadeCall {
  size_t group = 0;
  std::string operation;  ///< "send", "recv" or a collective
  int64_t elements = 0;
  int64_t src = -1, dst = -1;
  int64_t index = 0;  ///< among the group's collectives on this rank
  bool done = false;
  bool same(const MadeCall& o) const {
    return group == o.group && index == o.index && operation == o.operation && elements == o.elements;
  }
};

struct HangingJob {
  Fault fault = Fault::none;
  int64_t culprit = -1;
  MadeCall at;         ///< the expected call
  bool tie = false;    ///< two members, so that neither side is the majority
  bool ahead = false;  ///< hosts do not wait for their devices
  std::vector<MadeGroup> groups;
  std::vector<std::vector<MadeCall>> programs;  ///< by rank
  std::vector<MadeDump> dumps;
};

class JobMaker {
 public:
  explicit JobMaker(uint64_t seed) : random_(seed) {}

  HangingJob make() {
    do {
      job_ = {};
      job_.fault = static_cast<Fault>(random_.below(6));
      job_.ahead = random_.below(2) == 0;
      make_groups();
      make_programs();
    } while (!break_it());
    run();
    write();
    return std::move(job_);
  }

 private:
  void make_groups() {
    const auto ranks = static_cast<int64_t>(3 + random_.below(6));
    MadeGroup world{"0", "default_pg", {}};
    for (int64_t r = 0; r < ranks; ++r) world.ranks.push_back(r);
    job_.groups.push_back(world);
    const auto cut = static_cast<int64_t>(1 + random_.below(static_cast<uint64_t>(ranks - 1)));
    MadeGroup low{"1", "tp", {}}, high{"2", "tp", {}}, odd{"3", "dp", {}};
    for (int64_t r = 0; r < ranks; ++r) {
      (r < cut ? low : high).ranks.push_back(r);
      if (r % 2 == 1 || r == 0) odd.ranks.push_back(r);
    }
    for (const MadeGroup& group : {low, high, odd})
      if (group.ranks.size() > 1) job_.groups.push_back(group);
  }

  void make_programs() {
    static const char* const kOperations[] = {"all_reduce", "_all_gather_base", "_reduce_scatter_base",
                                              "broadcast",  "reduce",           "all_to_all"};
    const size_t ranks = job_.groups[0].ranks.size();
    job_.programs.resize(ranks);
    std::vector<int64_t> next(job_.groups.size(), 1);
    const size_t calls = 8 + random_.below(30);
    for (size_t i = 0; i < calls; ++i) {
      if (random_.below(4) == 0) {
        const auto src = static_cast<int64_t>(random_.below(ranks));
        const int64_t dst = (src + 1 + static_cast<int64_t>(random_.below(ranks - 1))) % static_cast<int64_t>(ranks);
        const auto elements = static_cast<int64_t>(1 + random_.below(1000));
        job_.programs[static_cast<size_t>(src)].push_back({0, "send", elements, src, dst});
        job_.programs[static_cast<size_t>(dst)].push_back({0, "recv", elements, src, dst});
        continue;
      }
      const size_t g = random_.below(job_.groups.size());
      MadeCall call{g, kOperations[random_.below(6)], static_cast<int64_t>(8 * (1 + random_.below(1000)))};
      call.index = next[g]++;
      for (const int64_t rank : job_.groups[g].ranks) job_.programs[static_cast<size_t>(rank)].push_back(call);
    }
  }

  bool is_message(const MadeCall& call) const { return call.src >= 0; }

  /// Insert the fault; false if the random job has no place for the fault.
  bool break_it() {
    const size_t r = random_.below(job_.programs.size());
    std::vector<MadeCall>& program = job_.programs[r];
    if (job_.fault == Fault::none) return true;
    if (program.size() < 4) return false;
    job_.culprit = static_cast<int64_t>(r);
    const size_t at = random_.below(program.size() - 1);
    job_.at = program[at];
    job_.tie = job_.groups[program[at].group].ranks.size() == 2;
    switch (job_.fault) {
      case Fault::none: return true;
      case Fault::missing:
      case Fault::dead: program.resize(at); return true;
      case Fault::size:
        if (is_message(program[at]) || program[at].operation == "all_to_all") return false;
        program[at].elements += 8;
        return true;
      case Fault::order: return swap_in_group(program, at);
      case Fault::circle: return swap_groups(program, at);
    }
    return false;
  }

  bool swap_in_group(std::vector<MadeCall>& program, size_t at) {
    if (is_message(program[at])) return false;
    for (size_t i = at + 1; i < program.size(); ++i) {
      if (is_message(program[i]) || program[i].group != program[at].group) continue;
      if (program[i].operation == program[at].operation) return false;
      std::swap(program[i], program[at]);
      std::swap(program[i].index, program[at].index);
      return true;
    }
    return false;
  }
  bool swap_groups(std::vector<MadeCall>& program, size_t at) {
    MadeCall &a = program[at], &b = program[at + 1];
    if (is_message(a) || is_message(b) || a.group == b.group) return false;
    const auto &x = job_.groups[a.group].ranks, &y = job_.groups[b.group].ranks;
    const auto both = std::count_if(x.begin(), x.end(), [&](int64_t rank) {
      return rank != job_.culprit && std::find(y.begin(), y.end(), rank) != y.end();
    });
    if (both == 0) return false;
    std::swap(a, b);
    return true;
  }

  /// Run until no rank can move.
  void run() {
    std::vector<size_t> next(job_.programs.size(), 0);
    const auto current = [&](int64_t rank) -> MadeCall* {
      const auto r = static_cast<size_t>(rank);
      return next[r] < job_.programs[r].size() ? &job_.programs[r][next[r]] : nullptr;
    };
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t r = 0; r < job_.programs.size(); ++r) {
        const MadeCall* const call = current(static_cast<int64_t>(r));
        if (!call) continue;
        const std::vector<int64_t> members =
            is_message(*call) ? std::vector<int64_t>{call->src, call->dst} : job_.groups[call->group].ranks;
        const MadeCall wanted = *call;
        const bool together = std::all_of(members.begin(), members.end(), [&](int64_t member) {
          const MadeCall* const other = current(member);
          if (!other) return false;
          if (!is_message(wanted)) return !is_message(*other) && other->same(wanted);
          return other->src == wanted.src && other->dst == wanted.dst;
        });
        if (!together) continue;
        for (const int64_t member : members) {
          current(member)->done = true;
          ++next[static_cast<size_t>(member)];
        }
        moved = true;
      }
    }
  }

  MadeEntry entry_of(const MadeCall& call, int64_t record) const {
    const MadeGroup& group = job_.groups[call.group];
    MadeEntry e;
    e.record = e.op = record;
    e.pg_id = static_cast<int64_t>(call.group);
    e.group = group.name;
    e.description = group.description;
    e.created_ns = kZeroNs + record * 1'000'000;
    const int64_t n = call.elements, size = static_cast<int64_t>(group.ranks.size());
    if (is_message(call)) {
      e.is_p2p = true;
      const bool send = call.operation == "send";
      e.name = send ? fmt::format("nccl:send {}->{}", call.src, call.dst)
                    : fmt::format("nccl:recv {}<-{}", call.dst, call.src);
      (send ? e.in : e.out) = {{n}};
      return e;
    }
    e.collective = call.index;
    e.name = "nccl:" + call.operation;
    e.in = {{call.operation == "_reduce_scatter_base" ? n * size : n}};
    e.out = {{call.operation == "_all_gather_base" ? n * size : n}};
    return e;
  }

  void write() {
    const bool timed = random_.below(2) == 0, active = job_.fault != Fault::none && random_.below(5) == 0;
    for (size_t r = 0; r < job_.programs.size(); ++r) {
      if (job_.fault == Fault::dead && static_cast<int64_t>(r) == job_.culprit) continue;
      MadeDump dump;
      dump.rank = static_cast<int64_t>(r);
      for (const MadeGroup& group : job_.groups)
        if (std::find(group.ranks.begin(), group.ranks.end(), dump.rank) != group.ranks.end())
          dump.groups.push_back(group);
      bool open = false;
      int64_t messages = 0, record = 0;
      for (const MadeCall& call : job_.programs[r]) {
        if (open && !job_.ahead) break;
        MadeEntry e = entry_of(call, record++);
        if (e.is_p2p) e.message = ++messages;
        if (!call.done) e.state = timed && !open ? "started" : "scheduled";
        open = open || !call.done;
        dump.entries.push_back(e);
      }
      const auto ended = [](const MadeEntry& e) { return e.state == "completed"; };
      if (active) std::erase_if(dump.entries, ended);
      else if (random_.below(3) == 0) {  // a ring buffer that has forgotten some of what has ended
        const auto first = std::find_if_not(dump.entries.begin(), dump.entries.end(), ended);
        const auto most = static_cast<uint64_t>(first - dump.entries.begin());
        if (most > 0)
          dump.entries.erase(dump.entries.begin(),
                             dump.entries.begin() + static_cast<std::ptrdiff_t>(random_.below(most)));
      }
      job_.dumps.push_back(std::move(dump));
    }
  }

  Prng random_;
  HangingJob job_;
};

}  // namespace chakra::flight::testing
