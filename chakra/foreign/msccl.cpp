// MSCCL algorithms as jobs. Before anything is made of one, it is carried out on symbols and has to deliver what its
// collective promises (docs/reference/formats/msccl.md).
#include "chakra/foreign/msccl.h"
#include "chakra/filetype/filetype.h"
#include "chakra/foreign/rows.h"

#include <fmt/core.h>

#include <algorithm>

namespace chakra::foreign {
namespace {

using msccl::Algorithm;
using msccl::Block;
using msccl::Step;
using trace::Builder;
using trace::NodeId;
using trace::NodeType;
using trace::TraceSet;

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
    const uint32_t lane = builder.lane({trace::Lane::Kind::stream, 0, block.id});
    NodeId previous = trace::kNoNode;
    std::vector<std::pair<int64_t, int64_t>> pending;  // of steps that became no node
    for (size_t s = 0; s < block.steps.size(); ++s) {
      const Step& step = block.steps[s];
      const auto add = [&](NodeType type) {
        const NodeId node = builder.add(
            t.size(), t.strings.intern(fmt::format("{}_tb{}_step{}", trace::name(type), block.id, s)), type);
        t.lane.edit(node) = lane;
        t.flags.edit(node) |= trace::kSaysCpuOrNot;  // a stream is a device's
        if (previous != trace::kNoNode) builder.dep(node, previous, kGiven);
        for (const auto& [b, at] : pending) waits.push_back({node, b, at});
        pending.clear();
        previous = node;
        if (type == NodeType::comp) {
          t.dur_ps.edit(node) = step.op->op == msccl::Op::nop ? 0 : options.default_run_time;
          t.flags.edit(node) |= trace::kHasDuration;
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
      if (step.op->reduces || step.op->op == msccl::Op::copy || (step.op->op == msccl::Op::nop && step.awaited))
        add(NodeType::comp);
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

bool is_msccl(std::string_view head) { return filetype::trimmed(head).starts_with('<') && contains(head, "<algo"); }

Result<TraceSet> read_msccl(ByteSource source, const Options& options, Findings& findings) {
  Algorithm algorithm;
  algorithm.file = source.file();
  CHAKRA_ASSIGN(const std::string text, read_all(std::move(source)));
  CHAKRA_TRY(msccl::parse(text, algorithm));
  CHAKRA_TRY(msccl::verify(algorithm));
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
