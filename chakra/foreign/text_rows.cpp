// Rows of HYBRID_TRANSFORMER_FWD_IN_BCKWD, ASTRA-sim 1.0's and SimAI's: each rank goes forward through all of them and
// back, and with several pipeline stages a part of the rows at a time (docs/reference/formats/simai.md).
#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <unordered_map>

#include "chakra/base/join.h"
#include "chakra/foreign/text.h"

namespace chakra::foreign::text_form {

using trace::Builder;
using trace::ClassJob;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

namespace {

/// The ranks first, first + stride, ...: a group.
struct Progression {
  int64_t number, first, stride, count;
};
Progression progression(const RowMesh& mesh, Over over, int64_t rank) {
  const int64_t stage = rank / mesh.stage_ranks(), begin = stage * mesh.stage_ranks(), block = mesh.tp * mesh.ep;
  const int64_t tensor = rank % mesh.tp, expert = (rank - begin) % block;
  switch (over) {
    case Over::tp: return {rank / mesh.tp, rank - tensor, 1, mesh.tp};
    case Over::dp: return {stage * mesh.tp + tensor, begin + tensor, mesh.tp, mesh.dp()};
    case Over::ep: return {rank / block * mesh.tp + tensor, rank - expert + tensor, mesh.tp, mesh.ep};
    default: return {stage * block + expert, begin + expert, block, mesh.dp() / mesh.ep};
  }
}

}  // namespace

int64_t RowMesh::size(Over over) const { return progression(*this, over, 0).count; }
int64_t RowMesh::group(Over over, int64_t rank) const { return progression(*this, over, rank).number; }
std::vector<int64_t> RowMesh::members(Over over, int64_t rank) const {
  const Progression group = progression(*this, over, rank);
  std::vector<int64_t> result;
  for (int64_t i = 0; i < group.count; ++i) result.push_back(group.first + i * group.stride);
  return result;
}

namespace {

constexpr int64_t kMostRanksSaid = 1 << 15, kMostRowRanks = 1 << 18;  ///< by a small file alone; if they are asked for
constexpr double kTraceNodes = 10'000;                                ///< what a trace costs besides its nodes

struct Rows {
  size_t begin = 0, end = 0;
};

/// Rows of a step, then micro-batches of equal rows, each with the chunks of a stage; then rows of the step again.
struct Pieces {
  bool messages = false;  ///< stages hand on what they have computed
  Rows micro_batch;       ///< the first
  Rows chunk;             ///< the first of it; before are rows of the first one alone, behind the last of the last
  size_t micro_batches = 1, chunks = 1;
  size_t rows = 0;

  size_t length() const { return micro_batch.end - micro_batch.begin; }
  size_t after() const { return micro_batch.begin + micro_batches * length(); }
  Rows of(size_t batch, size_t number) const {
    const size_t begin = micro_batch.begin + batch * length(), each = chunk.end - chunk.begin;
    const size_t first = begin + (chunk.begin - micro_batch.begin) + number * each;
    return {number == 0 ? begin : first, number + 1 == chunks ? begin + length() : first + each};
  }
};

/// The longest rows that follow each other exactly `times` times with the same kinds; empty where there are none.
Rows find_repeated(std::span<const uint32_t> kinds, size_t times) {
  constexpr size_t kMostSteps = size_t{1} << 31;
  const size_t n = kinds.size();
  size_t steps = 0;
  for (size_t length = n / times; length > 0 && steps < kMostSteps; --length, steps += n) {
    const size_t wanted = (times - 1) * length;
    size_t run = 0;  // of rows that are like the one `length` further on
    for (size_t i = 0; i + length <= n; ++i) {
      if (i + length < n && kinds[i] == kinds[i + length]) {
        ++run;
        continue;
      }
      if (run >= wanted && run < wanted + length) return {i - run, i - run + length};
      run = 0;
    }
  }
  return {};
}

/// Rows of the same kind have the same name but for digits.
std::vector<uint32_t> kinds_of(const std::vector<Layer>& layers) {
  std::unordered_map<std::string, uint32_t> numbers;
  std::vector<uint32_t> kinds;
  for (const Layer& layer : layers) {
    std::string name(layer.name);
    std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
    kinds.push_back(numbers.try_emplace(std::move(name), static_cast<uint32_t>(numbers.size())).first->second);
  }
  return kinds;
}

/// Of the only micro-batch: the rows that AICB writes before and after have these names.
Rows only_micro_batch(const std::vector<Layer>& layers) {
  constexpr std::array<std::string_view, 5> kBefore{"grad_", "moe_grad_norm", "layernorm", "embedding_grads", "norm"};
  constexpr std::array<std::string_view, 2> kBehind{"cross_entropy", "optimizer"};
  const auto named = [&](size_t row, const auto& prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view prefix) { return layers[row].name.starts_with(prefix); });
  };
  Rows rows{0, layers.size()};
  while (rows.begin < rows.end && named(rows.begin, kBefore)) ++rows.begin;
  while (rows.end > rows.begin && named(rows.end - 1, kBehind)) --rows.end;
  return rows.begin == rows.end ? Rows{0, layers.size()} : rows;
}

Pieces cut_rows(const Workload& work, Findings& findings) {
  const Spread& s = work.spread;
  const size_t n = work.layers.size();
  Pieces whole{false, {0, n}, {0, n}, 1, 1, n};
  if (s.pp == 1) return whole;
  const auto warn = [&](std::string text) {
    note(findings, "foreign.text.pipeline", Severity::warning, std::move(text));
  };
  const std::vector<uint32_t> kinds = kinds_of(work.layers);
  Pieces pieces = whole;
  pieces.messages = true;
  pieces.micro_batches = static_cast<size_t>(s.ga);
  if (s.ga == 1) pieces.micro_batch = only_micro_batch(work.layers);
  else if (pieces.micro_batches <= n) pieces.micro_batch = find_repeated(kinds, pieces.micro_batches);
  if (pieces.length() == 0 || pieces.micro_batches > n) {
    warn(fmt::format("pp is {}, and no rows repeat {} times (ga): each stage does all rows, without messages", s.pp,
                     s.ga));
    return whole;
  }
  pieces.chunk = pieces.micro_batch;
  if (s.vpp > 1 && static_cast<size_t>(s.vpp) <= pieces.length())
    pieces.chunk =
        find_repeated(std::span(kinds).subspan(pieces.micro_batch.begin, pieces.length()), static_cast<size_t>(s.vpp));
  if (s.vpp == 1) return pieces;
  if (static_cast<size_t>(s.vpp) > pieces.length() || pieces.chunk.begin == pieces.chunk.end) {
    warn(fmt::format("no rows of a micro-batch repeat {} times (vpp): a stage does all of them at once", s.vpp));
    pieces.chunk = pieces.micro_batch;
    return pieces;
  }
  pieces.chunks = static_cast<size_t>(s.vpp);
  pieces.chunk.begin += pieces.micro_batch.begin;
  pieces.chunk.end += pieces.micro_batch.begin;
  return pieces;
}

/// A chunk of a micro-batch.
struct RowTask {
  size_t batch, chunk;
};
/// The order of the forward passes, the reverse of that of the backward passes: as many micro-batches as there are
/// stages go through a chunk, then through the next, so that no stage waits but for the first and last of all.
std::vector<RowTask> task_order(const Pieces& pieces, size_t stages) {
  std::vector<RowTask> tasks;
  for (size_t first = 0; first < pieces.micro_batches; first += stages)
    for (size_t chunk = 0; chunk < pieces.chunks; ++chunk)
      for (size_t b = first; b < std::min(first + stages, pieces.micro_batches); ++b) tasks.push_back({b, chunk});
  return tasks;
}

/// Builds the trace of the ranks of a stage.
class StageRows {
 public:
  StageRows(const Workload& work, const Pieces& pieces, const RowMesh& mesh, int64_t stage)
      : work_(work), pieces_(pieces), mesh_(mesh), stage_(stage), weights_(work.layers.size(), kNoNode) {
    begin_trace(b_, stage * mesh.stage_ranks(), work.file);
    for (const RowGroup& group : kRowGroups) slots_.push_back(b_.trace.strings.intern(group.slot));
  }

  void pass() {
    const std::vector<RowTask> tasks = task_order(pieces_, static_cast<size_t>(mesh_.pp));
    forward(Rows{0, pieces_.micro_batch.begin});
    for (const RowTask& task : tasks) forward_task(task);
    forward({pieces_.after(), pieces_.rows});
    backward({pieces_.after(), pieces_.rows});
    for (size_t i = tasks.size(); i-- > 0;) backward_task(tasks[i]);
    backward({0, pieces_.micro_batch.begin});
  }
  Builder& builder() { return b_; }
  /// The stage that each peer slot stands for.
  const std::vector<int64_t>& peers() const { return peers_; }

 private:
  // ---- nodes: all of them wait for what the rank has done so far ---------------------------------------------------

  NodeId add(const std::string& name, NodeType type) {
    const NodeId node = b_.add(b_.trace.size(), b_.trace.strings.intern(name), type);
    for (const NodeId on : done_) b_.dep(node, on, kGiven);
    return node;
  }
  void await(NodeId node) {
    if (node != kNoNode && std::find(done_.begin(), done_.end(), node) == done_.end()) done_.push_back(node);
  }
  void compute(const Layer& layer, std::string_view phase, Picoseconds time) {
    if (time == 0) return;
    const NodeId node = add(fmt::format("COMP_NODE_{}_{}", layer.name, phase), NodeType::comp);
    b_.trace.dur_ps.edit(node) = time;
    b_.trace.flags.edit(node) |= trace::kHasDuration;
    done_ = {node};
  }
  NodeId collective(const Layer& layer, const Phase& phase) {
    if (!phase.comm) return kNoNode;
    const NodeId node = add(fmt::format("COMM_COLL_NODE_{}_{}", layer.name, phase.comm_name), NodeType::coll);
    trace::Comm& comm = b_.comm(node);
    comm.type = *phase.comm;
    comm.bytes = phase.bytes;
    if (comm.type == trace::CommType::all_gather) {  // AICB counts what comes out
      const auto ranks = static_cast<uint64_t>(mesh_.size(phase.over));
      comm.bytes = phase.bytes / ranks + (phase.bytes % ranks != 0);
      if (phase.bytes % ranks != 0) comm.out_bytes = phase.bytes;
    }
    const auto* const group =
        std::find_if(kRowGroups.begin(), kRowGroups.end(), [&](const RowGroup& g) { return g.over == phase.over; });
    comm.group = slots_[static_cast<size_t>(group - kRowGroups.begin())];
    return node;
  }
  NodeId message(NodeType type, int64_t stage, size_t tag, const char* what) {
    const bool sends = type == NodeType::send;
    const NodeId node = add(fmt::format("{}_NODE_{}", sends ? "COMM_SEND" : "COMM_RECV", what), type);
    auto slot = std::find(peers_.begin(), peers_.end(), stage);
    if (slot == peers_.end()) slot = peers_.insert(slot, stage);
    trace::Comm& comm = b_.comm(node);
    comm.bytes = work_.spread.pp_bytes;
    comm.tag = static_cast<int64_t>(tag);
    (sends ? comm.dst : comm.src) = slot - peers_.begin();
    return node;
  }

  // ---- rows --------------------------------------------------------------------------------------------------------

  void forward_row(size_t row, std::string_view phase) {
    const Layer& layer = work_.layers[row];
    compute(layer, phase, layer.forward.time);
    if (const NodeId node = collective(layer, layer.forward); node != kNoNode) done_ = {node};
  }
  void forward(const Rows& rows) {
    for (size_t row = rows.begin; row < rows.end; ++row) {
      await(weights_[row]);  // of the previous pass
      forward_row(row, "FWD");
    }
  }
  void backward(const Rows& rows) {
    for (size_t row = rows.end; row-- > rows.begin;) {
      forward_again(row);
      const Layer& layer = work_.layers[row];
      compute(layer, "BWD_IG", layer.input_gradient.time);
      if (const NodeId node = collective(layer, layer.input_gradient); node != kNoNode) done_ = {node};
      compute(layer, "BWD_WG", layer.weight_gradient.time);
      weights_[row] = collective(layer, layer.weight_gradient);
    }
  }
  /// The rows since the last checkpoint, where this one needs their results again.
  void forward_again(size_t row) {
    const Spread& s = work_.spread;
    const auto number = static_cast<int64_t>(row);
    if (!std::binary_search(s.initiates.begin(), s.initiates.end(), number)) return;
    const auto after = std::upper_bound(s.checkpoints.begin(), s.checkpoints.end(), number);
    CHAKRA_ASSERT(after != s.checkpoints.begin());
    for (auto again = static_cast<size_t>(*(after - 1)); again < row; ++again) forward_row(again, "FWD_AGAIN");
  }

  // ---- chunks: piece p is chunk p / pp of stage p % pp -------------------------------------------------------------

  size_t piece(const RowTask& task) const {
    return task.chunk * static_cast<size_t>(mesh_.pp) + static_cast<size_t>(stage_);
  }
  size_t tag(const RowTask& task, size_t receiver, bool back) const {
    return 2 * (task.batch * pieces_.chunks * static_cast<size_t>(mesh_.pp) + receiver) + (back ? 1 : 0);
  }
  int64_t next() const { return (stage_ + 1) % mesh_.pp; }
  int64_t previous() const { return (stage_ + mesh_.pp - 1) % mesh_.pp; }
  bool first(const RowTask& task) const { return piece(task) == 0; }
  bool last(const RowTask& task) const { return piece(task) + 1 == pieces_.chunks * static_cast<size_t>(mesh_.pp); }

  /// Posted when the task before begins: one buffer is filled while one is used.
  void receive(int64_t from, size_t tag, const char* what) {
    std::swap(done_, posted_);
    const NodeId node = message(NodeType::recv, from, tag, what);
    std::swap(done_, posted_);
    posted_ = done_;
    await(node);
  }
  void forward_task(const RowTask& task) {
    if (pieces_.messages && !first(task)) receive(previous(), tag(task, piece(task), false), "ACTIVATIONS");
    forward(pieces_.of(task.batch, task.chunk));
    if (pieces_.messages && !last(task))
      message(NodeType::send, next(), tag(task, piece(task) + 1, false), "ACTIVATIONS");
  }
  void backward_task(const RowTask& task) {
    if (pieces_.messages && !last(task)) receive(next(), tag(task, piece(task), true), "GRADIENTS");
    backward(pieces_.of(task.batch, task.chunk));
    if (pieces_.messages && !first(task))
      message(NodeType::send, previous(), tag(task, piece(task) - 1, true), "GRADIENTS");
  }

  const Workload& work_;
  const Pieces& pieces_;
  const RowMesh& mesh_;
  const int64_t stage_;
  Builder b_;
  std::vector<NodeId> weights_;  ///< by row, the last collective of its gradients
  std::vector<NodeId> done_;     ///< what the next node waits for
  std::vector<NodeId> posted_;   ///< what the next receive waits for
  std::vector<StringId> slots_;  ///< parallel to kRowGroups
  std::vector<int64_t> peers_;
};

void put_metadata(Builder& builder, const Workload& work, const Options& options) {
  Trace& t = builder.trace;
  const auto meta = [&](std::string_view name, std::string_view text) {
    t.metadata.push_back({t.strings.intern(name), t.texts.add(text)});
  };
  meta("schema", "1.0.2-chakra.1.0.0");
  meta("input_file", work.text);
  if (!options.dims.empty()) meta("dims", join(options.dims, ","));
  if (!options.time_unit.empty() && options.time_unit != work.policy->time_unit) meta("time_unit", options.time_unit);
}

template <class Visit>
void each_collective(const Workload& work, const Visit& visit) {
  for (const Layer& layer : work.layers)
    for (const Phase* phase : {&layer.forward, &layer.input_gradient, &layer.weight_gradient})
      if (phase->comm) visit(*phase);
}

Result<RowMesh> mesh_of(const Workload& work, const Options& options, Findings& findings) {
  const Spread& s = work.spread;
  RowMesh mesh{1, s.tp, s.ep, s.pp};
  CHAKRA_ASSIGN(mesh.ranks, rank_count(options, s.ranks));
  const bool said = mesh.ranks == s.ranks;
  if (s.ranks > 0 && !said)
    note(findings, "foreign.text.ranks", Severity::warning,
         fmt::format("the file is for {} ranks (all_gpus), the job has {}", s.ranks, mesh.ranks));
  const bool asked = options.num_npus > 0 || !options.dims.empty();
  if (mesh.ranks > (asked ? kMostRowRanks : kMostRanksSaid))
    return fail(
        asked ? Code::usage : Code::bad_input, "foreign.large",
        fmt::format("{} ranks; at most {} are possible, {} with --num-npus", mesh.ranks, kMostRanksSaid, kMostRowRanks),
        {work.file, -1, 1});
  if (mesh.tp == 0 && options.dims.empty())
    return fail(Code::usage, "foreign.text.groups",
                "the file has no model_parallel_NPU_group; give --dims, with the model-parallel dimension first",
                {work.file, -1, 1});
  if (mesh.tp == 0) {
    mesh.tp = options.dims[0];
    note(findings, "foreign.text.dims", Severity::warning,
         "the file has no model_parallel_NPU_group: the first dimension is taken as model parallel, the others as data "
         "parallel");
  }
  if (!mesh.divides())
    return fail(said ? Code::bad_input : Code::usage, "foreign.text.groups",
                fmt::format("{} ranks cannot be divided into {} stages of {} tensor-parallel ranks, and the rest of a "
                            "stage into {} of experts",
                            mesh.ranks, s.pp, mesh.tp, s.ep),
                {work.file, -1, 1});
  return mesh;
}

/// What SimAI would do otherwise, or leaves open.
void note_rows(const Workload& work, const RowMesh& mesh, const Options& options, Findings& findings) {
  int64_t alone = 0, uneven = 0, broadcasts = 0;
  each_collective(work, [&](const Phase& phase) {
    const int64_t ranks = mesh.size(phase.over);
    alone += ranks == 1;
    uneven += *phase.comm == trace::CommType::all_gather && phase.bytes % static_cast<uint64_t>(ranks) != 0;
    broadcasts += *phase.comm == trace::CommType::broadcast;
  });
  const auto say = [&](Severity severity, const char* tag, std::string text) {
    note(findings, tag, severity, std::move(text));
  };
  if (options.time_unit.empty() && work.spread.ranks == 0)
    say(Severity::note, "foreign.text.unit", "times are nanoseconds, as ASTRA-sim and SimAI count them (--time-unit)");
  if (alone > 0)
    say(Severity::warning, "foreign.text.alone", fmt::format("{} collectives have a group of one rank", alone));
  if (uneven > 0)
    say(Severity::note, "foreign.text.uneven",
        fmt::format("{} all-gathers have no whole number of bytes per rank: the share of a rank is rounded up",
                    uneven));
  if (broadcasts > 0)
    say(Severity::note, "foreign.text.broadcast",
        fmt::format("{} broadcasts are included; SimAI ignores broadcasts", broadcasts));
  if (work.spread.pp > 1 && work.spread.pp_bytes == 0)
    say(Severity::warning, "foreign.text.pipeline", "pp_comm is missing: messages between stages have 0 bytes");
  if (work.spread.pp == 1 && work.spread.pp_bytes > 0)
    say(Severity::note, "foreign.text.pipeline", "pp_comm has no effect with one stage");
}

/// The groups of the slots that rows use, and who is in which.
void add_row_groups(const Workload& work, const RowMesh& mesh, ClassJob& job) {
  std::vector<const RowGroup*> used;
  std::vector<uint32_t> first;
  for (const RowGroup& group : kRowGroups) {
    bool is_used = false;
    each_collective(work, [&](const Phase& phase) { is_used |= phase.over == group.over; });
    if (!is_used) continue;
    used.push_back(&group);
    first.push_back(static_cast<uint32_t>(job.groups.size()));
    const int64_t groups = mesh.ranks / mesh.size(group.over);
    job.groups.resize(job.groups.size() + static_cast<size_t>(groups));
    for (int64_t rank = 0; rank < mesh.ranks; ++rank) {
      const int64_t number = mesh.group(group.over, rank);
      trace::ProcessGroup& place = job.groups[first.back() + static_cast<size_t>(number)];
      if (!place.name.empty()) continue;
      place = {fmt::format("{}{}", group.slot, number), std::string(group.description), "",
               mesh.members(group.over, rank), mesh.size(group.over)};
    }
  }
  for (size_t c = 0; c < job.classes.size(); ++c) {
    job.group_slots.emplace_back();
    for (const RowGroup* group : used) {
      job.group_slots.back().emplace_back(group->slot);
      job.classes[c].groups.push_back({std::string(group->slot), "", "", {}, 0});
    }
  }
  for (int64_t rank = 0; rank < mesh.ranks; ++rank)
    for (size_t i = 0; i < used.size(); ++i)
      job.group_of.push_back(first[i] + static_cast<uint32_t>(mesh.group(used[i]->over, rank)));
}

}  // namespace

Result<ClassJob> spread_rows(const Workload& work, const Options& options, Findings& findings) {
  CHAKRA_ASSIGN(const RowMesh mesh, mesh_of(work, options, findings));
  note_rows(work, mesh, options, findings);
  const Pieces pieces = cut_rows(work, findings);
  const int64_t stages = pieces.messages ? mesh.pp : 1;
  double each =
      6.0 * static_cast<double>(work.layers.size()) + 4.0 * static_cast<double>(pieces.micro_batches * pieces.chunks);
  for (size_t i = 0; i < work.spread.initiates.size(); ++i) each += 2.0 * static_cast<double>(work.layers.size());
  const double trace = kTraceNodes + static_cast<double>(work.text.size()) / 64;
  if ((each * static_cast<double>(options.num_passes) + trace) * static_cast<double>(stages) >
      static_cast<double>(kMostNodes))
    return fail(Code::bad_input, "foreign.large",
                fmt::format("{} rows, {} stages and {} passes are more than {} nodes", work.layers.size(), stages,
                            options.num_passes, kMostNodes),
                {work.file});
  ClassJob job;
  std::vector<std::vector<int64_t>> peers;
  for (int64_t stage = 0; stage < stages; ++stage) {
    StageRows rows(work, pieces, mesh, stage);
    put_metadata(rows.builder(), work, options);
    for (int64_t pass = 0; pass < options.num_passes; ++pass) rows.pass();
    peers.push_back(rows.peers());
    job.peer_slots.push_back(static_cast<uint32_t>(rows.peers().size()));
    job.classes.push_back(std::move(rows.builder()).finish());
  }
  add_row_groups(work, mesh, job);
  for (int64_t rank = 0; rank < mesh.ranks; ++rank) {
    const int64_t stage = rank / mesh.stage_ranks();
    const auto cls = static_cast<uint32_t>(pieces.messages ? stage : 0);
    job.ranks.push_back({rank, cls, static_cast<uint32_t>(static_cast<size_t>(rank) * job.group_slots[cls].size()),
                         static_cast<uint32_t>(job.peer_of.size())});
    for (const int64_t peer : peers[cls]) job.peer_of.push_back(rank + (peer - stage) * mesh.stage_ranks());
  }
  return job;
}

}  // namespace chakra::foreign::text_form
