#include "chakra/convert/pack.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <optional>

#include "chakra/base/progress.h"
#include "chakra/io/io.h"
#include "chakra/job/parts.h"

namespace chakra::convert {

using answer::kTextRows;

using answer::column;
using answer::Unit;
using pack::Container;
using pack::ContainerPtr;

// ---- packing -----------------------------------------------------------------------------------------------

namespace {

constexpr uint64_t kMostBatchBytes = uint64_t{1} << 30;  ///< of files whose ranks are in memory together
constexpr size_t kMostAlike = 8;                         ///< files of one size that further files are compared with

/// Where the nodes of a file come from.
struct Nodes {
  std::optional<io::EtHead> head;  ///< of .et files
  std::optional<size_t> like;      ///< an earlier file with the same nodes
};

/// Find files with the same nodes, which are read once.
Result<std::vector<Nodes>> compare_nodes(const std::vector<io::RankFile>& files) {
  std::vector<Nodes> nodes(files.size());
  CHAKRA_TRY(each_in_parallel(files.size(), [&](size_t i) -> Result<void> {
    nodes[i].head = io::et_head(files[i]);
    return {};
  }));
  std::map<uint64_t, std::vector<size_t>> of_size;  // bytes of the nodes: files that differ
  for (size_t i = 0; i < files.size(); ++i) {
    if (!nodes[i].head) continue;
    const io::EtHead& own = *nodes[i].head;
    std::vector<size_t>& alike = of_size[own.size - own.nodes_at];
    for (const size_t other : alike)
      if (!nodes[i].like && same_contents(files[i].path, files[other].path, own.nodes_at, nodes[other].head->nodes_at))
        nodes[i].like = other;
    if (!nodes[i].like && alike.size() < kMostAlike) alike.push_back(i);
    CHAKRA_TRY(keep_going());
  }
  return nodes;
}

/// Packs the ranks of files in their order, which several threads read.
class JobPacker {
 public:
  JobPacker(pack::Packer& packer, const std::vector<io::RankFile>& files, std::vector<Nodes> nodes)
      : packer_(packer), files_(files), nodes_(std::move(nodes)), added_(files.size()) {}

  /// Return the number of nodes.
  Result<int64_t> run() {
    for (size_t begin = 0; begin < files_.size();) {
      size_t end = begin;
      for (uint64_t bytes = 0; end < files_.size() && (end == begin || bytes <= kMostBatchBytes) &&
                               end - begin < 2 * static_cast<size_t>(cores());
           ++end)
        bytes += file_size(files_[end].path);
      CHAKRA_TRY(pack(begin, end));
      begin = end;
    }
    int64_t nodes = 0;
    for (const io::Converted& added : added_) nodes += added.nodes;
    return nodes;
  }

 private:
  Result<void> pack(size_t begin, size_t end) {
    std::vector<std::optional<Result<io::UnaddedRank>>> read(end - begin);
    CHAKRA_TRY(each_in_parallel(read.size(), [&](size_t k) -> Result<void> {
      if (!nodes_[begin + k].like) read[k].emplace(read_file(begin + k));
      return {};
    }));
    for (size_t i = begin; i < end; ++i) {
      CHAKRA_ASSIGN(const bool repeated, repeat(i));
      if (repeated) continue;
      std::optional<Result<io::UnaddedRank>>& rank = read[i - begin];
      if (!rank) rank.emplace(read_file(i));
      if (!*rank) return Failure(rank->error());
      added_[i] = (*rank)->copied;
      CHAKRA_TRY(packer_.add(std::move((*rank)->writer), (*rank)->rank, (*rank)->file));
      added_[i].rank = (*rank)->rank;
      rank.reset();
    }
    return {};
  }

  Result<io::UnaddedRank> read_file(size_t i) const {
    const io::RankFile& file = files_[i];
    CHAKRA_ASSIGN(const io::RecordSourcePtr source, io::open_records(file));
    return io::read_for(packer_, file.named ? std::optional(file.rank) : std::nullopt, *source);
  }

  /// Add a rank with the nodes of an earlier file. Return false if the file must be read.
  Result<bool> repeat(size_t i) {
    if (!nodes_[i].like) return false;
    const io::EtHead& head = *nodes_[i].head;
    const io::Converted& like = added_[*nodes_[i].like];
    const io::RankFile& file = files_[i];
    if (head.announced >= 0 && head.announced != like.nodes) return false;
    if (file.named && head.rank && *head.rank != file.rank) return false;
    const int64_t rank = file.named ? file.rank : head.rank.value_or(0);
    CHAKRA_ASSIGN(const bool repeated, packer_.repeat_rank(rank, *like.rank, head.metadata, file.path));
    if (repeated) added_[i] = {like.nodes, rank};
    return repeated;
  }

  pack::Packer& packer_;
  const std::vector<io::RankFile>& files_;
  std::vector<Nodes> nodes_;
  std::vector<io::Converted> added_;  ///< with the rank in the container
};

}  // namespace

Result<PackedJob> pack_job(const PackOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  std::vector<io::RankFile> files;
  std::vector<std::string> inputs;
  for (const std::string& path : o.paths) {
    CHAKRA_ASSIGN(const std::vector<io::RankFile> ranks, io::find_ranks(path));
    files.insert(files.end(), ranks.begin(), ranks.end());
    CHAKRA_ASSIGN(const std::vector<std::string> some, job::job_files(path));
    inputs.insert(inputs.end(), some.begin(), some.end());
  }
  CHAKRA_TRY(job::keep_apart(inputs, {o.output}, o.report));
  CHAKRA_ASSIGN(pack::Packer packer,
                o.append ? pack::Packer::append(o.output) : pack::Packer::create(o.output, o.group_nodes));
  CHAKRA_ASSIGN(std::vector<Nodes> nodes, compare_nodes(files));
  PackedJob packed{o.output, files.size(), 0, o.append};
  CHAKRA_ASSIGN(packed.nodes, JobPacker(packer, files, std::move(nodes)).run());
  CHAKRA_TRY(packer.finish());
  return packed;
}

answer::Answer answer_of(const PackedJob& job) {
  constexpr std::array kPacked{
      column<&PackedJob::output>("output", Unit::none, "the container"),
      column<&PackedJob::ranks>("ranks", Unit::count, "ranks that were packed"),
      column<&PackedJob::nodes>("nodes", Unit::count, "nodes that were packed"),
      column<&PackedJob::appended>("appended", Unit::none, "the container held others before")};
  answer::Builder to("pack PATH");
  to.values("", &job, kPacked);
  return std::move(to).finish({});
}
view::Text text_of(const PackedJob&) {
  static constexpr std::array<view::Show, 1> kText{
      {{.line = "{output}: {ranks} rank[{?ranks=1}|s], {nodes} nodes [{?appended}added|packed]"}}};
  return {kText};
}

// ---- what reading takes --------------------------------------------------------------------------------------

namespace {

/// Bytes that a fresh reader reads for some nodes of a rank.
Result<int64_t> touched_by(const std::string& path, int64_t rank, int64_t first, int64_t count) {
  CHAKRA_ASSIGN(const ContainerPtr container, Container::open(path));
  CHAKRA_ASSIGN(const auto source, io::open_rank(*container, rank, first, count));
  std::string_view message;
  for (;;) {
    CHAKRA_ASSIGN(const bool more, source->next(message));
    if (!more) return container->touched();
  }
}

}  // namespace

Result<ContainerStats> container_stats(const std::string& path) {
  CHAKRA_ASSIGN(const ContainerPtr container, Container::open(path));
  ContainerStats stats{path, container->size(), 0, {}};
  for (const int64_t number : container->ranks()) {
    ContainerStats::Rank rank;
    rank.rank = number;
    CHAKRA_ASSIGN(rank.info, container->info(number));
    CHAKRA_ASSIGN(rank.touched, touched_by(path, number, 0, Container::kAll));
    CHAKRA_ASSIGN(rank.touched_window, touched_by(path, number, rank.info.nodes / 2, ContainerStats::kWindow));
    stats.nodes += rank.info.nodes;
    stats.ranks.push_back(rank);
  }
  return stats;
}

view::Text text_of(const ContainerStats&) {
  static constexpr std::array<view::ShowColumn, 6> kRanks{{
      {.key = "rank", .heading = "rank"},
      {.key = "nodes", .heading = "nodes"},
      {.key = "bytes", .heading = "bytes"},
      {.key = "master", .heading = "master"},
      {.key = "touched_bytes", .heading = "reading the rank", .share = ".bytes"},
      {.key = "touched_bytes_100_nodes", .heading = "reading a window", .share = ".bytes"},
  }};
  static constexpr std::array<view::Show, 2> kText{{
      {.table = "ranks", .first = 24, .columns = kRanks},
      {.line = "  {bytes} for {#ranks} ranks and {nodes} nodes; one rank reads {ranks.touched_bytes..}, "
               "a window of {window_nodes} nodes {ranks.touched_bytes_100_nodes..}"},
  }};
  return {kText};
}

answer::Answer answer_of(const ContainerStats& stats) {
  using Rank = ContainerStats::Rank;
  constexpr std::array kContainer{column<&ContainerStats::path>("file", Unit::none, "the container"),
                                  column<&ContainerStats::bytes>("bytes", Unit::bytes, "its size"),
                                  column<&ContainerStats::nodes>("nodes", Unit::count, "nodes of all ranks"),
                                  column<ContainerStats>("window_nodes", Unit::count, "nodes of a window",
                                                         [](const auto&) { return int64_t{ContainerStats::kWindow}; })};
  constexpr std::array kRanks{
      column<&Rank::rank>("rank", Unit::id, "the rank"),
      column<Rank>("nodes", Unit::count, "its nodes", [](const Rank& r) { return r.info.nodes; }),
      column<Rank>("bytes", Unit::bytes, "bytes stored for this rank alone",
                   [](const Rank& r) { return r.info.bytes; }),
      column<Rank>("master", Unit::id, "the rank from which it is stored as a difference; itself: none",
                   [](const Rank& r) { return r.info.master; }),
      column<&Rank::touched>("touched_bytes", Unit::bytes, "bytes that a reader of the rank reads"),
      column<&Rank::touched_window>("touched_bytes_100_nodes", Unit::bytes, "the same for 100 nodes in its middle")};
  answer::Builder to("pack");
  to.values("", &stats, kContainer);
  to.table("ranks", "ranks, ascending", stats.ranks, kRanks);
  return std::move(to).finish();
}

// ---- repairing -----------------------------------------------------------------------------------------------

Result<RepairedContainer> repair_container(const std::string& path) {
  CHAKRA_ASSIGN(const pack::Repaired repaired, pack::repair_container(path));
  return RepairedContainer{path, repaired.ranks, repaired.bytes, repaired.cut};
}

view::Text text_of(const RepairedContainer&) {
  static constexpr std::array<view::Show, 1> kText{
      {{.line = "{path}: [{?cut_bytes}{cut_bytes} behind the last index were cut off|nothing to repair]; it holds "
                "{ranks} rank[{?ranks=1}|s], {bytes}, all of which can be read"}}};
  return {kText};
}

answer::Answer answer_of(const RepairedContainer& container) {
  constexpr std::array kRepaired{
      column<&RepairedContainer::path>("path", Unit::none, "the container"),
      column<&RepairedContainer::ranks>("ranks", Unit::count, "ranks that it holds"),
      column<&RepairedContainer::bytes>("bytes", Unit::bytes, "its size"),
      column<&RepairedContainer::cut_bytes>("cut_bytes", Unit::bytes, "what was cut off; 0: it was whole")};
  answer::Builder to("doctor --repair");
  to.values("", &container, kRepaired);
  return std::move(to).finish();
}

// ---- unpacking -----------------------------------------------------------------------------------------------

namespace {

struct Form {
  const io::FormatRow* row = nullptr;
  std::string packing;  ///< "", ".gz" or ".zst"
};

/// "et", "jsonl.gz"
Result<Form> form_of(const std::string& text) {
  const size_t dot = std::min(text.find('.'), text.size());
  Form form{io::find_format(text.substr(0, dot)), text.substr(dot)};
  if (!form.row || !form.row->create || !(form.packing.empty() || form.packing == ".gz" || form.packing == ".zst"))
    return fail(Code::usage, "cli.usage",
                fmt::format("unknown format {}; known: et, json, jsonl, with .gz or .zst", quote(text)));
  return form;
}

struct Window {
  int64_t first = 0, count = Container::kAll;
};

/// "FIRST", "FIRST:COUNT" or "".
Result<Window> window_of(const std::string& text) {
  Window window;
  if (text.empty()) return window;
  const size_t colon = text.find(':');
  if (!parse_decimal(std::string_view(text).substr(0, colon), window.first) || window.first < 0 ||
      (colon != text.npos &&
       (!parse_decimal(std::string_view(text).substr(colon + 1), window.count) || window.count < 0)))
    return fail(Code::usage, "cli.usage", fmt::format("--nodes {} is not FIRST or FIRST:COUNT", quote(text)));
  return window;
}

// `job.unpack.nodes` (warning): `--nodes` of `chakra unpack` begins behind the last node of a rank
void report_empty(const Window& window, const std::vector<Container::RankInfo>& infos, Findings& findings) {
  int64_t most = 0;
  for (const Container::RankInfo& info : infos) most = std::max(most, info.nodes);
  const int64_t empty =
      std::count_if(infos.begin(), infos.end(), [&](const auto& i) { return window.first >= i.nodes; });
  if (window.first > 0 && empty > 0)
    findings.push_back(
        {"job.unpack.nodes", Severity::warning, -1, -1,
         fmt::format("node {} does not exist in {} of {}, so these traces are empty; the longest has {}", window.first,
                     empty, show_count(std::ssize(infos), "rank"), show_count(most, "node"))});
}

}  // namespace

Result<UnpackedJob> unpack_job(const UnpackOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  CHAKRA_ASSIGN(const Form form, form_of(o.to));
  CHAKRA_ASSIGN(const Window window, window_of(o.nodes));
  CHAKRA_ASSIGN(const ContainerPtr container, Container::open(o.path));
  const std::vector<int64_t>& ranks = o.ranks.empty() ? container->ranks() : o.ranks;
  UnpackedJob unpacked;
  unpacked.output = o.output;
  for (const int64_t rank : ranks)
    unpacked.outputs.push_back(
        (std::filesystem::path(o.output) / fmt::format("trace.{}{}{}", rank, form.row->ending, form.packing)).string());
  CHAKRA_TRY(job::keep_apart({o.path}, unpacked.outputs));
  if (o.ranks.empty()) CHAKRA_TRY(job::keep_other_ranks_out(o.output, unpacked.outputs));
  std::vector<Container::RankInfo> infos;
  std::vector<io::RankFile> files;
  for (const int64_t rank : ranks) {
    CHAKRA_ASSIGN(infos.emplace_back(), container->info(rank));
    files.push_back({rank, o.path, true, container});
  }
  CHAKRA_TRY(make_directories(o.output));
  const bool whole = o.nodes.empty();
  io::RankRecords records(files);
  std::vector<std::optional<PackedFile>> outputs(ranks.size());
  std::atomic<int64_t> nodes = 0;
  CHAKRA_TRY(each_in_parallel(ranks.size(), [&](size_t i) -> Result<void> {
    CHAKRA_ASSIGN(const auto source,
                  whole ? records.open(i) : io::open_rank(*container, ranks[i], window.first, window.count));
    CHAKRA_ASSIGN(PackedFile file, PackedFile::create(unpacked.outputs[i]));
    const int64_t count = std::min(window.count, std::max<int64_t>(infos[i].nodes - window.first, 0));
    CHAKRA_ASSIGN(const io::Converted copied, io::copy_records(*source, *form.row->create(file, count), whole));
    nodes += copied.nodes;
    if (i >= FilesTogether<PackedFile>::kMostOpen) CHAKRA_TRY(file.close());
    outputs[i].emplace(std::move(file));
    return {};
  }));
  FilesTogether<PackedFile> written;
  for (std::optional<PackedFile>& file : outputs) CHAKRA_TRY(written.add(std::move(*file)));
  CHAKRA_TRY(written.commit());
  unpacked.nodes = nodes;
  report_empty(window, infos, unpacked.findings);
  return unpacked;
}

view::Text text_of(const UnpackedJob&) {
  static constexpr std::array<view::Show, 2> kText{
      {{.line = "{output}: {#outputs} rank[{?#outputs=1}|s], {nodes} nodes"}, {.findings = true}}};
  return {kText};
}

answer::Answer answer_of(const UnpackedJob& job) {
  constexpr std::array kOutput{column<&UnpackedJob::output>("output", Unit::none, "the folder")};
  constexpr std::array kNodes{column<&UnpackedJob::nodes>("nodes", Unit::count, "nodes of all ranks")};
  answer::Builder to("unpack");
  to.values("", &job, kOutput);
  to.table("outputs", "the files, by rank", job.outputs, kTextRows);
  to.values("", &job, kNodes);
  return std::move(to).finish(job.findings);
}

}  // namespace chakra::convert
