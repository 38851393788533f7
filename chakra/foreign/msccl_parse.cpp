#include <fmt/core.h>

#include <array>
#include <cstring>
#include <pugixml.hpp>

#include "chakra/foreign/msccl.h"

namespace chakra::foreign::msccl {
namespace {

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

constexpr int64_t kMostGpus = int64_t{1} << 16;

class Parser {
 public:
  Parser(std::string_view text, Algorithm& out) : text_(text), out_(out) {}

  Result<void> run() {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(text_.data(), text_.size());
    if (!parsed) return xml_error(parsed);
    const pugi::xml_node algo = document.child("algo");
    if (!algo) return bad("foreign.msccl.element", "the element <algo> is missing", document);
    if (std::distance(document.begin(), document.end()) != 1)
      return bad("foreign.msccl.element", "there is something beside <algo>", document.last_child());
    out_.name = algo.attribute("name").value();
    const std::string_view coll = algo.attribute("coll").value();
    const CollRow* const row = find_row(kColls, coll == "reducescatter" ? "reduce_scatter" : coll);
    if (!row)
      return bad("foreign.msccl.collective",
                 fmt::format("unknown collective {}; known: {}", quote(coll), names_of(kColls)), algo);
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
    // Each GPU has a separate element: the number of elements must be ngpus.
    const auto there = std::distance(algo.begin(), algo.end());
    if (there != gpus)
      return bad("foreign.msccl.element", fmt::format("ngpus is {}, but <algo> has {} elements", gpus, there), algo);
    out_.gpus.resize(static_cast<size_t>(gpus));
    std::vector<bool> seen(out_.gpus.size(), false);
    for (const pugi::xml_node node : algo) {
      CHAKRA_TRY(named(node, "gpu"));
      CHAKRA_ASSIGN(const int64_t id, integer(node, "id", 0, gpus - 1));
      if (seen[static_cast<size_t>(id)]) return bad("foreign.msccl.element", fmt::format("duplicate gpu {}", id), node);
      seen[static_cast<size_t>(id)] = true;
      CHAKRA_TRY(gpu(node, out_.gpus[static_cast<size_t>(id)]));
    }
    return {};
  }

 private:
  Failure bad(const char* tag, std::string text, pugi::xml_node node) const {
    return fail(Code::bad_input, tag, std::move(text), {out_.file, static_cast<int64_t>(node.offset_debug())});
  }
  Failure xml_error(const pugi::xml_parse_result& parsed) const {
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
    return bad("foreign.msccl.element", fmt::format("expected <{}>, found {}", name, quote(node.name())), node);
  }
  Result<int64_t> integer(pugi::xml_node node, const char* name, int64_t least, int64_t most) const {
    const pugi::xml_attribute attribute = node.attribute(name);
    int64_t value = 0;
    if (!attribute)
      return bad("foreign.msccl.attribute", fmt::format("<{}> has no attribute {}", node.name(), name), node);
    if (!parse_decimal(attribute.value(), value) || value < least || value > most)
      return bad("foreign.msccl.attribute",
                 fmt::format("{} = {} of <{}> is not a whole number from {} to {}", name, quote(attribute.value()),
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
        return bad("foreign.msccl.element", fmt::format("duplicate thread block {}", id), child);
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
                      fmt::format("a step waits for step {} of thread block {}, which is missing", step.dep_step,
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
        return bad("foreign.msccl.element", fmt::format("found step {}, expected step {}", number, block.steps.size()),
                   child);
      Step step;
      step.byte = static_cast<int64_t>(child.offset_debug());
      const std::string_view type = child.attribute("type").value();
      const OpRow* const row = find_row(kOps, type);
      if (!row) return bad("foreign.msccl.attribute", fmt::format("unknown step type {}", quote(type)), child);
      step.op = row;
      if ((row->sends && block.send < 0) || (row->receives && block.recv < 0))
        return bad("foreign.msccl.connection", fmt::format("a step {} in a thread block without a connection", type),
                   child);
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

  Failure too_large(pugi::xml_node node) const {
    return fail(Code::bad_input, "foreign.large", fmt::format("buffers or moves of more than {} chunks", kMostChunks),
                {out_.file, static_cast<int64_t>(node.offset_debug())});
  }

  std::string_view text_;
  Algorithm& out_;
  int64_t all_chunks_ = 0, moved_ = 0;
};

}  // namespace

Result<void> parse(std::string_view text, Algorithm& out) { return Parser(text, out).run(); }

}  // namespace chakra::foreign::msccl
