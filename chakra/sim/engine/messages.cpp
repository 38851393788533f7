#include "chakra/sim/engine/messages.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/times.h"

namespace chakra::sim {
namespace {

using trace::NodeId;
using trace::Trace;

Failure no_peer(const Trace& t, NodeId n) {
  return fail(Code::bad_input, "sim.comm.peer",
              fmt::format("node {} of rank {} communicates, but has no partner rank", t.id[n], t.rank), {t.file});
}

}  // namespace

Result<void> Messages::send(ActorId a, NodeId n) {
  const Trace& t = run_.job.trace(a);
  const net::Fabric& fabric = run_.in.fabric;
  Agenda& agenda = run_.agenda;
  const uint32_t id = run_.job.match_of(a, n);
  if (id == trace::kNoRow) return no_peer(t, n);
  const int64_t to = run_.job.folded.peer[a][t.comm_row[n]];
  if (to >= fabric.size())
    return fail(Code::bad_input, "sim.fabric.small",
                fmt::format("node {} of rank {} sends to rank {}, but the network has {} ranks", t.id[n], t.rank, to,
                            fabric.size()),
                {t.file});
  State& m = states_[id];
  const match::Message& message = run_.job.matching.messages[id];
  m.sent = true;
  if (m.posted) now_moving(message.recv);
  if (const Transfers::Row* given = run_.transfer(a, n)) {
    if (!given->waits()) agenda.end_at(a, n, add_saturated(agenda.now, given->own_ps));
    meet(id);
    return {};
  }
  if (run_.traffic) {
    run_.traffic->send(agenda.now, id, t.rank, to, message.bytes, run_.job.folded.count[a]);
    return {};
  }
  const net::Path path = fabric.alone(t.rank, to);
  const double factor = run_.transfer_factor(a, n);
  const Picoseconds left =
      add_saturated(agenda.now, times(net::serialization(message.bytes, path.bytes_per_s), factor));
  m.there = true;
  m.arrival = add_saturated(left, times(path.latency_ps, factor));
  agenda.end_at(a, n, left);
  note(a, n, message.bytes, left);
  deliver(id);
  return {};
}

void Messages::note(ActorId a, NodeId n, uint64_t bytes, Picoseconds left) {
  const uint32_t slot = run_.job.folded.slot[a][run_.job.trace(a).comm_row[n]];
  const auto [known, added] =
      kind_of_.try_emplace(std::tuple(uint32_t{a}, slot, bytes), static_cast<uint32_t>(kinds_.size()));
  if (added) kinds_.push_back({a, slot, bytes, {}});
  kinds_[known->second].spans.push_back({run_.agenda.now, left});
}

Result<void> Messages::receive(ActorId a, NodeId n) {
  const uint32_t id = run_.job.match_of(a, n);
  if (id == trace::kNoRow) return no_peer(run_.job.trace(a), n);
  State& m = states_[id];
  m.posted = true;
  ++run_.actors[a].account.waiting;
  if (m.sent) now_moving({a, n});
  if (run_.transfer(a, n)) meet(id);
  else deliver(id);
  return {};
}

/// A message whose time is given: it moves when both ends have come.
void Messages::meet(uint32_t id) {
  State& m = states_[id];
  if (!m.sent || !m.posted) return;
  const match::Message& message = run_.job.matching.messages[id];
  for (const match::NodeRef& end : {message.send, message.recv})
    if (const Transfers::Row* given = run_.transfer(end.rank, end.node); given && given->waits())
      run_.agenda.end_at(end.rank, end.node, add_saturated(run_.agenda.now, given->after()));
  if (const Transfers::Row* given = run_.transfer(message.recv.rank, message.recv.node))
    m.arrival = add_saturated(run_.agenda.now, given->after());
}

/// A receive waits for the network now, not for the sender any more.
void Messages::now_moving(const match::NodeRef& recv) {
  Account& account = run_.actors[recv.rank].account;
  account.up_to(run_.agenda.now);
  --account.waiting;
  account.start_moving(recv.node, run_.exposed.number(ExposedKinds::kMessage));
}

void Messages::deliver(uint32_t id) {
  const State& m = states_[id];
  if (!m.there || !m.posted) return;
  const match::NodeRef& to = run_.job.matching.messages[id].recv;
  run_.agenda.end_at(to.rank, to.node, std::max(m.arrival, run_.agenda.now));
}

void Messages::left(uint32_t id) {
  const match::NodeRef& from = run_.job.matching.messages[id].send;
  run_.agenda.end_at(from.rank, from.node, run_.agenda.now);
}

void Messages::arrived(uint32_t id) {
  states_[id].there = true;
  states_[id].arrival = run_.agenda.now;
  deliver(id);
}

}  // namespace chakra::sim
