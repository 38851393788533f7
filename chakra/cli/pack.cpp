// chakra pack, chakra unpack
#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

struct PackOptions {
  job::PackOptions call;  ///< its report is that of --json
  bool stats = false;
};

Result<void> show_stats(const std::string& path, const std::string& json_path) {
  CHAKRA_ASSIGN(const job::ContainerStats stats, job::container_stats(path));
  if (!json_path.empty()) CHAKRA_TRY(write_json(to_json(stats), json_path));
  if (json_path != "-") print(to_text(stats));
  return {};
}

Result<void> run_pack(const PackOptions& o) {
  const std::string& json = o.call.report;
  if (o.call.output.empty()) {  // statistics of one that is there
    if (!o.stats || o.call.paths.size() != 1 || o.call.append)
      return fail(Code::usage, "cli.usage", "where to pack to? -o job.chakra; or a container and --stats");
    CHAKRA_TRY(keep_apart(o.call.paths, {}, json));
    return show_stats(o.call.paths[0], json);
  }
  CHAKRA_ASSIGN(const job::PackedJob packed, job::pack_job(o.call));
  if (json != "-") print(to_text(packed));
  return o.stats || !json.empty() ? show_stats(packed.output, json) : Result<void>();
}

Result<void> run_unpack(const job::UnpackOptions& o) {
  CHAKRA_ASSIGN(const job::UnpackedJob unpacked, job::unpack_job(o));
  print(to_text(unpacked));
  return {};
}

}  // namespace

Syntax pack_syntax() {
  auto options = std::make_shared<PackOptions>();
  return {.options = {required({"paths", &options->call.paths,
                                "Traces of any form: files, a prefix (PREFIX.<rank>.et), a folder, a job by classes "
                                "(ranks.json); or, with --stats alone, a container",
                                "JOB..."}),
                      {"-o,--output", &options->call.output, "The container to write", "FILE.chakra"},
                      {"--append", &options->call.append,
                       "Add the ranks to a container that is there; its blocks stay as they are"},
                      {"--stats", &options->stats, "Show the bytes of each rank, and how many reading it takes"},
                      {.names = "--group",
                       .target = &options->call.group_nodes,
                       .help = "Nodes that are packed together: more pack better, fewer are found faster",
                       .value = "N",
                       .accepted = whole_number(1, 1 << 24),
                       .shows_default = true},
                      json_option(options->call.report)},
          .run = exits_with_zero([options] { return run_pack(*options); })};
}

Syntax unpack_syntax() {
  auto options = std::make_shared<job::UnpackOptions>();
  return {.options = {required({"path", &options->path, "The container", "FILE.chakra"}),
                      required({"-o,--output", &options->output, "The folder to write trace.<rank>.et into", "DIR"}),
                      {.names = "--ranks",
                       .target = &options->ranks,
                       .help = "Only these",
                       .value = "R,R,...",
                       .accepted = whole_number(0, INT64_MAX),
                       .delimiter = ','},
                      {"--nodes", &options->nodes, "Only these nodes of each: the first, counted from 0, and how many",
                       "FIRST[:COUNT]"},
                      {.names = "--to",
                       .target = &options->to,
                       .help = "The form: et, json, jsonl, with .gz or .zst behind to pack them",
                       .value = "FORM",
                       .shows_default = true}},
          .run = exits_with_zero([options] { return run_unpack(*options); })};
}

}  // namespace chakra::cli
