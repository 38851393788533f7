// Passes found in a trace, and put together to another one.
#include "chakra/whatif/passes.h"
#include "chakra/trace/metadata.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace chakra::whatif {
namespace {

using gen::Pass;
using trace::EdgeKind;
using trace::kNoNode;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

constexpr uint64_t kMostNodes = uint64_t{1} << 31;
constexpr int64_t kMostStages = 1 << 20;

// `whatif.micro_batches.form` (1): the passes of a job do not follow each other as those of its schedule
Failure form(const Trace& t, const std::string& why) {
  return fail(Code::bad_input, "whatif.micro_batches.form",
              fmt::format("this number of micro-batches is not supported: {}; generate the job with that number", why),
              {t.file, t.rank});
}

// ---- what the trace says --------------------------------------------------------------------------------------------

int64_t number(const Trace& t, std::string_view name) { return trace::metadata_number(t, name).value_or(-1); }

struct Mark {
  std::string_view pass;
  int64_t micro_batch = -1, chunk = -1;
};
std::optional<Mark> mark_of(const Trace& t, NodeId n, StringId pass, StringId micro_batch, StringId chunk) {
  std::optional<Mark> mark;
  const trace::Attrs::Range attrs = t.attrs_of(n);
  for (auto at = attrs.begin(); at != attrs.end(); ++at) {
    const trace::Attr attr = *at;
    if (attr.name == pass) (mark ? *mark : mark.emplace()).pass = attr.text().value_or("");
    else if (mark && attr.name == micro_batch) mark->micro_batch = attr.integer().value_or(-1);
    else if (mark && attr.name == chunk) mark->chunk = attr.integer().value_or(-1);
  }
  return mark;
}

/// The pieces with what their marks say. False where a mark is none of ours.
bool cut(const Trace& t, std::vector<Piece>& pieces) {
  const StringId pass = t.strings.find("pass"), micro_batch = t.strings.find("micro_batch"),
                 chunk = t.strings.find("chunk");
  pieces.emplace_back();
  bool updates = false;
  for (NodeId n{0}; n < t.size() && pass != 0; ++n) {
    const auto mark = mark_of(t, n, pass, micro_batch, chunk);
    if (!mark) continue;
    const auto* const name = std::find(gen::kPassNames.begin(), gen::kPassNames.end(), mark->pass);
    const bool update = mark->pass == gen::kUpdate;
    if (updates || (!update && name == gen::kPassNames.end())) return false;
    updates |= update;
    pieces.back().end = n;
    Piece& piece = pieces.emplace_back();
    piece.begin = n;
    if (!update) piece.task = {static_cast<Pass>(name - gen::kPassNames.begin()), mark->micro_batch, mark->chunk};
  }
  pieces.back().end = NodeId(t.size());
  return updates || pieces.size() == 1;
}

bool on_thread(const Trace& t, NodeId n) {
  return t.lane[n] != trace::kNoLane && t.lanes[t.lane[n]].kind == trace::Lane::Kind::thread;
}
bool computes(const Trace& t, NodeId n) { return t.type[n] == NodeType::comp && !on_thread(t, n); }

/// What each piece leaves open: the next computation after it waits for that.
void find_open(const Trace& t, std::vector<Piece>& pieces) {
  size_t after = 0;  // the last piece before that computes
  for (size_t p = 0; p < pieces.size(); ++p) {
    Piece& piece = pieces[p];
    for (NodeId n = piece.begin; n < piece.end && piece.computes == kNoNode; ++n)
      if (computes(t, n)) piece.computes = n;
    if (piece.computes == kNoNode) continue;
    for (uint32_t e = t.deps.begin[piece.computes]; e < t.deps.begin[piece.computes + 1]; ++e)
      for (size_t q = after; q < p && trace::kind_of(t.deps.kind[e]) == EdgeKind::comm; ++q)
        if (const NodeId on = t.deps.node[e]; on >= pieces[q].begin && on < pieces[q].end)
          pieces[q].open.push_back(on - pieces[q].begin);
    after = p;
  }
}

/// Everything that copying would lose.
std::string not_plain(const Trace& t) {
  if (!t.ctrl.node.empty()) return "nodes have callers";
  if (!t.deps.lag.empty()) return "dependencies have lags";
  if (!t.defects.empty()) return "the trace has defects";
  if (t.deps.kind.empty()) return "dependencies have no kinds";
  for (const NodeId n : t.nodes()) {
    if (t.has_start(n) || t.part_of[n] != kNoNode) return "nodes have start times";
    for (const NodeId on : t.deps.of(n))
      if (on >= n) return "a node comes before one of its dependencies";
  }
  return "";
}

bool same(const gen::Task& a, const gen::Task& b) {
  return a.pass == b.pass && a.micro_batch == b.micro_batch && a.chunk == b.chunk;
}

/// Passes as the schedule has them, with what a piece of each is like.
std::vector<Piece> planned(const Stage& stage, int64_t micro_batches) {
  gen::Pipeline pipeline = stage.pipeline;
  pipeline.micro_batches = micro_batches;
  std::vector<Piece> pieces;
  std::map<int64_t, size_t> last;  // by chunk
  for (const gen::Task& task : stage.schedule->tasks(pipeline, stage.stage)) {
    Piece piece;
    piece.task = task;
    piece.once = task.pass == Pass::forward && !last.contains(task.chunk);
    if (task.with_previous && !pieces.empty()) pieces.back().paired = 1, piece.paired = 2;
    last[task.chunk] = pieces.size();
    pieces.push_back(piece);
  }
  for (const auto& [chunk, at] : last) pieces[at].once = true;
  return pieces;
}

/// The schedule that the metadata names, and what the passes must be by it. Nothing where they are others.
std::optional<Stage> scheduled(const Trace& t, const std::vector<Piece>& pieces) {
  const auto passes = static_cast<int64_t>(pieces.size()) - 2;
  const auto name = trace::metadata(t, "schedule");
  Stage stage;
  stage.schedule = gen::find_schedule(name ? name->text().value_or("") : "");
  stage.stage = number(t, "stage");
  stage.pipeline = {number(t, "stages"), number(t, "chunks"), 0};
  for (const Piece& piece : pieces)
    stage.pipeline.micro_batches = std::max(stage.pipeline.micro_batches, piece.task.micro_batch + 1);
  const auto& [stages, chunks, micro_batches] = stage.pipeline;
  if (!stage.schedule || stage.stage < 0 || stage.stage >= stages || stages > kMostStages) return std::nullopt;
  if (chunks < 1 || chunks > passes || micro_batches < 1 || micro_batches > passes) return std::nullopt;
  if (chunks * micro_batches > passes * stage.schedule->copies) return std::nullopt;
  if (!stage.schedule->refuse(stage.pipeline).empty()) return std::nullopt;
  return stage;
}

}  // namespace

Result<std::optional<Stage>> find_passes(const Trace& t) {
  std::vector<Piece> pieces;
  if (!cut(t, pieces)) return form(t, "it has unknown marks of passes");
  if (pieces.size() == 1) return std::nullopt;
  std::optional<Stage> stage = scheduled(t, pieces);
  if (!stage) return form(t, "its metadata do not name the schedule of its passes");
  const std::vector<Piece> plan = planned(*stage, stage->pipeline.micro_batches);
  bool agree = plan.size() + 2 == pieces.size();
  for (size_t p = 0; p < plan.size() && agree; ++p) {
    Piece& piece = pieces[p + 1];
    agree = same(piece.task, plan[p].task);
    piece.task = plan[p].task;
    piece.paired = plan[p].paired;
    piece.once = plan[p].once;
  }
  if (!agree) return form(t, fmt::format("its passes do not match the schedule {}", stage->schedule->name));
  if (const std::string why = not_plain(t); !why.empty()) return form(t, why);
  find_open(t, pieces);
  stage->pieces = std::move(pieces);
  return stage;
}

// ---- pieces of another trace ----------------------------------------------------------------------------------------

// `whatif.micro_batches.few` (1): a job has too few micro-batches to separate the work per micro-batch from the work
// per step
Result<std::vector<Copied>> pieces_with(const Stage& stage, int64_t micro_batches) {
  using Key = std::tuple<Pass, int64_t, int, bool>;
  const auto key = [](const Piece& p) { return Key{p.task.pass, p.task.chunk, p.paired, p.once}; };
  std::map<Key, std::vector<size_t>> alike;
  for (size_t p = 1; p + 1 < stage.pieces.size(); ++p) alike[key(stage.pieces[p])].push_back(p);
  std::vector<Copied> pieces{{0}};
  for (const Piece& wanted : planned(stage, micro_batches)) {
    const int64_t number = wanted.task.micro_batch;
    const std::vector<size_t>& found = alike[key(wanted)];
    if (found.empty())
      return fail(Code::bad_input, "whatif.micro_batches.few",
                  fmt::format("{} micro-batches on {} stages are too few to separate the work per micro-batch ({}) "
                              "from the work per step; generate the job with more micro-batches",
                              stage.pipeline.micro_batches, stage.pipeline.stages, name(wanted.task.pass)));
    const auto itself =
        std::find_if(found.begin(), found.end(), [&](size_t p) { return stage.pieces[p].task.micro_batch == number; });
    pieces.push_back({itself != found.end() ? *itself : found[static_cast<size_t>(number) % found.size()], number});
  }
  pieces.push_back({stage.pieces.size() - 1});
  return pieces;
}

namespace {

struct PassEdge {
  NodeId node, on;
  uint8_t kind;
};

/// Puts pieces one after the other, with their dependencies.
class Sequence {
 public:
  Sequence(const Trace& t, const Stage& stage)
      : t_(t),
        s_(stage),
        last_(t.lanes.size(), kNoNode),
        seen_(t.lanes.size(), 0),
        copy_of_(stage.pieces.size(), kNoNode) {}

  void add(size_t p) {
    const Piece& piece = s_.pieces[p];
    const auto begin = NodeId(like_.size());
    copy_of_[p] = begin;
    ++number_;
    for (const NodeId n : ids(piece.begin, piece.end)) {
      const auto x = NodeId(like_.size());
      like_.push_back(n);
      for (uint32_t e = t_.deps.begin[n]; e < t_.deps.begin[n + 1]; ++e)
        if (t_.deps.node[e] >= piece.begin)
          edge(x, begin + (t_.deps.node[e] - piece.begin), trace::kind_of(t_.deps.kind[e]));
      if (p > 0) arrive(piece, n, x);
      if (const uint32_t lane = t_.lane[n]; lane != trace::kNoLane) last_[lane] = x, seen_[lane] = number_;
    }
    for (const NodeId n : ids(piece.begin, piece.end))
      if (computes(t_, n)) computed_ = begin + (n - piece.begin);
    if (piece.computes != kNoNode) awaited_.clear();
    for (const uint32_t offset : piece.open) awaited_.push_back(begin + offset);
    if (p > 0) ends_.push_back(computed_);
  }

  /// What is after the passes waits for the last ones by their places in the trace. False where it waits for others.
  bool finish() {
    const Piece& piece = s_.pieces.back();
    const auto begin = NodeId(like_.size());
    std::vector<NodeId> last(t_.lanes.size(), kNoNode);  // before it in the trace, by lane
    for (const NodeId n : ids(NodeId(0), piece.begin))
      if (t_.lane[n] != trace::kNoLane) last[t_.lane[n]] = n;
    for (const NodeId n : ids(piece.begin, piece.end)) {
      const auto x = NodeId(like_.size());
      like_.push_back(n);
      for (uint32_t e = t_.deps.begin[n]; e < t_.deps.begin[n + 1]; ++e) {
        const NodeId on = t_.deps.node[e];
        const uint32_t lane = t_.lane[on];
        NodeId to = kNoNode;
        if (on >= piece.begin) to = begin + (on - piece.begin);
        else if (const size_t p = piece_of(on); p == 0 || (s_.pieces[p].once && copy_of_[p] != kNoNode))
          to = copy_of_[p] + (on - s_.pieces[p].begin);
        else if (lane != trace::kNoLane && last[lane] == on) to = last_[lane];
        if (to == kNoNode) return false;
        edge(x, to, trace::kind_of(t_.deps.kind[e]));
      }
    }
    return true;
  }

  const std::vector<NodeId>& like() const { return like_; }  ///< by node which one of the trace it copies
  const std::vector<PassEdge>& edges() const { return edges_; }

 private:
  void edge(NodeId node, NodeId on, EdgeKind kind) {
    if (on != kNoNode) edges_.push_back({node, on, static_cast<uint8_t>(kind)});
  }

  /// What a node waits for outside of its pass.
  void arrive(const Piece& piece, NodeId n, NodeId x) {
    const bool early = piece.computes == kNoNode || n <= piece.computes;
    const NodeType type = t_.type[n];
    const bool sends = early && (type == NodeType::coll || type == NodeType::send);
    const bool awaits = sends || n == piece.computes;
    NodeId after = kNoNode;
    if (early && (type == NodeType::recv || type == NodeType::mem_load) && ends_.size() > 1)
      after = ends_[ends_.size() - 2];  // a buffer is free
    edge(x, after, EdgeKind::data);
    if (sends) edge(x, computed_, EdgeKind::data);
    for (const NodeId on : awaited_)
      if (awaits) edge(x, on, EdgeKind::comm);
    const uint32_t lane = t_.lane[n];
    if (lane == trace::kNoLane || seen_[lane] == number_ || last_[lane] == after) return;
    if (!awaits || std::find(awaited_.begin(), awaited_.end(), last_[lane]) == awaited_.end())
      edge(x, last_[lane], on_thread(t_, n) ? EdgeKind::program : EdgeKind::stream);
  }

  size_t piece_of(NodeId n) const {
    const auto next = std::upper_bound(s_.pieces.begin(), s_.pieces.end(), n,
                                       [](NodeId node, const Piece& piece) { return node < piece.begin; });
    return static_cast<size_t>(next - s_.pieces.begin()) - 1;
  }

  const Trace& t_;
  const Stage& s_;
  std::vector<NodeId> like_;
  std::vector<PassEdge> edges_;
  std::vector<NodeId> last_;     ///< by lane
  std::vector<uint32_t> seen_;   ///< by lane: the number of the last piece that used it
  std::vector<NodeId> copy_of_;  ///< by piece: where its last copy begins
  NodeId computed_ = kNoNode;
  std::vector<NodeId> awaited_;  ///< what the next computation waits for
  std::vector<NodeId> ends_;     ///< of passes: the last computation
  uint32_t number_ = 0;
};

/// The dependencies, each node's in one order.
trace::Edges edges_of(uint32_t nodes, const Sequence& sequence) {
  std::vector<PassEdge> edges = sequence.edges();
  std::sort(edges.begin(), edges.end(), [](const PassEdge& a, const PassEdge& b) {
    return std::tie(a.node, a.on, a.kind) < std::tie(b.node, b.on, b.kind);
  });
  return trace::make_edges(nodes, true, [&](const auto& visit) {
    for (const PassEdge& e : edges) visit(e.node, e.on, e.kind, 0);
  });
}

/// Whether the trace itself is what the rule makes of its pieces.
bool follows_rule(const Trace& t, const Stage& stage) {
  Sequence sequence(t, stage);
  for (size_t p = 0; p + 1 < stage.pieces.size(); ++p) sequence.add(p);
  if (!sequence.finish() || sequence.like().size() != t.size()) return false;
  const trace::Edges edges = edges_of(t.size(), sequence);
  std::vector<std::pair<NodeId, uint8_t>> own, made;
  for (const NodeId n : t.nodes()) {
    own.clear(), made.clear();
    for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e)
      own.emplace_back(t.deps.node[e], static_cast<uint8_t>(trace::kind_of(t.deps.kind[e])));
    for (uint32_t e = edges.begin[n]; e < edges.begin[n + 1]; ++e) made.emplace_back(edges.node[e], edges.kind[e]);
    std::sort(own.begin(), own.end());
    if (own != made) return false;
  }
  return true;
}

/// The attributes of the nodes, with the numbers of their micro-batches.
void copy_attrs(const Trace& t, const std::vector<NodeId>& like, const std::map<NodeId, int64_t>& micro_batches,
                Trace& out) {
  const StringId number = t.strings.find("micro_batch");
  out.attrs = {};
  out.attr_begin = {};
  for (const NodeId n : ids<NodeId>(like.size())) {
    out.attr_begin.push_back(out.attrs.position());
    const auto begins = micro_batches.find(n);
    const trace::Attrs::Range attrs = t.attrs_of(like[n]);
    for (auto at = attrs.begin(); at != attrs.end(); ++at) {
      trace::Attr attr = *at;
      if (attr.name == number && begins != micro_batches.end()) attr.value = begins->second;
      out.attrs.add(attr);
    }
  }
  out.attr_begin.push_back(out.attrs.position());
}

}  // namespace

Result<Restaged> with_pieces(const Trace& t, const Stage& stage, const std::vector<Copied>& pieces) {
  if (!follows_rule(t, stage)) return form(t, "nodes of its passes have other dependencies than generated nodes");
  uint64_t nodes = 0;
  for (const Copied& copied : pieces) nodes += stage.pieces[copied.piece].end - stage.pieces[copied.piece].begin;
  if (nodes > kMostNodes) return form(t, fmt::format("{} nodes of a rank are too many", nodes));
  Sequence sequence(t, stage);
  std::map<NodeId, int64_t> micro_batches;  // by the first node of a pass
  for (const Copied& copied : pieces) {
    if (copied.piece + 1 == stage.pieces.size()) break;
    micro_batches[NodeId(sequence.like().size())] = copied.micro_batch;
    sequence.add(copied.piece);
  }
  if (!sequence.finish()) return form(t, "nodes after its passes depend on nodes outside the last passes");
  const std::vector<NodeId>& like = sequence.like();
  Restaged restaged{t, {}};
  Trace& out = restaged.trace;
  trace::each_column([&](const auto& row) { out.*row.column = picked(t.*row.column, like); });
  out.id = trace::Ids::counting(t.id.size() > 0 ? t.id[0] : 1, like.size());
  out.deps = edges_of(static_cast<uint32_t>(like.size()), sequence);
  out.ctrl = trace::make_edges(static_cast<uint32_t>(like.size()), false, [](const auto&) {});
  copy_attrs(t, like, micro_batches, out);
  for (uint32_t& row : out.comm_row.edit()) {
    if (row == trace::kNoRow) continue;
    restaged.comm_like.push_back(row);
    row = static_cast<uint32_t>(restaged.comm_like.size() - 1);
  }
  out.comms = picked(t.comms, restaged.comm_like);
  trace::assert_whole(out);
  return restaged;
}

}  // namespace chakra::whatif
