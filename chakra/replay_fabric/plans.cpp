#include "chakra/replay_fabric/plans.h"

#include <fmt/core.h>

#include "chakra/base/join.h"
#include "chakra/replay/replay.h"

namespace chakra::replay_fabric {

using trace::CommType;

namespace {

bool reduces(CommType type) {
  return type == CommType::all_reduce || type == CommType::reduce || type == CommType::reduce_scatter ||
         type == CommType::reduce_scatter_block;
}

std::shared_ptr<const Prepared> message(const replay::Operation& operation) {
  Prepared prepared;
  coll::Part part;
  const coll::PartTransfer transfer{0, replay::whole_bytes(operation), {}};
  const bool sends = operation.kind == replay::Operation::Kind::send;
  (sends ? part.sends : part.receives).push_back(transfer);
  prepared.parts.push_back(std::move(part));
  prepared.agreement = fmt::format("a message of {} bytes", transfer.bytes);
  return std::make_shared<const Prepared>(std::move(prepared));
}

}  // namespace

Result<std::shared_ptr<const Prepared>> Plans::prepare(const replay::Operation& operation) {
  if (operation.kind != replay::Operation::Kind::collective) return message(operation);
  if (!operation.in_split.empty() || !operation.out_split.empty()) return make(operation);
  const std::string key = fmt::format("{} {} {} {} {} {} {} {}", static_cast<int>(operation.type), operation.in_bytes,
                                      operation.out_bytes, operation.root, operation.place, operation.dtype,
                                      static_cast<int>(operation.reduce), join(operation.members, ","));
  std::shared_ptr<const Prepared>& kept = kept_[key];
  if (!kept) {
    CHAKRA_ASSIGN(kept, make(operation));
  }
  return kept;
}

Result<std::shared_ptr<const Prepared>> Plans::make(const replay::Operation& operation) const {
  const auto n = static_cast<uint32_t>(operation.members.size());
  if (operation.type == CommType::unknown)
    return fail(Code::bad_input, "replay.comm.type", fmt::format("{} has no type", replay::describe(operation)));
  for (const int64_t rank : operation.members)
    if (!network_.has(rank))
      return fail(Code::bad_input, "replay.fabric.ranks",
                  fmt::format("rank {} of {} is not in the network, which has {} ranks", rank,
                              replay::describe(operation), network_.size()));
  const uint64_t bytes = replay::whole_bytes(operation);
  const replay::ElementRow& element = replay::element_of(operation.dtype);
  if (reduces(operation.type) &&
      (bytes % element.bytes || (!element.ordered && operation.reduce > replay::ReduceOp::average)))
    return fail(Code::bad_input, "replay.fabric.bytes",
                fmt::format("{} of {} bytes cannot be reduced as '{}' of {} bytes each by {}",
                            replay::describe(operation), bytes, operation.dtype, element.bytes,
                            replay::kReduceOpNames[static_cast<size_t>(operation.reduce)]));
  const coll::Place place{&network_, operation.members};
  Prepared prepared;
  if (!operation.in_split.empty() || !operation.out_split.empty()) {
    CHAKRA_TRY(make_uneven(operation, place, prepared));
    return std::make_shared<const Prepared>(std::move(prepared));
  }
  const coll::Operation op{operation.type, bytes, operation.root, {}, reduces(operation.type) ? element.bytes : 1};
  coll::Choice choice = coll::choose(selection_, op, place);
  const coll::Reordered there(op, place, choice.order);
  uint32_t member = operation.place;
  for (uint32_t p = 0; p < choice.order.size(); ++p)
    if (choice.order[p] == operation.place) member = p;
  prepared.agreement = fmt::format("{} of {} bytes by {} among {}, root {}, {} of elements of {} bytes",
                                   trace::name(operation.type), bytes, choice.algorithm->name, n, operation.root,
                                   replay::kReduceOpNames[static_cast<size_t>(operation.reduce)], op.element);
  const coll::Outline outline = choice.algorithm->outline(there.op, there.place);
  prepared.layout = {outline.units, outline.unit_bytes, choice.order, {}};
  prepared.parts = coll::parts_of(*choice.algorithm, there.op, there.place, member);
  return std::make_shared<const Prepared>(std::move(prepared));
}

/// A rank knows its own row and column of the sizes, which is all that plans need in which nobody passes on what is not
/// for him.
Result<void> Plans::make_uneven(const replay::Operation& operation, const coll::Place& place,
                                Prepared& prepared) const {
  const uint32_t n = place.members(), me = operation.place;
  if (operation.type != CommType::all_to_all || operation.in_split.size() != n || operation.out_split.size() != n)
    return fail(Code::bad_input, "replay.fabric.splits",
                fmt::format("{} has {} sizes to send and {} to receive for its {} members", replay::describe(operation),
                            operation.in_split.size(), operation.out_split.size(), n));
  std::vector<uint64_t>& splits = prepared.layout.splits;
  splits.resize(size_t{n} * n);
  for (uint32_t j = 0; j < n; ++j) {
    splits[size_t{j} * n + me] = operation.out_split[j];
    splits[size_t{me} * n + j] = operation.in_split[j];
  }
  const coll::Operation op{operation.type, 0, 0, splits};
  const coll::AlgorithmRow* row = coll::by_rule(selection_, op, place);
  if (!row) row = coll::find_algorithm("pairwise");
  if (row->name == "bruck")
    return fail(Code::bad_input, "replay.fabric.splits",
                fmt::format("bruck does not support {}, which has individual sizes; choose pairwise or direct",
                            replay::describe(operation)));
  prepared.agreement =
      fmt::format("{} with individual sizes by {} among {}", trace::name(operation.type), row->name, n);
  prepared.layout.units = splits.size();
  prepared.parts = coll::parts_of(*row, op, place, me);
  return {};
}

}  // namespace chakra::replay_fabric
