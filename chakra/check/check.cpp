#include "chakra/check/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "chakra/base/progress.h"
#include "chakra/check/proof.h"
#include "chakra/check/rows.h"
#include "chakra/trace/misread.h"

namespace chakra::check {
namespace {

using trace::Defect;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr uint64_t kLargestMessage = uint64_t{1} << 50;

void add(LimitedFindings& findings, const Trace& t, std::string tag, Severity severity, NodeId node, std::string text) {
  findings.add({std::move(tag), severity, t.rank, node == trace::kNoNode ? -1 : static_cast<int64_t>(t.id[node]),
                std::move(text)});
}

// `check.id.duplicate` (error): an id that is used twice.
void ids_unique(const Trace& t, LimitedFindings& findings) {
  for (const Defect& d : t.defects)
    if (d.kind == Defect::Kind::duplicate_id)
      add(findings, t, "check.id.duplicate", Severity::error, d.node, fmt::format("the id {} is used before", d.id));
}

// `check.dep.dangling` (error): a dependency that is not in the file.
// `check.ctrl.dangling` (warning): a caller that is not in the file.
void dependencies_exist(const Trace& t, LimitedFindings& findings) {
  for (const Defect& d : t.defects) {
    if (d.kind == Defect::Kind::dangling_dep)
      add(findings, t, "check.dep.dangling", Severity::error, d.node,
          fmt::format("waits for node {}, which is not in the file", d.id));
    if (d.kind == Defect::Kind::dangling_ctrl)  // no order depends on it, but other tools stop at it
      add(findings, t, "check.ctrl.dangling", Severity::warning, d.node,
          fmt::format("has the caller {}, which is not in the file", d.id));
  }
}

// `check.type.invalid` (error): a node without a valid type.
void types_known(const Trace& t, LimitedFindings& findings) {
  for (const NodeId n : t.nodes()) {
    if (t.type[n] != NodeType::invalid) continue;
    const bool empty = t.id[n] == 0 && t.name[n] == 0 && t.deps.of(n).empty() && t.attr_begin[n] == t.attr_begin[n + 1];
    add(findings, t, "check.type.invalid", Severity::error, n,
        empty ? "is an empty message: a zero byte instead of a node"
              : fmt::format("{} has no valid type", quote(t.name_of(n))));
  }
}

// `check.comm.size` (error): communication of more than 1 PiB.
// `check.size.negative` (error): a negative number of bytes or operations.
void sizes_sane(const Trace& t, LimitedFindings& findings) {
  for (const NodeId n : t.nodes()) {
    const trace::Comm* comm = t.comm(n);
    if (!comm || !trace::is_comm(t.type[n])) continue;
    if (comm->bytes > kLargestMessage)
      add(findings, t, "check.comm.size", Severity::error, n, fmt::format("moves {} bytes", comm->bytes));
  }
  for (const Defect& d : t.defects)
    if (d.kind == Defect::Kind::negative_size)
      add(findings, t, "check.size.negative", Severity::error, d.node, "a number of bytes or operations is negative");
}

// `check.time.order` (warning): a node that began before one of its dependencies.
// `check.duration.missing` (note): compute without duration or number of operations.
void durations_sane(const Trace& t, LimitedFindings& findings) {
  uint32_t timed = 0;
  NodeId untimed_work = trace::kNoNode;
  for (const NodeId n : t.nodes()) {
    timed += t.has_start(n);
    const bool described =
        (!t.num_ops.empty() && t.num_ops[n] > 0) || (!t.tensor_bytes.empty() && t.tensor_bytes[n] > 0);
    if (t.type[n] == NodeType::comp && !(t.flags[n] & trace::kHasDuration) && !described &&
        untimed_work == trace::kNoNode && !t.name_of(n).starts_with("[pytorch|"))
      untimed_work = n;
  }
  if (untimed_work != trace::kNoNode)
    add(findings, t, "check.duration.missing", Severity::note, untimed_work,
        fmt::format("{} has neither a duration nor a number of operations; it will take no time",
                    quote(t.name_of(untimed_work))));
  // A measured node that begins before what it waits for began was recorded with clocks that disagree.
  for (NodeId n{0}; timed > 0 && n < t.size(); ++n)
    for (const NodeId on : t.deps.of(n))
      if (t.has_start(n) && t.has_start(on) && t.start_ps[n] < t.start_ps[on])
        add(findings, t, "check.time.order", Severity::warning, n,
            fmt::format("begins {} before node {}, which it waits for, began",
                        show_time(t.start_ps[on] - t.start_ps[n]), t.id[on]));
}

// `check.duration.two` (warning): `duration_micros` differs from `dur_ns`, which takes precedence, or two `dur_ns` of a
// node differ: the first counts
/// Reading keeps the former as an attribute where they differ by more than rounding.
void one_duration(const Trace& t, LimitedFindings& findings) {
  const StringId name = t.strings.find("duration_micros");
  for (NodeId n{0}; name != 0 && n < t.size(); ++n)
    for (const trace::Attr& attr : t.attrs_of(n)) {
      const auto* micros = attr.name == name ? std::get_if<uint64_t>(&attr.value) : nullptr;
      const double counts_us = static_cast<double>(t.dur_ps[n]) / kPsPerUs;
      if (micros && std::abs(static_cast<double>(*micros) - counts_us) > 1)
        add(findings, t, "check.duration.two", Severity::warning, n,
            fmt::format("has a duration_micros of {} and a dur_ns of {:.0f}; dur_ns takes precedence", *micros,
                        1e3 * counts_us));
    }
}

// `check.attr.type` (warning): a time, a size or another integer of a wrong type, which counts as absent; `chakra sim`
// refuses the trace
// `check.size.two` (warning): two `comm_size` of a node differ: the first counts
/// A second `dur_ns` or `ts_ns` of the node is `check.duration.two`.
void integers_read(const Trace& t, LimitedFindings& findings) {
  for (const trace::Misread& m : trace::misread(t)) {
    const char* const second = m.name == "comm_size" ? "check.size.two" : "check.duration.two";
    add(findings, t, m.second ? second : "check.attr.type", Severity::warning, m.node,
        fmt::format("{} {}{}", m.name, m.why, m.second ? "" : "; it counts as absent"));
  }
}

// `check.dep.list` (warning): `dep_kinds` or `dep_lag_ns` has more or fewer values than the node has dependencies
void lists_whole(const Trace& t, LimitedFindings& findings) {
  struct List {
    StringId kept;
    std::string_view name, rest;
  };
  const List lists[] = {{t.strings.find("listed_dep_kinds"), "dep_kinds", "have the kind 'given'"},
                        {t.strings.find("listed_dep_lag_ns"), "dep_lag_ns", "have no lag"}};
  for (const List& list : lists)
    for (NodeId n{0}; list.kept != 0 && n < t.size(); ++n)
      for (const trace::Attr& attr : t.attrs_of(n))
        if (const auto* listed = std::get_if<int64_t>(&attr.value); listed && attr.name == list.kept)
          add(findings, t, "check.dep.list", Severity::warning, n,
              fmt::format("{} has {}, not one for each dependency; dependencies without a value {}", list.name,
                          show_count(*listed, "value"), list.rest));
}

// `check.comm.sides` (warning): the bytes that a collective takes or gives contradict its comm_size, which counts
void sides_fit(const Trace& t, LimitedFindings& findings) {
  using trace::CommType;
  for (const NodeId n : t.nodes()) {
    const trace::Comm* const c = t.type[n] == NodeType::coll ? t.comm(n) : nullptr;
    if (!c || c->bytes == 0) continue;
    const bool of_input =
        c->type == CommType::all_reduce || c->type == CommType::all_gather || c->type == CommType::reduce_scatter;
    const auto differs = [&](uint64_t side) { return side != 0 && side != c->bytes; };
    const bool contradicts =
        (of_input && differs(c->in_bytes)) || (c->type == CommType::all_reduce && differs(c->out_bytes));
    if (contradicts)
      add(findings, t, "check.comm.sides", Severity::warning, n,
          fmt::format("{} states {} bytes in and {} out, but a comm_size of {}, which counts", trace::name(c->type),
                      c->in_bytes, c->out_bytes, c->bytes));
  }
}

// `check.group.size` (warning): the group_size of a process group differs from its listed ranks, which count
void groups_whole(const Trace& t, LimitedFindings& findings) {
  for (const trace::ProcessGroup& group : t.groups)
    if (!group.ranks.empty() && group.size > 0 && group.size != std::ssize(group.ranks))
      add(findings, t, "check.group.size", Severity::warning, trace::kNoNode,
          fmt::format("group {} has a group_size of {}, but lists {}; the list counts", quote(group.name), group.size,
                      show_count(std::ssize(group.ranks), "rank")));
}

// `check.root.missing` (note): rooted collectives without `comm_root`; the first rank of the group is taken as root.
void roots_stated(const Trace& t, LimitedFindings& findings) {
  NodeId first = trace::kNoNode;
  size_t count = 0;
  for (const NodeId n : t.nodes()) {
    const trace::Comm* const comm = t.type[n] == NodeType::coll ? t.comm(n) : nullptr;
    if (!comm || !trace::has_root(comm->type) || comm->root >= 0) continue;
    if (count++ == 0) first = n;
  }
  if (count > 0)
    add(findings, t, "check.root.missing", Severity::note, first,
        fmt::format("{} broadcasts, reductions, gathers or scatters state no root (comm_root); the first rank of their "
                    "group is taken",
                    count));
}

void collectives_agree(const trace::TraceSet&, const match::Matching& matching, Findings& findings) {
  findings.insert(findings.end(), matching.findings.begin(), matching.findings.end());
}

}  // namespace

constexpr RuleRow kRuleRows[] = {
    {"ids", "every id is used once", ids_unique, nullptr},
    {"dependencies", "every dependency is in the file", dependencies_exist, nullptr},
    {"types", "every node has a type", types_known, nullptr},
    {"sizes", "communication moves a plausible number of bytes", sizes_sane, nullptr},
    {"durations", "times are present and in order", durations_sane, nullptr},
    {"one duration", "a node has one duration, even if the file repeats it", one_duration, nullptr},
    {"integers", "times, sizes and types of communication are integers", integers_read, nullptr},
    {"lists", "each dependency has a kind and a lag, or none has", lists_whole, nullptr},
    {"sides", "the bytes in and out of a collective fit its size", sides_fit, nullptr},
    {"groups", "process groups have as many ranks as they state", groups_whole, nullptr},
    {"roots", "rooted collectives state their root", roots_stated, nullptr},
    {"communication",
     "groups are known; per group all ranks run the same collectives in the same order; messages have two ends",
     nullptr, collectives_agree},
    {"waits", "a wait follows its request, and every request has a wait", nullptr, waits_refer_back},
    {"deadlock", "no node waits for itself, on its rank or through collectives, messages and queues", nullptr,
     no_deadlock},
};
constinit const std::span<const RuleRow> kRules = kRuleRows;

Findings prove(const trace::TraceSet& job, const match::Matching& matching) {
  Findings findings;
  for (const RuleRow& rule : kRules)
    if (rule.of_job && !is_stopped()) rule.of_job(job, matching, findings);
  return findings;
}

Findings check(const trace::TraceSet& job, const match::GroupTable& groups, size_t limit) {
  std::vector<LimitedFindings> of_ranks(job.ranks.size(), LimitedFindings(limit));
  trace::each_rank(job, [&](trace::RankIndex r) {
    if (is_stopped()) return;
    trace::assert_whole(job.ranks[r]);
    for (const RuleRow& rule : kRules)
      if (rule.of_rank) rule.of_rank(job.ranks[r], of_ranks[r]);
  });
  if (is_stopped()) return {};
  LimitedFindings findings(limit);
  for (LimitedFindings& of_rank : of_ranks) findings.add(std::move(of_rank));
  for (Finding& finding : prove(job, match::match(job, groups))) findings.add(std::move(finding));
  return std::move(findings).take();
}

bool any_error(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.severity == Severity::error; });
}

}  // namespace chakra::check
