#include "chakra/job/summarize.h"

#include <fmt/core.h>

#include "chakra/analyze/analyze.h"
#include "chakra/io/io.h"
#include "chakra/job/workloads.h"
#include "chakra/sim/sim.h"
#include "chakra/view/view.h"

namespace chakra::job {

using result::Json;
using result::json_ns;

TraceSummary summarize(const trace::Trace& t) {
  TraceSummary s;
  s.file = t.file;
  s.rank = t.rank;
  s.nodes = t.size();
  for (const trace::NodeId n : t.nodes()) {
    ++s.types[t.type[n]];
    s.on_device += t.on_device(n);
    s.duration = add_saturated(s.duration, t.dur_ps[n]);
    if (t.on_device(n)) s.device_duration = add_saturated(s.device_duration, t.dur_ps[n]);
    if (const trace::Comm* comm = t.comm(n); comm && trace::is_comm(t.type[n])) {
      TraceSummary::Communication& kind = s.communication[{t.type[n], comm->type}];
      ++kind.count;
      kind.bytes = add_bytes(kind.bytes, comm->bytes);
      kind.time = add_saturated(kind.time, t.dur_ps[n]);
    }
  }
  for (const uint8_t kind : t.deps.kind) {
    ++s.edges[static_cast<size_t>(trace::kind_of(kind))];
    s.inferred += (kind & trace::kInferred) != 0;
  }
  s.groups = t.groups;
  for (const trace::Attr& attr : t.metadata)
    std::visit(
        [&](const auto& value) {
          if constexpr (std::is_same_v<decltype(value), const std::string_view&>)
            s.metadata.emplace_back(t.strings[attr.name], std::string(value));
          else s.metadata.emplace_back(t.strings[attr.name], value);
        },
        attr.value);
  s.defects = static_cast<int64_t>(t.defects.size());
  analyze::find_long_times(s.duration, t.rank, s.findings);
  return s;
}

namespace {

Result<JobSummary> summarize_classes(const std::string& path) {
  CHAKRA_ASSIGN(trace::ClassJob job, io::read_class_job(path));
  JobSummary summary{path, true, job.ranks.size(), job.groups.size(), {}};
  for (trace::Trace& t : job.classes) {
    t.groups.clear();  // names of slots
    summary.traces.push_back(summarize(t));
    summary.traces.back().ranks = 0;
  }
  for (const trace::ClassJob::Rank& rank : job.ranks) ++summary.traces[rank.cls].ranks;
  return summary;
}

}  // namespace

Result<JobSummary> summarize_job(const std::string& path) {
  if (io::is_class_job(path)) return summarize_classes(path);
  CHAKRA_TRY(refuse_workload(path, "a trace"));
  CHAKRA_ASSIGN(const std::vector<io::RankFile> files, io::find_ranks(path));
  JobSummary summary{path, false, files.size(), 0, {}};
  for (const io::RankFile& file : files) {
    CHAKRA_ASSIGN(const trace::Trace t, io::read_rank(file));
    TraceSummary& s = summary.traces.emplace_back(summarize(t));
    if (!t.defects.empty()) continue;
    if (const auto replayed = analyze::self_replay(t))
      s.replay = {replayed->measured_ps, replayed->replayed_ps, replayed->error};
  }
  return summary;
}

// ---- as text and as JSON ---------------------------------------------------------------------------------------

namespace {

std::string comm_name(const std::pair<trace::NodeType, trace::CommType>& kind) {
  return std::string(kind.first == trace::NodeType::coll ? trace::name(kind.second) : trace::name(kind.first));
}

Json to_json(const TraceSummary& s, bool of_class) {
  Json nodes = Json::object(), edges = Json::object(), comms = Json::array(), groups = Json::array(),
       metadata = Json::object();
  for (const auto& [type, count] : s.types) nodes[trace::name(type)] = count;
  for (size_t i = 0; i < s.edges.size(); ++i)
    if (s.edges[i]) edges[trace::kEdgeKinds[i].name] = s.edges[i];
  for (const auto& [kind, of] : s.communication)
    comms.push_back(
        {{"type", comm_name(kind)}, {"count", of.count}, {"bytes", of.bytes}, {"time_ns", json_ns(of.time)}});
  for (const auto& group : s.groups)
    groups.push_back(
        {{"name", group.name}, {"description", group.description}, {"ranks", group.ranks}, {"size", group.size}});
  for (const auto& [name, value] : s.metadata)
    std::visit([&, key = std::string_view(name)](const auto& known) { metadata[key] = known; }, value);
  Json json{{"file", s.file},
            {"rank", s.rank},
            {"nodes", s.nodes},
            {"node_types", nodes},
            {"device_ops", s.on_device},
            {"edges", edges},
            {"inferred_edges", s.inferred},
            {"communication", comms},
            {"groups", groups},
            {"durations_ns", json_ns(s.duration)},
            {"device_durations_ns", json_ns(s.device_duration)},
            {"metadata", metadata},
            {"measured_ns", s.replay ? json_ns(s.replay->measured_ps) : Json(nullptr)},
            {"replayed_ns", s.replay ? json_ns(s.replay->replayed_ps) : Json(nullptr)},
            {"findings", result::to_json(s.findings)}};
  if (of_class) json["ranks"] = s.ranks;
  return json;
}

std::string to_text(const TraceSummary& s) {
  std::string out = fmt::format("{}: rank {}\n", s.file, s.rank);
  const auto line = [&](const char* what, const std::string& text) { out += fmt::format("  {:<15}{}\n", what, text); };
  std::string text;
  int64_t edges = 0;
  const auto item = [&](std::string_view name, int64_t count) {
    if (count) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, show_count(count));
  };
  for (const auto& [type, count] : s.types) item(trace::name(type), count);
  line("nodes", fmt::format("{} ({}); {} on devices", show_count(s.nodes), text, show_count(s.on_device)));
  text.clear();
  for (size_t i = 0; i < s.edges.size(); ++i) {
    item(trace::kEdgeKinds[i].name, s.edges[i]);
    edges += s.edges[i];
  }
  line("edges", fmt::format("{} ({}); {} inferred", show_count(edges), text, show_count(s.inferred)));
  line("durations", fmt::format("{} in all, {} on devices", show_time(s.duration), show_time(s.device_duration)));
  for (const auto& [kind, of] : s.communication)
    line("communication", fmt::format("{} {}: {}, {}", show_count(of.count), comm_name(kind),
                                      show_bytes(static_cast<double>(of.bytes)), show_time(of.time)));
  for (const auto& group : s.groups)
    line("group",
         fmt::format("{} ({}): {}", quote(group.name), group.description,
                     group.ranks.empty() ? std::string("all ranks") : fmt::format("{} ranks", group.ranks.size())));
  if (s.replay)
    line("replay", fmt::format("{} measured, {} replayed (error {:+.2f} %)", show_time(s.replay->measured_ps),
                               show_time(s.replay->replayed_ps), s.replay->error * 100));
  if (s.defects) line("defects", fmt::format("{}; run 'chakra check' for the list", show_count(s.defects)));
  return out + view::to_text(s.findings);
}

}  // namespace

std::string to_text(const JobSummary& job) {
  std::string text;
  if (job.by_classes)
    text = fmt::format("{}: {} ranks in {} classes, {} groups\n", job.path, show_count(static_cast<int64_t>(job.ranks)),
                       job.traces.size(), show_count(static_cast<int64_t>(job.groups)));
  for (size_t c = 0; c < job.traces.size(); ++c) {
    if (job.by_classes) text += fmt::format("class {} of {} ranks, as ", c, show_count(job.traces[c].ranks));
    text += to_text(job.traces[c]);
  }
  return text;
}

Json to_json(const JobSummary& job) {
  Json traces = Json::array();
  for (const TraceSummary& trace : job.traces) traces.push_back(to_json(trace, job.by_classes));
  if (!job.by_classes) return {{"ranks", std::move(traces)}};
  return {{"ranks", job.ranks}, {"groups", job.groups}, {"classes", std::move(traces)}};
}

}  // namespace chakra::job
