// chakra info
#include <fmt/core.h>

#include <map>

#include "chakra/analyze/analyze.h"
#include "chakra/cli/cli.h"
#include "chakra/io/io.h"
#include "chakra/sim/sim.h"

namespace chakra::cli {
namespace {

using trace::NodeId;
using trace::Trace;

/// What a trace holds, counted.
struct Summary {
  std::map<trace::NodeType, int64_t> nodes;
  std::array<int64_t, trace::kEdgeKinds.size()> edges{};
  int64_t inferred = 0, on_device = 0;
  struct Kind {
    int64_t count = 0;
    uint64_t bytes = 0;
    Picoseconds time = 0;
  };
  std::map<std::pair<trace::NodeType, trace::CommType>, Kind> comms;
  Picoseconds duration = 0, device_duration = 0;
  Findings findings;
};

Summary summarize(const Trace& t) {
  Summary s;
  for (NodeId n = 0; n < t.size(); ++n) {
    ++s.nodes[t.type[n]];
    s.on_device += t.on_device(n);
    s.duration = add_saturated(s.duration, t.dur_ps[n]);
    if (t.on_device(n)) s.device_duration = add_saturated(s.device_duration, t.dur_ps[n]);
    if (const trace::Comm* comm = t.comm(n); comm && trace::is_comm(t.type[n])) {
      Summary::Kind& kind = s.comms[{t.type[n], comm->type}];
      ++kind.count;
      kind.bytes = add_bytes(kind.bytes, comm->bytes);
      kind.time = add_saturated(kind.time, t.dur_ps[n]);
    }
  }
  for (const uint8_t kind : t.deps.kind) {
    ++s.edges[static_cast<size_t>(trace::kind_of(kind))];
    s.inferred += (kind & trace::kInferred) != 0;
  }
  analyze::find_long_times(s.duration, t.rank, s.findings);
  return s;
}

std::string comm_name(const std::pair<trace::NodeType, trace::CommType>& kind) {
  return std::string(kind.first == trace::NodeType::coll ? trace::name(kind.second) : trace::name(kind.first));
}

Json to_json(const Trace& t, const Summary& s, const std::optional<sim::SelfReplay>& replay) {
  Json nodes = Json::object(), edges = Json::object(), comms = Json::array(), groups = Json::array(),
       metadata = Json::object();
  for (const auto& [type, count] : s.nodes) nodes[std::string(trace::name(type))] = count;
  for (size_t i = 0; i < s.edges.size(); ++i)
    if (s.edges[i]) edges[std::string(trace::kEdgeKinds[i].name)] = s.edges[i];
  for (const auto& [kind, of] : s.comms)
    comms.push_back(
        {{"type", comm_name(kind)}, {"count", of.count}, {"bytes", of.bytes}, {"time_ns", json_ns(of.time)}});
  for (const auto& group : t.groups)
    groups.push_back(
        {{"name", group.name}, {"description", group.description}, {"ranks", group.ranks}, {"size", group.size}});
  for (const trace::Attr& attr : t.metadata)
    std::visit([&](auto value) { metadata[std::string(t.strings[attr.name])] = value; }, attr.value);
  Json json{{"file", t.file},
            {"rank", t.rank},
            {"nodes", t.size()},
            {"node_types", nodes},
            {"device_ops", s.on_device},
            {"edges", edges},
            {"inferred_edges", s.inferred},
            {"communication", comms},
            {"groups", groups},
            {"durations_ns", json_ns(s.duration)},
            {"device_durations_ns", json_ns(s.device_duration)},
            {"metadata", metadata}};
  json["measured_ns"] = replay ? json_ns(replay->measured_ps) : Json(nullptr);
  json["replayed_ns"] = replay ? json_ns(replay->replayed_ps) : Json(nullptr);
  json["findings"] = cli::to_json(s.findings);
  return json;
}

std::string to_text(const Trace& t, const Summary& s, const std::optional<sim::SelfReplay>& replay) {
  std::string out = fmt::format("{}: rank {}\n", t.file, t.rank);
  const auto line = [&](const char* what, const std::string& text) { out += fmt::format("  {:<15}{}\n", what, text); };
  std::string text;
  const auto item = [&](std::string_view name, int64_t count) {
    if (count) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, show_count(count));
  };
  for (const auto& [type, count] : s.nodes) item(trace::name(type), count);
  line("nodes", fmt::format("{} ({}); {} on devices", show_count(t.size()), text, show_count(s.on_device)));
  text.clear();
  for (size_t i = 0; i < s.edges.size(); ++i) item(trace::kEdgeKinds[i].name, s.edges[i]);
  line("edges", fmt::format("{} ({}); {} inferred", show_count(static_cast<int64_t>(t.deps.node.size())), text,
                            show_count(s.inferred)));
  line("durations", fmt::format("{} in all, {} on devices", show_time(s.duration), show_time(s.device_duration)));
  for (const auto& [kind, of] : s.comms)
    line("communication", fmt::format("{} {}: {}, {}", show_count(of.count), comm_name(kind),
                                      show_bytes(static_cast<double>(of.bytes)), show_time(of.time)));
  for (const auto& group : t.groups)
    line("group",
         fmt::format("{} ({}): {}", quote(group.name), group.description,
                     group.ranks.empty() ? std::string("all ranks") : fmt::format("{} ranks", group.ranks.size())));
  if (replay)
    line("replay", fmt::format("{} measured, {} replayed (error {:+.2f} %)", show_time(replay->measured_ps),
                               show_time(replay->replayed_ps), replay->error * 100));
  if (!t.defects.empty())
    line("defects",
         fmt::format("{}; run 'chakra check' for the list", show_count(static_cast<int64_t>(t.defects.size()))));
  return out + cli::to_text(s.findings);
}

/// A job by classes: each class as the trace it is, and how many ranks it has.
Result<void> run_info_classes(const std::string& path, const std::string& json_path) {
  CHAKRA_ASSIGN(trace::ClassJob job, io::read_class_job(path));
  for (trace::Trace& t : job.classes) t.groups.clear();  // names of slots
  std::vector<int64_t> ranks_of(job.classes.size(), 0);
  for (const trace::ClassJob::Rank& rank : job.ranks) ++ranks_of[rank.cls];
  Json classes = Json::array();
  std::string text =
      fmt::format("{}: {} ranks in {} classes, {} groups\n", path, show_count(static_cast<int64_t>(job.ranks.size())),
                  job.classes.size(), show_count(static_cast<int64_t>(job.groups.size())));
  for (size_t c = 0; c < job.classes.size(); ++c) {
    const Summary summary = summarize(job.classes[c]);
    Json json = to_json(job.classes[c], summary, std::nullopt);
    json["ranks"] = ranks_of[c];
    classes.push_back(std::move(json));
    text += fmt::format("class {} of {} ranks, as ", c, show_count(ranks_of[c])) +
            to_text(job.classes[c], summary, std::nullopt);
  }
  if (!json_path.empty())
    CHAKRA_TRY(write_json(
        Json{{"ranks", job.ranks.size()}, {"groups", job.groups.size()}, {"classes", std::move(classes)}}, json_path));
  if (json_path != "-") print(text);
  return {};
}

Result<void> run_info(const std::string& path, const std::string& json_path) {
  if (io::is_class_job(path)) {
    CHAKRA_ASSIGN(const std::vector<std::string> inputs, job_files(path));
    CHAKRA_TRY(keep_apart(inputs, {}, json_path));
    return run_info_classes(path, json_path);
  }
  CHAKRA_ASSIGN(const std::vector<io::RankFile> files, io::find_ranks(path));
  CHAKRA_ASSIGN(const std::vector<std::string> inputs, job_files(path));
  CHAKRA_TRY(keep_apart(inputs, {}, json_path));
  Json ranks = Json::array();
  std::string text;
  for (const io::RankFile& file : files) {
    CHAKRA_ASSIGN(const Trace t, io::read_rank(file));
    const Summary summary = summarize(t);
    std::optional<sim::SelfReplay> replay;
    if (t.defects.empty())
      if (auto replayed = sim::self_replay(t)) replay = std::move(*replayed);
    ranks.push_back(to_json(t, summary, replay));
    text += to_text(t, summary, replay);
  }
  if (!json_path.empty()) CHAKRA_TRY(write_json(Json{{"ranks", ranks}}, json_path));
  if (json_path != "-") print(text);
  return {};
}

}  // namespace

Syntax info_syntax() {
  auto path = std::make_shared<std::string>(), json = std::make_shared<std::string>();
  return {.options = {{.names = "path",
                       .target = path.get(),
                       .help = "Traces: a file, a prefix (PREFIX.<rank>.et) or a folder",
                       .value = "PATH",
                       .required = true},
                      json_option(*json)},
          .run = exits_with_zero([path, json] { return run_info(*path, *json); })};
}

}  // namespace chakra::cli
