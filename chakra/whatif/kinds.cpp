// Which kind of time a node, or a piece of the critical path, is; the names of kinds.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/whatif/nodes.h"
#include "chakra/whatif/whatif.h"

namespace chakra::whatif {
namespace {

using trace::CommType;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return small;
}

template <class Rows>
std::string names_of(const Rows& rows) {
  std::string names;
  for (const auto& row : rows) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  return names;
}

bool is_copy(std::string_view text) { return work::uses_link(work::copy_route(text)); }

}  // namespace

std::string name(const TimeClass& time) {
  if (time.kind == Kind::compute && time.work) return std::string(kWorks[static_cast<size_t>(*time.work)].name);
  if (time.kind != Kind::collective) return std::string(kKinds[static_cast<size_t>(time.kind)].name);
  std::string text = time.type == CommType::unknown ? std::string(kKinds[static_cast<size_t>(time.kind)].name)
                                                    : in_small_letters(trace::name(time.type));
  if (time.group != "*") text += ":" + time.group;
  return text;
}

Selector selector_of(const TimeClass& time) {
  Selector selector{bit(time.kind), time.work ? bit(*time.work) : 0, {}, {}};
  if (time.kind != Kind::collective) return selector;
  if (time.type != CommType::unknown) selector.type = time.type;
  if (time.group != "*") selector.group = time.group;
  return selector;
}

// `whatif.kind.unknown` (2): a kind of time that does not exist
Result<Selector> parse_selector(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  Selector selector;
  for (size_t k = 0; k < kKinds.size(); ++k)
    if (kKinds[k].name == kind) selector.kinds = 1u << k;
  for (size_t w = 0; w < kWorks.size(); ++w)
    if (kWorks[w].name == kind) selector.kinds = bit(Kind::compute), selector.works = 1u << w;
  for (const SumRow& sum : kSums)
    if (sum.name == kind) selector.kinds = sum.kinds;
  for (size_t type = 0; type < trace::kCommTypeNames.size(); ++type)
    if (in_small_letters(trace::kCommTypeNames[type]) == kind) {
      selector.kinds = bit(Kind::collective);
      selector.type = static_cast<CommType>(type);
    }
  if (selector.kinds == 0)
    return fail(
        Code::usage, "whatif.kind.unknown",
        fmt::format("{} is not a kind of time; there are {}, {}, of compute {}, and collectives as all_reduce or "
                    "all_reduce:GROUP",
                    quote(kind), names_of(kKinds), names_of(kSums), names_of(kWorks)));
  if (colon == std::string_view::npos) return selector;
  if (selector.kinds != bit(Kind::collective))
    return fail(Code::usage, "whatif.kind.unknown",
                fmt::format("{} names a group, which only collectives have; write all_reduce:GROUP or collective:GROUP",
                            quote(text)));
  selector.group = std::string(text.substr(colon + 1));
  return selector;
}

std::optional<TimeClass> class_of(const sim::PathPiece& piece) {
  using Piece = sim::PathPiece::Kind;
  const auto of = [](Kind kind) { return TimeClass{kind, CommType::unknown, "*", {}}; };
  switch (piece.kind) {
    case Piece::compute: return of(is_copy(piece.name) ? Kind::copy : Kind::compute);
    case Piece::memory: return of(Kind::memory);
    case Piece::collective: return TimeClass{Kind::collective, piece.type, piece.group, {}};
    case Piece::message: return of(Kind::message);
    case Piece::lag: return of(Kind::lag);
    case Piece::unrecorded: return of(Kind::unrecorded);
    case Piece::storage: return of(Kind::storage);
    case Piece::start: return std::nullopt;
    case Piece::host: break;
  }
  if (piece.name == trace::kInitialCondition) return std::nullopt;
  if (piece.name == trace::kHostGap) return of(Kind::host_gap);
  return of(piece.name == trace::kSyncRemainder ? Kind::sync_remainder : Kind::host);
}

// ---- nodes -----------------------------------------------------------------------------------------

/// As sim charges tiers (docs/reference/formats/system.md).
bool NodeKinds::is_moved(NodeId n) const {
  if (!system_ || system_->tiers.empty()) return false;
  const trace::StorageUse use = storage_.of(n);
  return use.tier || system_->tier_of.contains(use.kind) ||
         system_->tier_of.contains(device::kOtherIo[t_.type[n] == NodeType::mem_load ? 0 : 1]);
}

NodeKinds::NodeKinds(const Trace& t, const device::System* system) : t_(t), system_(system), storage_(t) {
  for (NodeId n{0}; n < t.size() && !has_device_; ++n) has_device_ = t.type[n] == NodeType::comp && t.on_device(n);
}

std::optional<Kind> NodeKinds::of(NodeId n) const {
  if (trace::is_piece_of_communication(t_, n)) return std::nullopt;
  switch (t_.type[n]) {
    case NodeType::coll: return Kind::collective;
    case NodeType::send:
    case NodeType::recv: return Kind::message;
    case NodeType::mem_load:
    case NodeType::mem_store: return is_moved(n) ? Kind::storage : Kind::memory;
    case NodeType::comp: break;
    default: return std::nullopt;
  }
  const std::string_view text = t_.name_of(n);
  if (text == trace::kUnrecorded) return Kind::unrecorded;
  if (text == trace::kInitialCondition) return std::nullopt;
  if (text == trace::kHostGap) return Kind::host_gap;
  if (text == trace::kSyncRemainder) return Kind::sync_remainder;
  if (has_device_ && !t_.on_device(n)) return Kind::host;
  return is_copy(text) ? Kind::copy : Kind::compute;
}

}  // namespace chakra::whatif
