// MSCCL algorithms: per GPU the thread blocks with the steps that move and reduce chunks. Before anything is made of
// it, the algorithm is carried out on symbols and has to deliver what its collective promises (docs/formats/msccl.md).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <numeric>
#include <pugixml.hpp>

#include <absl/container/flat_hash_map.h>

#include "chakra/foreign/forms.h"

namespace chakra::foreign {
namespace {

using trace::Builder;
using trace::NodeId;
using trace::NodeType;
using trace::TraceSet;

enum class Op : uint8_t {
  send,
  recv,
  recv_copy_send,
  recv_reduce_copy,
  recv_reduce_send,
  recv_reduce_copy_send,
  reduce,
  copy,
  nop
};
struct OpRow {
  std::string_view name;
  Op op;
  bool receives, reduces, copies, sends;  ///< copies: the result is kept in the destination
};
constexpr std::array<OpRow, 9> kOps{{
    {"s", Op::send, false, false, false, true},
    {"r", Op::recv, true, false, true, false},
    {"rcs", Op::recv_copy_send, true, false, true, true},
    {"rrc", Op::recv_reduce_copy, true, true, true, false},
    {"rrs", Op::recv_reduce_send, true, true, false, true},
    {"rrcs", Op::recv_reduce_copy_send, true, true, true, true},
    {"re", Op::reduce, false, true, true, false},
    {"cpy", Op::copy, false, false, true, false},
    {"nop", Op::nop, false, false, false, false},
}};

/// What a collective promises about the chunk at `at` of rank `rank`'s output.
enum class Coll : uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast };
struct CollRow {
  std::string_view name;
  Coll coll;
};
constexpr std::array<CollRow, 5> kColls{{
    {"allreduce", Coll::all_reduce},
    {"allgather", Coll::all_gather},
    {"reduce_scatter", Coll::reduce_scatter},
    {"alltoall", Coll::all_to_all},
    {"broadcast", Coll::broadcast},
}};

constexpr int64_t kMostChunks = int64_t{1} << 22;  // of all buffers, and moved by all steps
constexpr int64_t kMostGpus = int64_t{1} << 16;

enum Buffer : uint8_t { kInput, kOutput, kScratch };
struct Span {
  Buffer buffer = kInput;
  int64_t offset = 0;
};
struct Step {
  const OpRow* op = nullptr;
  Span src, dst;
  int64_t count = 0;
  int64_t dep_block = -1, dep_step = -1;  ///< a block of the same GPU, a step of it
  bool awaited = false;                   ///< another block waits for it
  int64_t byte = 0;
};
struct Block {
  int64_t id = 0, send = -1, recv = -1, channel = 0;
  std::vector<Step> steps;
};
struct Gpu {
  int64_t chunks[3] = {0, 0, 0};
  std::vector<Block> blocks;  ///< their place is their id
  int64_t byte = 0;
};
struct Algorithm {
  std::string name, file;
  Coll coll = Coll::all_reduce;
  std::string_view coll_name;
  bool in_place = false;
  int64_t chunks = 0;  ///< of the whole collective
  int64_t min_bytes = 0, max_bytes = 0;
  std::vector<Gpu> gpus;
};

class Parser {
 public:
  Parser(std::string_view text, Algorithm& out) : text_(text), out_(out) {}

  Result<void> run() {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(text_.data(), text_.size());
    if (!parsed) return xml_error(parsed);
    const pugi::xml_node algo = document.child("algo");
    if (!algo) return bad("foreign.msccl.element", "there is no element <algo>", document);
    if (std::distance(document.begin(), document.end()) != 1)
      return bad("foreign.msccl.element", "there is something beside <algo>", document.last_child());
    out_.name = algo.attribute("name").value();
    const std::string_view coll = algo.attribute("coll").value();
    const auto row = std::find_if(kColls.begin(), kColls.end(), [&](const CollRow& c) {
      return c.name == coll || (c.coll == Coll::reduce_scatter && coll == "reducescatter");
    });
    if (row == kColls.end()) {
      std::string known;
      for (const CollRow& c : kColls) known += fmt::format("{}{}", known.empty() ? "" : ", ", c.name);
      return bad("foreign.msccl.collective",
                 fmt::format("what {} promises is not known; known: {}", quote(coll), known), algo);
    }
    out_.coll = row->coll;
    out_.coll_name = row->name;
    CHAKRA_ASSIGN(const int64_t gpus, integer(algo, "ngpus", 1, kMostGpus));
    CHAKRA_ASSIGN(out_.chunks, integer(algo, "nchunksperloop", 1, kMostChunks));
    CHAKRA_ASSIGN(const int64_t in_place, integer(algo, "inplace", 0, 1));
    out_.in_place = in_place == 1;
    if (algo.attribute("minBytes")) {
      CHAKRA_ASSIGN(out_.min_bytes, integer(algo, "minBytes", 0, INT64_MAX));
    }
    if (algo.attribute("maxBytes")) {
      CHAKRA_ASSIGN(out_.max_bytes, integer(algo, "maxBytes", 0, INT64_MAX));
    }
    // Each GPU has an element of its own: as many as there are, whatever is claimed.
    const auto there = std::distance(algo.begin(), algo.end());
    if (there != gpus)
      return bad("foreign.msccl.element", fmt::format("ngpus is {}, the file has {} elements in <algo>", gpus, there),
                 algo);
    out_.gpus.resize(static_cast<size_t>(gpus));
    std::vector<bool> seen(out_.gpus.size(), false);
    for (const pugi::xml_node node : algo) {
      CHAKRA_TRY(named(node, "gpu"));
      CHAKRA_ASSIGN(const int64_t id, integer(node, "id", 0, gpus - 1));
      if (seen[static_cast<size_t>(id)])
        return bad("foreign.msccl.element", fmt::format("gpu {} is there twice", id), node);
      seen[static_cast<size_t>(id)] = true;
      CHAKRA_TRY(gpu(node, out_.gpus[static_cast<size_t>(id)]));
    }
    return {};
  }

 private:
  tl::unexpected<Error> bad(const char* tag, std::string text, pugi::xml_node node) const {
    return fail(Code::bad_input, tag, std::move(text), {out_.file, static_cast<int64_t>(node.offset_debug())});
  }
  tl::unexpected<Error> xml_error(const pugi::xml_parse_result& parsed) const {
    const auto byte = static_cast<int64_t>(parsed.offset);
    // What an unfinished document lacks is noticed at its end, or where the unfinished element began.
    const bool ended = parsed.status == pugi::status_no_document_element ||
                       byte >= static_cast<int64_t>(text_.size()) ||
                       text_.find('>', static_cast<size_t>(byte)) == std::string_view::npos;
    return fail(Code::bad_input, ended ? "foreign.msccl.truncated" : "foreign.msccl.syntax",
                fmt::format("not an XML document: {}", parsed.description()), {out_.file, byte});
  }
  Result<void> named(pugi::xml_node node, const char* name) const {
    if (std::strcmp(node.name(), name) == 0) return {};
    return bad("foreign.msccl.element", fmt::format("<{}> is expected, {} is there", name, quote(node.name())), node);
  }
  Result<int64_t> integer(pugi::xml_node node, const char* name, int64_t least, int64_t most) const {
    const pugi::xml_attribute attribute = node.attribute(name);
    int64_t value = 0;
    if (!attribute)
      return bad("foreign.msccl.attribute", fmt::format("<{}> has no attribute {}", node.name(), name), node);
    if (!parse_decimal(attribute.value(), value) || value < least || value > most)
      return bad("foreign.msccl.attribute",
                 fmt::format("{} = {} of <{}> is no whole number from {} to {}", name, quote(attribute.value()),
                             node.name(), least, most),
                 node);
    return value;
  }

  Result<void> gpu(pugi::xml_node node, Gpu& gpu) {
    gpu.byte = static_cast<int64_t>(node.offset_debug());
    const std::array<const char*, 3> names{"i_chunks", "o_chunks", "s_chunks"};
    for (size_t b = 0; b < 3; ++b) {
      CHAKRA_ASSIGN(gpu.chunks[b], integer(node, names[b], 0, kMostChunks));
      all_chunks_ += gpu.chunks[b];
    }
    if (all_chunks_ > kMostChunks) return too_large(node);
    const auto there = std::distance(node.begin(), node.end());
    gpu.blocks.resize(static_cast<size_t>(there));
    std::vector<bool> seen(gpu.blocks.size(), false);
    for (const pugi::xml_node child : node) {
      CHAKRA_TRY(named(child, "tb"));
      CHAKRA_ASSIGN(const int64_t id, integer(child, "id", 0, there - 1));
      if (seen[static_cast<size_t>(id)])
        return bad("foreign.msccl.element", fmt::format("thread block {} is there twice", id), child);
      seen[static_cast<size_t>(id)] = true;
      CHAKRA_TRY(block(child, gpu.blocks[static_cast<size_t>(id)]));
    }
    for (Block& b : gpu.blocks)
      for (Step& step : b.steps) {
        if (step.dep_block < 0) continue;
        const auto other = static_cast<size_t>(step.dep_block);
        if (other >= gpu.blocks.size() || step.dep_step < 0 ||
            static_cast<size_t>(step.dep_step) >= gpu.blocks[other].steps.size())
          return fail(Code::bad_input, "foreign.msccl.dep",
                      fmt::format("a step waits for step {} of thread block {}, which is not there", step.dep_step,
                                  step.dep_block),
                      {out_.file, step.byte});
        gpu.blocks[other].steps[static_cast<size_t>(step.dep_step)].awaited = true;
      }
    return {};
  }

  Result<void> block(pugi::xml_node node, Block& block) {
    const auto gpus = static_cast<int64_t>(out_.gpus.size());
    CHAKRA_ASSIGN(block.id, integer(node, "id", 0, INT32_MAX));
    CHAKRA_ASSIGN(block.send, integer(node, "send", -1, gpus - 1));
    CHAKRA_ASSIGN(block.recv, integer(node, "recv", -1, gpus - 1));
    CHAKRA_ASSIGN(block.channel, integer(node, "chan", 0, INT32_MAX));
    for (const pugi::xml_node child : node) {
      CHAKRA_TRY(named(child, "step"));
      CHAKRA_ASSIGN(const int64_t number, integer(child, "s", 0, INT32_MAX));
      if (number != static_cast<int64_t>(block.steps.size()))
        return bad("foreign.msccl.element",
                   fmt::format("step {} stands where step {} is expected", number, block.steps.size()), child);
      Step step;
      step.byte = static_cast<int64_t>(child.offset_debug());
      const std::string_view type = child.attribute("type").value();
      const auto row = std::find_if(kOps.begin(), kOps.end(), [&](const OpRow& op) { return op.name == type; });
      if (row == kOps.end())
        return bad("foreign.msccl.attribute", fmt::format("there is no type {} of steps", quote(type)), child);
      step.op = &*row;
      if ((row->sends && block.send < 0) || (row->receives && block.recv < 0))
        return bad("foreign.msccl.connection",
                   fmt::format("a step {} in a thread block that is not connected to anybody", type), child);
      if (row->op != Op::nop) {
        CHAKRA_ASSIGN(step.src, span(child, "srcbuf", "srcoff"));
        CHAKRA_ASSIGN(step.dst, span(child, "dstbuf", "dstoff"));
        CHAKRA_ASSIGN(step.count, integer(child, "cnt", 1, kMostChunks));
        moved_ += step.count;
        if (moved_ > kMostChunks) return too_large(child);
      }
      CHAKRA_ASSIGN(step.dep_block, integer(child, "depid", -1, INT32_MAX));
      CHAKRA_ASSIGN(step.dep_step, integer(child, "deps", -1, INT32_MAX));
      block.steps.push_back(step);
    }
    return {};
  }

  Result<Span> span(pugi::xml_node node, const char* buffer, const char* offset) const {
    Span span;
    const std::string_view name = node.attribute(buffer).value();
    const std::string_view known = "ios";
    if (name.size() != 1 || known.find(name) == std::string_view::npos)
      return bad("foreign.msccl.attribute", fmt::format("{} = {} is neither i, o nor s", buffer, quote(name)), node);
    span.buffer = static_cast<Buffer>(known.find(name));
    CHAKRA_ASSIGN(span.offset, integer(node, offset, 0, kMostChunks));
    return span;
  }

  tl::unexpected<Error> too_large(pugi::xml_node node) const {
    return fail(Code::bad_input, "foreign.large", fmt::format("buffers or moves of more than {} chunks", kMostChunks),
                {out_.file, static_cast<int64_t>(node.offset_debug())});
  }

  std::string_view text_;
  Algorithm& out_;
  int64_t all_chunks_ = 0, moved_ = 0;
};

/// One memory of a rank in which its input, output and scratch lie; in place, input and output overlap.
struct Memory {
  int64_t base[3] = {0, 0, 0};
  int64_t size[3] = {0, 0, 0};
  int64_t all = 0;
};

/// Chunks of a rank's share of a collective that moves shares: of its input for all-gather, of its output for
/// reduce-scatter.
int64_t share(const Algorithm& a) { return a.chunks / static_cast<int64_t>(a.gpus.size()); }

Memory memory_of(const Algorithm& a, size_t rank) {
  const Gpu& gpu = a.gpus[rank];
  Memory m;
  const auto at = static_cast<int64_t>(rank) * share(a);
  const bool gathers = a.coll == Coll::all_gather, scatters = a.coll == Coll::reduce_scatter;
  m.size[kInput] = gathers ? share(a) : a.chunks;
  m.size[kOutput] = scatters ? share(a) : a.chunks;
  m.size[kScratch] = gpu.chunks[kScratch];
  if (a.in_place) {
    m.base[kInput] = gathers ? at : 0;
    m.base[kOutput] = scatters ? at : 0;
    m.base[kScratch] = a.chunks;
  } else {
    m.base[kOutput] = m.size[kInput];
    m.base[kScratch] = m.size[kInput] + m.size[kOutput];
  }
  m.all = m.base[kScratch] + m.size[kScratch];
  return m;
}

/// Sums of chunks as small numbers: 0 is nothing, 1 what makes no sense, the others a chunk of the collective added up
/// over a set of ranks, each once.
class Values {
 public:
  static constexpr uint32_t kNothing = 0, kNonsense = 1;

  Values() : all_(2) {}

  uint32_t single(int64_t chunk, int64_t rank) { return intern({chunk, {static_cast<uint32_t>(rank)}}); }

  /// False where there are too many to go on.
  bool sum(uint32_t a, uint32_t b, uint32_t& out) {
    out = kNonsense;
    if (a == kNonsense || b == kNonsense || a == kNothing || b == kNothing || all_[a]->first != all_[b]->first)
      return true;
    const auto [found, added] = sums_.try_emplace({std::min(a, b), std::max(a, b)}, kNonsense);
    if (added) {
      const auto &x = all_[a]->second, &y = all_[b]->second;
      Value value{all_[a]->first, {}};
      std::set_union(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(value.second));
      work_ += value.second.size();
      if (work_ > kMostWork) return false;
      if (value.second.size() == x.size() + y.size()) found->second = intern(std::move(value));
    }
    out = found->second;
    return true;
  }

  std::string text(uint32_t value) const {
    if (value == kNothing) return "nothing";
    if (value == kNonsense) return "a sum of what does not belong together, or of something twice";
    const auto& [chunk, ranks] = *all_[value];
    if (ranks.size() > 8) return fmt::format("chunk {} of {} ranks", chunk, ranks.size());
    return fmt::format("chunk {} of rank {}", chunk, fmt::join(ranks, " + "));
  }

  uint32_t intern(std::pair<int64_t, std::vector<uint32_t>> value) {
    const auto [found, added] = ids_.try_emplace(std::move(value), static_cast<uint32_t>(all_.size()));
    if (added) all_.push_back(&found->first);
    return found->second;
  }

 private:
  using Value = std::pair<int64_t, std::vector<uint32_t>>;
  static constexpr size_t kMostWork = size_t{1} << 25;
  std::map<Value, uint32_t> ids_;
  std::vector<const Value*> all_;
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, uint32_t> sums_;
  size_t work_ = 0;
};

/// Carries the algorithm out on symbols.
class Execution {
 public:
  Execution(const Algorithm& a, Values& values) : a_(a), values_(values) {
    for (size_t r = 0; r < a.gpus.size(); ++r) {
      const Memory m = memory_of(a, r);
      memory_.push_back(m);
      cells_.emplace_back(static_cast<size_t>(m.all), Values::kNothing);
      const bool gathers = a.coll == Coll::all_gather;
      for (int64_t c = 0; c < m.size[kInput]; ++c)
        cells_[r][static_cast<size_t>(m.base[kInput] + c)] =
            values_.single(gathers ? static_cast<int64_t>(r) * share(a) + c : c, static_cast<int64_t>(r));
      done_.emplace_back(a.gpus[r].blocks.size(), 0);
    }
  }

  /// `turn` chooses among the blocks that can go on: 0 the first, 1 the last, others at random. What an algorithm
  /// delivers must not depend on it.
  Result<void> run(uint64_t turn) {
    Prng random(turn);
    std::vector<std::pair<uint32_t, uint32_t>> ready;
    for (uint32_t r = 0; r < a_.gpus.size(); ++r)
      for (uint32_t b = 0; b < a_.gpus[r].blocks.size(); ++b) {
        if (!a_.gpus[r].blocks[b].steps.empty()) ready.emplace_back(r, b);
        remaining_ += a_.gpus[r].blocks[b].steps.size();
      }
    if (turn == 0) std::reverse(ready.begin(), ready.end());
    while (!ready.empty()) {
      const size_t pick = turn < 2 ? ready.size() - 1 : static_cast<size_t>(random.below(ready.size()));
      std::swap(ready[pick], ready.back());
      const auto [r, b] = ready.back();
      ready.pop_back();
      CHAKRA_TRY(go_on(r, b, ready, turn >= 2));
    }
    if (remaining_ > 0) return stuck();
    return {};
  }

  Result<void> check() const {
    if (a_.coll == Coll::broadcast) return check_broadcast();
    const auto ranks = static_cast<int64_t>(a_.gpus.size());
    std::vector<uint32_t> all(a_.gpus.size()), sums;
    std::iota(all.begin(), all.end(), 0U);
    if (a_.coll == Coll::all_reduce || a_.coll == Coll::reduce_scatter)
      for (int64_t at = 0; at < a_.chunks; ++at) sums.push_back(values_.intern({at, all}));
    for (int64_t r = 0; r < ranks; ++r)
      for (int64_t at = 0; at < memory_[static_cast<size_t>(r)].size[kOutput]; ++at) {
        uint32_t promised = 0;
        switch (a_.coll) {
          case Coll::all_reduce: promised = sums[static_cast<size_t>(at)]; break;
          case Coll::reduce_scatter: promised = sums[static_cast<size_t>(r * share(a_) + at)]; break;
          case Coll::all_gather: promised = values_.single(at, at / share(a_)); break;
          case Coll::all_to_all: promised = values_.single(r * share(a_) + at % share(a_), at / share(a_)); break;
          case Coll::broadcast: break;
        }
        CHAKRA_TRY(holds(r, at, promised));
      }
    return {};
  }

 private:
  using Connection = std::tuple<int64_t, int64_t, int64_t>;  // sender, receiver, channel
  using Chunks = std::vector<uint32_t>;
  using BlockRef = std::pair<uint32_t, uint32_t>;

  uint32_t output(int64_t rank, int64_t at) const {
    const auto r = static_cast<size_t>(rank);
    return cells_[r][static_cast<size_t>(memory_[r].base[kOutput] + at)];
  }

  Result<void> holds(int64_t rank, int64_t at, uint32_t promised) const {
    const uint32_t there = output(rank, at);
    if (there == promised) return {};
    return fail(Code::bad_input, "foreign.msccl.wrong",
                fmt::format("{} promises {} in chunk {} of rank {}, where the algorithm leaves {}", a_.coll_name,
                            values_.text(promised), at, rank, values_.text(there)),
                {a_.file, a_.gpus[static_cast<size_t>(rank)].byte});
  }

  /// The root is not named: it is the rank whose input the first chunk came from.
  Result<void> check_broadcast() const {
    for (int64_t root = 0; root < static_cast<int64_t>(a_.gpus.size()); ++root)
      if (output(0, 0) == values_.single(0, root)) {
        for (int64_t r = 0; r < static_cast<int64_t>(a_.gpus.size()); ++r)
          for (int64_t at = 0; at < a_.chunks; ++at) CHAKRA_TRY(holds(r, at, values_.single(at, root)));
        return {};
      }
    return holds(0, 0, values_.single(0, 0));
  }

  /// Steps of a block as far as it goes; wakes who waits for them.
  Result<void> go_on(uint32_t r, uint32_t b, std::vector<BlockRef>& ready, bool one_step) {
    const Block& block = a_.gpus[r].blocks[b];
    for (size_t& at = done_[r][b]; at < block.steps.size();) {
      const Step& step = block.steps[at];
      if (step.dep_block >= 0 && static_cast<int64_t>(done_[r][static_cast<size_t>(step.dep_block)]) <= step.dep_step) {
        waits_for_step_[{r, step.dep_block, step.dep_step}].push_back({r, b});
        return {};
      }
      std::deque<Chunks>* in = nullptr;
      const Connection from{block.recv, r, block.channel}, to{r, block.send, block.channel};
      if (step.op->receives) {
        in = &messages_[from];
        if (in->empty()) {
          waits_for_message_[from] = {r, b};
          return {};
        }
        if (static_cast<int64_t>(in->front().size()) != step.count)
          return at_step(r, b, at,
                         fmt::format("receives {} chunks where {} were sent", step.count, in->front().size()));
      }
      CHAKRA_TRY(carry_out(r, b, at, step, in, to));
      if (step.op->sends)
        if (const auto waiting = waits_for_message_.find(to); waiting != waits_for_message_.end()) {
          ready.push_back(waiting->second);
          waits_for_message_.erase(waiting);
        }
      if (step.awaited)
        if (const auto waiting = waits_for_step_.find({r, b, static_cast<int64_t>(at)});
            waiting != waits_for_step_.end()) {
          ready.insert(ready.end(), waiting->second.begin(), waiting->second.end());
          waits_for_step_.erase(waiting);
        }
      ++at;
      --remaining_;
      if (one_step && at < block.steps.size()) {
        ready.push_back({r, b});
        return {};
      }
    }
    return {};
  }

  Result<void> carry_out(uint32_t r, uint32_t b, size_t at, const Step& step, std::deque<Chunks>* in,
                         const Connection& to) {
    if (step.op->op == Op::nop) return {};
    const Memory& m = memory_[r];
    const bool reads_source = !step.op->receives || step.op->reduces;
    for (const auto& [used, span] : {std::pair(reads_source, step.src), std::pair(step.op->copies, step.dst)})
      if (used && (span.offset > m.size[span.buffer] || step.count > m.size[span.buffer] - span.offset))
        return at_step(r, b, at, fmt::format("goes beyond the {} chunks of its buffer", m.size[span.buffer]));
    auto& cells = cells_[r];
    Chunks out;
    for (int64_t c = 0; c < step.count; ++c) {
      const auto cell = [&](const Span& span) -> uint32_t& {
        return cells[static_cast<size_t>(m.base[span.buffer] + span.offset + c)];
      };
      uint32_t value = step.op->receives ? in->front()[static_cast<size_t>(c)] : cell(step.src);
      if (step.op->reduces && !values_.sum(value, step.op->receives ? cell(step.src) : cell(step.dst), value))
        return fail(Code::bad_input, "foreign.large", "too many different sums to follow",
                    {a_.file, a_.gpus[r].blocks[b].steps[at].byte});
      if (step.op->copies) cell(step.dst) = value;
      if (step.op->sends) out.push_back(value);
    }
    if (step.op->receives) in->pop_front();
    if (step.op->sends) messages_[to].push_back(std::move(out));
    return {};
  }

  tl::unexpected<Error> at_step(uint32_t r, uint32_t b, size_t at, std::string what) const {
    return fail(Code::bad_input, "foreign.msccl.step",
                fmt::format("step {} of thread block {} of rank {} {}", at, b, r, what),
                {a_.file, a_.gpus[r].blocks[b].steps[at].byte});
  }

  tl::unexpected<Error> stuck() const {
    for (uint32_t r = 0; r < a_.gpus.size(); ++r)
      for (uint32_t b = 0; b < a_.gpus[r].blocks.size(); ++b) {
        const Block& block = a_.gpus[r].blocks[b];
        const size_t at = done_[r][b];
        if (at == block.steps.size()) continue;
        const Step& step = block.steps[at];
        return fail(
            Code::bad_input, "foreign.msccl.stuck",
            fmt::format("step {} of thread block {} of rank {} waits for ever for {}; {} steps are not done", at, b, r,
                        step.op->receives ? fmt::format("a message of rank {}", block.recv)
                                          : fmt::format("thread block {}", step.dep_block),
                        remaining_),
            {a_.file, step.byte});
      }
    return fail(Code::bad_input, "foreign.msccl.stuck", "nothing can go on", {a_.file});
  }

  const Algorithm& a_;
  Values& values_;
  std::vector<Memory> memory_;
  std::vector<std::vector<uint32_t>> cells_;
  std::vector<std::vector<size_t>> done_;  ///< steps, by rank and block
  std::map<Connection, std::deque<Chunks>> messages_;
  std::map<Connection, BlockRef> waits_for_message_;
  std::map<std::tuple<uint32_t, int64_t, int64_t>, std::vector<BlockRef>> waits_for_step_;  ///< by rank, block, step
  size_t remaining_ = 0;
};

/// A channel between two GPUs has one sender and one receiver.
Result<void> check_connections(const Algorithm& a) {
  std::map<std::tuple<size_t, bool, int64_t, int64_t>, int64_t> owner;
  for (size_t r = 0; r < a.gpus.size(); ++r)
    for (const Block& block : a.gpus[r].blocks)
      for (const bool sends : {true, false}) {
        const int64_t peer = sends ? block.send : block.recv;
        if (peer < 0 || block.steps.empty()) continue;
        const auto [found, added] = owner.try_emplace({r, sends, peer, block.channel}, block.id);
        if (!added)
          return fail(Code::bad_input, "foreign.msccl.connection",
                      fmt::format("thread blocks {} and {} of rank {} both {} rank {} on channel {}", found->second,
                                  block.id, r, sends ? "send to" : "receive from", peer, block.channel),
                      {a.file, a.gpus[r].byte});
      }
  return {};
}

Result<void> verify(const Algorithm& a) {
  const auto ranks = static_cast<int64_t>(a.gpus.size());
  if (a.coll != Coll::all_reduce && a.coll != Coll::broadcast && a.chunks % ranks != 0)
    return fail(Code::bad_input, "foreign.msccl.attribute",
                fmt::format("{} chunks cannot be shared out among {} ranks", a.chunks, ranks),
                {a.file, a.gpus[0].byte});
  int64_t cells = 0;
  for (size_t r = 0; r < a.gpus.size(); ++r) cells += memory_of(a, r).all;
  if (cells > kMostChunks)
    return fail(Code::bad_input, "foreign.large", fmt::format("buffers of more than {} chunks", kMostChunks), {a.file});
  CHAKRA_TRY(check_connections(a));
  Values values;
  constexpr uint64_t kTurns = 4;
  for (uint64_t turn = 0; turn < kTurns; ++turn) {
    Execution execution(a, values);
    CHAKRA_TRY(execution.run(turn));
    CHAKRA_TRY(execution.check());
  }
  return {};
}

trace::Trace trace_of(const Algorithm& a, size_t rank, const Options& options) {
  Builder builder;
  trace::Trace& t = builder.trace;
  begin_trace(builder, static_cast<int64_t>(rank), a.file);
  const auto meta = [&](std::string_view name, std::string_view text) {
    t.metadata.push_back({t.strings.intern(name), t.texts.add(text)});
  };
  meta("schema", "msccl");
  meta("algorithm", a.name);
  meta("collective", a.coll_name);
  const auto chunks = static_cast<uint64_t>(a.chunks);
  const uint64_t chunk_bytes = options.coll_bytes / chunks + (options.coll_bytes % chunks != 0);
  const auto& blocks = a.gpus[rank].blocks;
  // The node after which each step is done; waits across blocks may point forward, so edges come last.
  std::vector<std::vector<NodeId>> last(blocks.size());
  struct Wait {
    NodeId node;
    int64_t block, step;
  };
  std::vector<Wait> waits;
  for (const Block& block : blocks) {
    NodeId previous = trace::kNoNode;
    std::vector<std::pair<int64_t, int64_t>> pending;  // of steps that became no node
    for (size_t s = 0; s < block.steps.size(); ++s) {
      const Step& step = block.steps[s];
      const auto add = [&](NodeType type) {
        const NodeId node = builder.add(
            t.size(), t.strings.intern(fmt::format("{}_tb{}_step{}", trace::name(type), block.id, s)), type);
        if (previous != trace::kNoNode) builder.dep(node, previous, kGiven);
        for (const auto& [b, at] : pending) waits.push_back({node, b, at});
        pending.clear();
        previous = node;
        if (type == NodeType::comp) {
          t.dur_ps[node] = step.op->op == Op::nop ? 0 : options.default_run_time;
          t.flags[node] |= trace::kHasDuration;
          return;
        }
        trace::Comm& comm = builder.comm(node);
        comm.bytes = chunk_bytes * static_cast<uint64_t>(step.count);
        comm.src = type == NodeType::send ? static_cast<int64_t>(rank) : block.recv;
        comm.dst = type == NodeType::send ? block.send : static_cast<int64_t>(rank);
        comm.tag = block.channel;
      };
      if (step.dep_block >= 0) pending.emplace_back(step.dep_block, step.dep_step);
      if (step.op->receives) add(NodeType::recv);
      if (step.op->reduces || step.op->op == Op::copy || (step.op->op == Op::nop && step.awaited)) add(NodeType::comp);
      if (step.op->sends) add(NodeType::send);
      last[static_cast<size_t>(block.id)].push_back(previous);
    }
  }
  for (const Wait& wait : waits)
    if (const NodeId on = last[static_cast<size_t>(wait.block)][static_cast<size_t>(wait.step)]; on != trace::kNoNode)
      builder.dep(wait.node, on, kGiven);
  return std::move(builder).finish();
}

}  // namespace

Result<TraceSet> read_msccl(ByteSource source, const Options& options, Findings& findings) {
  Algorithm algorithm;
  algorithm.file = source.file();
  CHAKRA_ASSIGN(const std::string text, read_all(std::move(source)));
  CHAKRA_TRY(Parser(text, algorithm).run());
  CHAKRA_TRY(verify(algorithm));
  if (options.coll_bytes < 1 || options.coll_bytes > (uint64_t{1} << 60))
    return fail(Code::usage, "foreign.msccl.size", "a collective has from 1 to 2^60 bytes");
  const auto bytes = static_cast<int64_t>(options.coll_bytes);
  if (bytes < algorithm.min_bytes || (algorithm.max_bytes > 0 && bytes > algorithm.max_bytes))
    note(findings, "foreign.msccl.bytes", Severity::note,
         fmt::format("the algorithm is meant for {} to {} bytes, the collective has {}", algorithm.min_bytes,
                     algorithm.max_bytes, bytes));
  if (options.coll_bytes % static_cast<uint64_t>(algorithm.chunks) != 0)
    note(findings, "foreign.msccl.rounded", Severity::note,
         fmt::format("{} bytes are no whole number for {} chunks: a chunk is rounded up", bytes, algorithm.chunks));
  TraceSet job;
  for (size_t rank = 0; rank < algorithm.gpus.size(); ++rank) job.ranks.push_back(trace_of(algorithm, rank, options));
  return job;
}

}  // namespace chakra::foreign
