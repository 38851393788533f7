#include "chakra/replay_fabric/flight.h"

#include <algorithm>
#include <cstring>

#include "chakra/replay/replay.h"

namespace chakra::replay_fabric {

Flight::Flight(const replay::Operation& operation, replay::Ticket ticket, std::shared_ptr<const Prepared> prepared)
    : operation_(operation), ticket_(ticket), prepared_(std::move(prepared)) {
  if (operation_.kind == replay::Operation::Kind::collective && operation_.type != trace::CommType::barrier)
    units_ = std::make_unique<Units>(operation_, prepared_->layout);
  const std::vector<coll::Part>& parts = prepared_->parts;
  states_.resize(parts.size());
  for (uint32_t p = 0; p < parts.size(); ++p) {
    states_[p].sends_left = static_cast<uint32_t>(parts[p].sends.size());
    states_[p].receives_left = static_cast<uint32_t>(parts[p].receives.size());
    states_[p].coming.resize(parts[p].receives.size());
    if (parts[p].lane >= lanes_.size()) lanes_.resize(parts[p].lane + 1);
    lanes_[parts[p].lane].parts.push_back(p);
  }
  if (parts.empty() && units_) units_->deliver();
}

int64_t Flight::rank_of(const coll::PartTransfer& transfer) const {
  if (operation_.kind != replay::Operation::Kind::collective) return operation_.partner;
  return operation_.members[prepared_->layout.member(transfer.other)];
}

void Flight::invite(uint64_t ahead, std::vector<int64_t>& ranks) {
  for (Lane& lane : lanes_)
    while (lane.invited < lane.parts.size() && lane.due <= ahead) {
      const uint32_t p = lane.parts[lane.invited++];
      const coll::Part& part = prepared_->parts[p];
      states_[p].invited = true;
      for (uint32_t t = 0; t < part.receives.size(); ++t) {
        lane.due += part.receives[t].bytes - states_[p].coming[t].count;
        const int64_t source = rank_of(part.receives[t]);
        if (invited_.insert(source).second) ranks.push_back(source);
      }
    }
}

bool Flight::may_begin(const coll::Part& part) const {
  return (part.before < 0 || states_[static_cast<size_t>(part.before)].done) &&
         (part.after < 0 || states_[static_cast<size_t>(part.after)].done);
}

void Flight::advance(std::vector<MessageId>& sends) {
  const size_t done_before = parts_done_;
  for (bool moved = true; moved;) {
    moved = false;
    for (Lane& lane : lanes_)
      while (lane.next < lane.parts.size()) {
        const uint32_t p = lane.parts[lane.next];
        State& state = states_[p];
        if (!state.begun && may_begin(prepared_->parts[p])) {
          state.begun = true;
          for (uint32_t t = 0; t < prepared_->parts[p].sends.size(); ++t) sends.push_back({p, t});
        }
        if (!state.begun || state.sends_left > 0 || state.receives_left > 0) break;
        finish(p);
        ++lane.next;
        moved = true;
      }
  }
  if (done() && parts_done_ > done_before && units_) units_->deliver();
}

/// Combines and stores what has come in the part's round.
void Flight::finish(uint32_t p) {
  const coll::Part& part = prepared_->parts[p];
  State& state = states_[p];
  for (uint32_t t = 0; t < part.receives.size(); ++t) {
    if (state.coming[t].bytes) store(part.receives[t], state.coming[t].bytes.get());
    state.coming[t].bytes.reset();
  }
  state.done = true;
  ++parts_done_;
}

void Flight::store(const coll::PartTransfer& transfer, const std::byte* bytes) {
  const replay::ElementRow& element = replay::element_of(operation_.dtype);
  std::vector<std::span<std::byte>> pieces;
  for (const coll::Move& move : transfer.moves) {
    pieces.clear();
    units_->pieces_of(move, pieces);
    for (const std::span<std::byte> piece : pieces) {
      if (move.reduce) element.combine(operation_.reduce, piece, {bytes, piece.size()});
      else std::memcpy(piece.data(), bytes, piece.size());
      bytes += piece.size();
    }
  }
}

void Flight::pieces_of(MessageId id, std::vector<std::span<const std::byte>>& pieces) {
  if (!units_) {
    if (!operation_.in.empty()) pieces.push_back(operation_.in);
    return;
  }
  std::vector<std::span<std::byte>> found;
  for (const coll::Move& move : send(id).moves) units_->pieces_of(move, found);
  pieces.assign(found.begin(), found.end());
}

void Flight::left(MessageId id) {
  CHAKRA_ASSERT(states_[id.part].sends_left > 0);
  --states_[id.part].sends_left;
}

void Flight::keep_input() {
  CHAKRA_ASSERT(operation_.kind == replay::Operation::Kind::send);
  kept_.assign(operation_.in.begin(), operation_.in.end());
  operation_.in = kept_;
}

std::optional<MessageId> Flight::find_receive(int64_t from, uint32_t round) const {
  const std::vector<coll::Part>& parts = prepared_->parts;
  const auto part =
      std::lower_bound(parts.begin(), parts.end(), round, [](const coll::Part& p, uint32_t r) { return p.round < r; });
  if (part == parts.end() || part->round != round) return {};
  for (uint32_t t = 0; t < part->receives.size(); ++t)
    if (rank_of(part->receives[t]) == from) return MessageId{static_cast<uint32_t>(part - parts.begin()), t};
  return {};
}

std::span<std::byte> Flight::room(MessageId id) {
  Coming& coming = states_[id.part].coming[id.transfer];
  const uint64_t bytes = receive(id).bytes;
  if (!units_) return operation_.out.subspan(std::min<size_t>(coming.count, operation_.out.size()));
  if (!coming.bytes && coming.count < bytes) coming.bytes = std::make_unique_for_overwrite<std::byte[]>(bytes);
  return {coming.bytes.get() + coming.count, bytes - coming.count};
}

bool Flight::came(MessageId id, uint64_t bytes) {
  State& state = states_[id.part];
  Coming& coming = state.coming[id.transfer];
  coming.count += bytes;
  if (state.invited) lanes_[prepared_->parts[id.part].lane].due -= bytes;
  CHAKRA_ASSERT(coming.count <= receive(id).bytes && !coming.whole);
  if (coming.count < receive(id).bytes) return false;
  coming.whole = true;
  --state.receives_left;
  return true;
}

}  // namespace chakra::replay_fabric
