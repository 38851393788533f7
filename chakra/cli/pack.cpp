// chakra pack, chakra unpack
#include <fmt/core.h>

#include <filesystem>

#include "chakra/cli/cli.h"
#include "chakra/io/io.h"
#include "chakra/pack/pack.h"

namespace chakra::cli {
namespace {

namespace fs = std::filesystem;

struct PackOptions {
  std::vector<std::string> paths;
  std::string output, json;
  bool append = false, stats = false;
  int64_t group = pack::Packer::kGroupNodes;
};

/// Bytes that a fresh reader reads for some nodes of a rank.
Result<int64_t> touched_by(const std::string& path, int64_t rank, int64_t first, int64_t count) {
  CHAKRA_ASSIGN(const pack::ContainerPtr container, pack::Container::open(path));
  CHAKRA_ASSIGN(const auto source, io::open_rank(*container, rank, first, count));
  std::string_view message;
  for (;;) {
    CHAKRA_ASSIGN(const bool more, source->next(message));
    if (!more) return container->touched();
  }
}

constexpr int64_t kWindow = 100;

Result<void> show_stats(const std::string& path, const std::string& json_path) {
  CHAKRA_ASSIGN(const pack::ContainerPtr container, pack::Container::open(path));
  const auto size = static_cast<double>(container->size());
  Json ranks = Json::array();
  std::string text = fmt::format("  {:>10}  {:>12}  {:>10}  {:>8}  {:>21}  {:>21}\n", "rank", "nodes", "bytes",
                                 "master", "reading it (bytes)", "100 nodes (bytes)");
  int64_t nodes = 0, most_rank = 0, most_window = 0;
  for (const int64_t rank : container->ranks()) {
    CHAKRA_ASSIGN(const pack::Container::RankInfo info, container->info(rank));
    CHAKRA_ASSIGN(const int64_t all, touched_by(path, rank, 0, pack::Container::kAll));
    CHAKRA_ASSIGN(const int64_t window, touched_by(path, rank, info.nodes / 2, kWindow));
    nodes += info.nodes;
    most_rank = std::max(most_rank, all);
    most_window = std::max(most_window, window);
    const auto share = [&](int64_t bytes) { return static_cast<double>(bytes) / size; };
    text += fmt::format("  {:>10}  {:>12}  {:>10}  {:>8}  {:>10} ({:>7})  {:>10} ({:>7})\n", rank, info.nodes,
                        info.bytes, info.master == rank ? std::string("-") : fmt::format("{}", info.master), all,
                        show_percent(share(all)), window, show_percent(share(window)));
    ranks.push_back({{"rank", rank},
                     {"nodes", info.nodes},
                     {"bytes", info.bytes},
                     {"master", info.master},
                     {"touched_bytes", all},
                     {"touched_bytes_100_nodes", window}});
  }
  if (!json_path.empty())
    CHAKRA_TRY(
        write_json(Json{{"file", path}, {"bytes", container->size()}, {"nodes", nodes}, {"ranks", ranks}}, json_path));
  if (json_path != "-")
    print(text +
          fmt::format("  {} bytes for {} ranks and {} nodes; one rank reads at most {} bytes, {} nodes at most {}\n",
                      show_count(container->size()), container->ranks().size(), show_count(nodes),
                      show_count(most_rank), kWindow, show_count(most_window)));
  return {};
}

Result<void> run_pack(const PackOptions& o) {
  if (o.output.empty()) {  // statistics of one that is there
    if (!o.stats || o.paths.size() != 1 || o.append)
      return fail(Code::usage, "cli.usage", "where to pack to? -o job.chakra; or a container and --stats");
    CHAKRA_TRY(keep_apart(o.paths, {}, o.json));
    return show_stats(o.paths[0], o.json);
  }
  std::vector<io::RankFile> files;
  std::vector<std::string> inputs;
  for (const std::string& path : o.paths) {
    CHAKRA_ASSIGN(const std::vector<io::RankFile> ranks, io::find_ranks(path));
    files.insert(files.end(), ranks.begin(), ranks.end());
    CHAKRA_ASSIGN(const std::vector<std::string> some, job_files(path));
    inputs.insert(inputs.end(), some.begin(), some.end());
  }
  CHAKRA_TRY(keep_apart(inputs, {o.output}, o.json));
  CHAKRA_ASSIGN(pack::Packer packer,
                o.append ? pack::Packer::append(o.output) : pack::Packer::create(o.output, o.group));
  int64_t nodes = 0;
  for (const io::RankFile& file : files) {
    CHAKRA_ASSIGN(const io::RecordSourcePtr source, io::open_records(file));
    CHAKRA_ASSIGN(const int64_t added,
                  io::add_rank(packer, file.named ? std::optional(file.rank) : std::nullopt, *source));
    nodes += added;
  }
  CHAKRA_TRY(packer.finish());
  if (o.json != "-")
    print(fmt::format("{}: {} rank{}, {} nodes {}\n", o.output, files.size(), files.size() == 1 ? "" : "s",
                      show_count(nodes), o.append ? "added" : "packed"));
  return o.stats || !o.json.empty() ? show_stats(o.output, o.json) : Result<void>();
}

struct UnpackOptions {
  std::string path, output, to = "et";
  std::vector<int64_t> ranks;
  std::string nodes;
};

Result<void> run_unpack(const UnpackOptions& o) {
  const io::FormatRow* const form = io::find_format(o.to.substr(0, o.to.find('.')));
  const std::string packing = o.to.find('.') == o.to.npos ? "" : o.to.substr(o.to.find('.'));
  if (!form || !form->create || !(packing.empty() || packing == ".gz" || packing == ".zst"))
    return fail(Code::usage, "cli.usage",
                fmt::format("no form {} can be written; known: et, json, jsonl, with .gz or .zst", quote(o.to)));
  int64_t first = 0, count = pack::Container::kAll;
  if (!o.nodes.empty()) {
    const size_t colon = o.nodes.find(':');
    if (!parse_decimal(std::string_view(o.nodes).substr(0, colon), first) || first < 0 ||
        (colon != o.nodes.npos && (!parse_decimal(std::string_view(o.nodes).substr(colon + 1), count) || count < 0)))
      return fail(Code::usage, "cli.usage", fmt::format("--nodes {} is not FIRST or FIRST:COUNT", quote(o.nodes)));
  }
  CHAKRA_ASSIGN(const pack::ContainerPtr container, pack::Container::open(o.path));
  const std::vector<int64_t>& ranks = o.ranks.empty() ? container->ranks() : o.ranks;
  std::vector<std::string> outputs;
  for (const int64_t rank : ranks)
    outputs.push_back((fs::path(o.output) / fmt::format("trace.{}{}{}", rank, form->ending, packing)).string());
  CHAKRA_TRY(keep_apart({o.path}, outputs, ""));
  std::vector<pack::Container::RankInfo> infos;
  for (const int64_t rank : ranks) {
    CHAKRA_ASSIGN(infos.emplace_back(), container->info(rank));
  }
  CHAKRA_TRY(make_directories(o.output));
  int64_t nodes = 0;
  FilesTogether<PackedFile> written;
  for (size_t i = 0; i < ranks.size(); ++i) {
    CHAKRA_ASSIGN(const auto source, io::open_rank(*container, ranks[i], first, count));
    CHAKRA_ASSIGN(PackedFile file, PackedFile::create(outputs[i]));
    const io::RecordSinkPtr sink = form->create(file, std::min(count, std::max<int64_t>(infos[i].nodes - first, 0)));
    CHAKRA_ASSIGN(const io::Converted copied, io::copy_records(*source, *sink, o.nodes.empty()));
    nodes += copied.nodes;
    CHAKRA_TRY(written.add(std::move(file)));
  }
  CHAKRA_TRY(written.commit());
  print(fmt::format("{}: {} rank{}, {} nodes\n", o.output, ranks.size(), ranks.size() == 1 ? "" : "s",
                    show_count(nodes)));
  return {};
}

}  // namespace

Syntax pack_syntax() {
  auto options = std::make_shared<PackOptions>();
  return {.options = {{.names = "paths",
                       .target = &options->paths,
                       .help = "Traces of any form: files, a prefix (PREFIX.<rank>.et), a folder, a job by classes "
                               "(ranks.json); or, with "
                               "--stats alone, a container",
                       .value = "JOB...",
                       .required = true},
                      {.names = "-o,--output",
                       .target = &options->output,
                       .help = "The container to write",
                       .value = "FILE.chakra"},
                      {.names = "--append",
                       .target = &options->append,
                       .help = "Add the ranks to a container that is there; its blocks stay as they are"},
                      {.names = "--stats",
                       .target = &options->stats,
                       .help = "Show the bytes of each rank, and how many reading it takes"},
                      {.names = "--group",
                       .target = &options->group,
                       .help = "Nodes that are packed together: more pack better, fewer are found faster",
                       .value = "N",
                       .accepted = whole_number(1, 1 << 24),
                       .shows_default = true},
                      json_option(options->json)},
          .run = exits_with_zero([options] { return run_pack(*options); })};
}

Syntax unpack_syntax() {
  auto options = std::make_shared<UnpackOptions>();
  return {.options = {{.names = "path",
                       .target = &options->path,
                       .help = "The container",
                       .value = "FILE.chakra",
                       .required = true},
                      {.names = "-o,--output",
                       .target = &options->output,
                       .help = "The folder to write trace.<rank>.et into",
                       .value = "DIR",
                       .required = true},
                      {.names = "--ranks",
                       .target = &options->ranks,
                       .help = "Only these",
                       .value = "R,R,...",
                       .accepted = whole_number(0, INT64_MAX),
                       .delimiter = ','},
                      {.names = "--nodes",
                       .target = &options->nodes,
                       .help = "Only these nodes of each: the first, counted from 0, and how many",
                       .value = "FIRST[:COUNT]"},
                      {.names = "--to",
                       .target = &options->to,
                       .help = "The form: et, json, jsonl, with .gz or .zst behind to pack them",
                       .value = "FORM",
                       .shows_default = true}},
          .run = exits_with_zero([options] { return run_unpack(*options); })};
}

}  // namespace chakra::cli
