#include "chakra/fleet/facts.h"

#include <fmt/core.h>

#include <mutex>
#include <set>

#include "chakra/base/archive.h"
#include "chakra/seal/seal.h"

namespace chakra {
namespace {

/// Return a view of a text that lasts as long as the program: names of facts and reasons are literals, so there are
/// few.
std::string_view lasting(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> texts;
  const std::lock_guard lock(mutex);
  return *texts.insert(text).first;
}

bool is_type(trace::CommType type) { return type <= trace::CommType::barrier || type == trace::CommType::unknown; }

void refuse_unless(const ArchiveWriter&, bool) {}
void refuse_unless(ArchiveReader& all, bool possible) {
  if (!possible) all.refuse();
}

/// A fact that owns its name.
struct StoredFact {
  std::string name;
  std::optional<int64_t> number;
  std::string text;
};

}  // namespace

template <>
struct Described<StoredFact> {
  static void members(auto& all, auto& fact) { all(fact.name, fact.number, fact.text); }
};
template <>
struct Described<Finding> {
  static void members(ArchiveWriter& all, const Finding& f) {
    std::vector<StoredFact> facts;
    for (const Fact& fact : f.facts) facts.push_back({std::string(fact.name), fact.number, fact.text});
    all(f.tag, f.severity, f.rank, f.node, f.text, facts);
  }
  static void members(ArchiveReader& all, Finding& f) {
    std::vector<StoredFact> facts;
    all(f.tag, f.severity, f.rank, f.node, f.text, facts);
    if (f.severity > Severity::error) all.refuse();
    for (StoredFact& fact : facts) {
      f.facts.emplace_back(lasting(fact.name), std::move(fact.text));
      f.facts.back().number = fact.number;
    }
  }
};
template <>
struct Described<recording::RankInput> {
  static void members(auto& all, auto& r) { all(r.rank, r.rank_known, r.host, r.device, r.process, r.groups); }
};
template <>
struct Described<link::OpenGroups> {
  static void members(auto& all, auto& groups) { all(groups.names, groups.choices); }
};
template <>
struct Described<link::WorkReport::Kind> {
  static void members(auto& all, auto& kind) { all(kind.operations, kind.bytes, kind.device_ns); }
};
template <>
struct Described<link::WorkReport::Rest> {
  static void members(ArchiveWriter& all, const link::WorkReport::Rest& rest) {
    all(rest.name, std::string(rest.reason), rest.device_ns, rest.count);
  }
  static void members(ArchiveReader& all, link::WorkReport::Rest& rest) {
    std::string reason;
    all(rest.name, reason, rest.device_ns, rest.count);
    rest.reason = lasting(reason);
  }
};
template <>
struct Described<link::WorkReport> {
  static void members(auto& all, auto& w) {
    all(w.operations, w.bytes, w.device_ns, w.communication_ns, w.covered_ns, w.aten_ns, w.aten_covered_ns, w.operators,
        w.estimated, w.impossible, w.kinds, w.rest);
  }
};
template <>
struct Described<link::LinkingReport::Constants> {
  static void members(auto& all, auto& c) {
    all(c.device, c.launch_ns, c.graph_launch_ns, c.dispatch_gap_ns, c.launch_samples, c.graph_samples, c.gap_samples,
        c.used_launch, c.used_graph, c.used_gap);
  }
};
template <>
struct Described<link::LinkingReport> {
  static void members(auto& all, auto& r) {
    all(r.host_ops, r.matched_host_ops, r.by_names, r.has_host_trace, r.iteration, r.cut, r.left_out, r.device_ops,
        r.attached_device_ops, r.launched_before, r.host_spins, r.unrecorded, r.unrecorded_ns, r.inferred_edges,
        r.edges, r.comm_nodes, r.comm_bytes, r.comm_without_size, r.comm_without_group, r.counted_groups, r.open_groups,
        r.open_peers, r.unattributed_sync_ns, r.constants, r.work, r.findings);
  }
};
template <>
struct Described<analyze::SelfReplay::Step> {
  static void members(auto& all, auto& s) { all(s.name, s.measured_ps, s.replayed_ps, s.error); }
};
template <>
struct Described<analyze::SelfReplay> {
  static void members(auto& all, auto& r) {
    all(r.steps, r.median_error, r.worst_error, r.measured_ps, r.replayed_ps, r.half_device_ps, r.half_recorded_ps,
        r.error, r.critical_path, r.informative, r.start_error_median_ps, r.start_error_max_ps, r.stream_stall_share,
        r.findings);
  }
};
template <>
struct Described<linking::LinkedRank> {
  static void members(auto& all, auto& r) {
    all(r.input, r.output, r.report, r.replay, r.replayed, r.rank, r.nodes, r.explanation, r.events);
  }
};
template <>
struct Described<match::RankWindow> {
  static void members(auto& all, auto& w) { all(w.steps, w.counted, w.open, w.choices, w.peers, w.begin_ns, w.end_ns); }
};
namespace {

/// A node of a trace of communication: a collective or a message, and the strings of the pool.
struct StoredNode {
  uint64_t id = 0;
  std::string name;
  trace::NodeType type = {};
  uint8_t flags = 0;
  Picoseconds start = 0, duration = 0;
  trace::Comm comm;
  std::string dtype, group, in_split, out_split;
};

}  // namespace

template <>
struct Described<StoredNode> {
  static void members(auto& all, auto& n) {
    auto& c = n.comm;
    all(n.id, n.name, n.type, n.flags, n.start, n.duration, n.dtype, n.group, n.in_split, n.out_split, c.type, c.bytes,
        c.in_bytes, c.out_bytes, c.sequence, c.root, c.src, c.dst, c.tag, c.priority, c.involved, c.involved_count);
    refuse_unless(all, is_type(c.type) && trace::is_comm(n.type));
  }
};
template <>
struct Described<trace::ProcessGroup> {
  static void members(auto& all, auto& g) { all(g.name, g.description, g.backend, g.ranks, g.size); }
};
/// A trace as by analyze::communication_of(): the nodes follow each other, and the metadata are whole numbers.
template <>
struct Described<trace::Trace> {
  static void members(ArchiveWriter& all, const trace::Trace& t) {
    std::vector<StoredNode> nodes;
    for (const trace::NodeId n : t.nodes()) {
      const trace::Comm& comm = *t.comm(n);
      nodes.push_back({t.id[n], std::string(t.name_of(n)), t.type[n], t.flags[n], t.start_ps[n], t.dur_ps[n], comm,
                       std::string(t.strings[comm.dtype]), std::string(t.strings[comm.group]),
                       std::string(comm.in_split), std::string(comm.out_split)});
    }
    std::vector<std::pair<std::string, int64_t>> metadata;
    for (const trace::Attr& attr : t.metadata)
      metadata.emplace_back(t.strings[attr.name], std::get<int64_t>(attr.value));
    all(t.file, t.rank, t.says_rank, t.base_ns, t.groups, nodes, metadata);
  }
  static void members(ArchiveReader& all, trace::Trace& t) {
    trace::Builder builder;
    trace::Trace& out = builder.trace;
    std::vector<StoredNode> nodes;
    std::vector<std::pair<std::string, int64_t>> metadata;
    all(out.file, out.rank, out.says_rank, out.base_ns, out.groups, nodes, metadata);
    for (const StoredNode& stored : nodes) {
      const trace::NodeId node = builder.add(stored.id, out.strings.intern(stored.name), stored.type);
      out.flags.edit(node) = stored.flags;
      out.start_ps.edit(node) = stored.start;
      out.dur_ps.edit(node) = stored.duration;
      trace::Comm& comm = builder.comm(node);
      comm = stored.comm;
      comm.dtype = out.strings.intern(stored.dtype);
      comm.group = out.strings.intern(stored.group);
      comm.in_split = out.texts.add(stored.in_split);
      comm.out_split = out.texts.add(stored.out_split);
      if (node > 0) builder.dep(node, node - 1, static_cast<uint8_t>(trace::EdgeKind::given));
    }
    for (const auto& [name, value] : metadata) out.metadata.push_back({out.strings.intern(name), value});
    t = std::move(builder).finish();
  }
};
template <>
struct Described<recorded::RankFacts> {
  static void members(auto& all, auto& facts) {
    all(facts.communication, facts.window, facts.span.begin, facts.span.end, facts.iteration);
  }
};
template <>
struct Described<analyze::Clock> {
  static void members(auto& all, auto& c) {
    all(c.rank, c.reference, c.known, c.unaligned, c.offset_ns, c.drift_ppm, c.uncertainty_ns, c.collectives,
        c.messages, c.start_ns);
  }
};
template <>
struct Described<analyze::Straggler> {
  static void members(auto& all, auto& s) { all(s.rank, s.last_at, s.waited_ns); }
};
template <>
struct Described<analyze::CollectiveTimes> {
  static void members(auto& all, auto& c) {
    all(c.group, c.type, c.bytes, c.members, c.count, c.wait_ns, c.transfer_ns);
    refuse_unless(all, is_type(c.type));
  }
};
template <>
struct Described<analyze::JobTimes> {
  static void members(auto& all, auto& times) { all(times.clocks, times.stragglers, times.collectives); }
};
template <>
struct Described<fleet::RankResult> {
  static void members(auto& all, auto& result) { all(result.rank, result.facts); }
};
template <>
struct Described<fleet::JobResult> {
  static void members(auto& all, auto& result) { all(result.times, result.mismatches, result.findings); }
};

namespace fleet {

// `fleet.between` (1): a file between two phases that this version did not write for the task

namespace {

/// The first line: the key, and a digest of the bytes that follow.
std::string head_of(const std::string& key, std::string_view bytes) {
  return fmt::format("chakra fleet {} {}\n", key, seal::digest_of(bytes));
}

template <class T>
Result<void> write_as(const T& result, const std::string& key, const std::string& path) {
  ArchiveWriter all;
  all(result);
  return write_file(path, head_of(key, all.bytes()) + all.bytes());
}

template <class T>
Result<T> read_as(const std::string& key, const std::string& path) {
  CHAKRA_ASSIGN(const std::string text, read_file(path));
  const size_t end = text.find('\n'), line = end == std::string::npos ? text.size() : end + 1;
  const std::string_view bytes = std::string_view(text).substr(line);
  ArchiveReader all(bytes);
  T result;
  if (std::string_view(text).substr(0, line) == head_of(key, bytes)) all(result);
  else all.refuse();
  if (!all.is_whole())
    return fail(Code::bad_input, "fleet.between",
                "the file is damaged, or belongs to another task; remove the folder .fleet/between", {path});
  return result;
}

}  // namespace

Result<void> write_result(const RankResult& result, const std::string& key, const std::string& path) {
  return write_as(result, key, path);
}
Result<void> write_result(const JobResult& result, const std::string& key, const std::string& path) {
  return write_as(result, key, path);
}
Result<void> write_result(const trace::Trace& communication, const std::string& key, const std::string& path) {
  return write_as(communication, key, path);
}
Result<trace::Trace> read_communication(const std::string& key, const std::string& path) {
  return read_as<trace::Trace>(key, path);
}
Result<RankResult> read_rank_result(const std::string& key, const std::string& path) {
  return read_as<RankResult>(key, path);
}
Result<JobResult> read_job_result(const std::string& key, const std::string& path) {
  return read_as<JobResult>(key, path);
}

}  // namespace fleet
}  // namespace chakra
