#include "chakra/replay_fabric/session.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "chakra/replay_fabric/replay_fabric.h"

namespace chakra::replay_fabric {

using namespace std::chrono_literals;
using Clock = Pace::Clock;

namespace {

/// FNV-1a.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

FabricSession::FabricSession(const replay::World& world, replay::Rendezvous& rendezvous, Plans plans,
                             double bytes_per_s, std::string log)
    : world_(world),
      rendezvous_(rendezvous),
      plans_(std::move(plans)),
      link_{{bytes_per_s, {}}, {bytes_per_s, {}}, 0},
      log_(std::move(log), world.rank),
      peers_(static_cast<size_t>(world.ranks)) {}

Result<void> FabricSession::connect(const WireRow& row, const WireOptions& options) {
  CHAKRA_ASSIGN(wire_, row.open(world_, rendezvous_, options, *this));
  return {};
}

FabricSession::Key FabricSession::key_of(const replay::Operation& o) const {
  switch (o.kind) {
    case replay::Operation::Kind::collective: return {hash_of(fmt::format("group {}", o.group)), o.index};
    case replay::Operation::Kind::send:
      return {hash_of(fmt::format("{} {} {}", world_.rank, o.partner, o.tag)), o.index};
    case replay::Operation::Kind::receive: break;
  }
  return {hash_of(fmt::format("{} {} {}", o.partner, world_.rank, o.tag)), o.index};
}

// ---- operations
// ------------------------------------------------------------------------------------------------------

Result<void> FabricSession::start(const replay::Operation& operation, replay::Ticket ticket) {
  if (operation.kind != replay::Operation::Kind::collective &&
      !(operation.partner >= 0 && operation.partner < world_.ranks))
    return fail(Code::bad_input, "replay.fabric.ranks",
                fmt::format("{}: the job has no such rank", replay::describe(operation)));
  CHAKRA_ASSIGN(std::shared_ptr<const Prepared> prepared, plans_.prepare(operation));
  const Key key = key_of(operation);
  const auto [at, added] = active_.try_emplace(key);
  CHAKRA_ASSERT(added);
  Active& active = at->second;
  active.flight = std::make_unique<Flight>(operation, ticket, std::move(prepared));
  active.since = Clock::now();
  invite(key, active);
  if (const auto early = early_.find(key); early != early_.end()) {
    for (const auto& [rank, text] : early->second) CHAKRA_TRY(got_ready(rank, active, text));
    early_.erase(early);
  }
  CHAKRA_TRY(go_on(key));
  CHAKRA_TRY(pump());
  return {};
}

/// Tells those whose data may come now that this rank is ready for them.
void FabricSession::invite(Key key, Active& active) {
  // As much as a link carries while the invitation is on its way. With more, two rounds share this rank's link: TCP
  // shares unevenly, and the round that is late becomes later. With less, links stand still between small messages.
  constexpr uint64_t kAhead = 16 << 10;
  std::vector<int64_t> sources;
  active.flight->invite(kAhead, sources);
  for (const int64_t source : sources) post_text(source, Header::Kind::ready, key, active.flight->prepared().agreement);
}

/// Another rank has started the operation.
Result<void> FabricSession::got_ready(int64_t from, Active& active, std::string_view text) {
  const std::string& mine = active.flight->prepared().agreement;
  if (text != mine)
    return fail(Code::bad_input, "replay.comm.differ",
                fmt::format("in {}, rank {} runs {}, but rank {} runs {}; 'chakra check' finds the first difference",
                            replay::describe(active.flight->operation()), world_.rank, mine, from, text));
  active.ready.insert(from);
  const std::vector<MessageId> held = std::exchange(active.held, {});
  for (const MessageId send : held) post(active, send);
  return {};
}

/// Begins what can begin, and lets go of the operation when it has ended. `key` names one that is under way.
Result<void> FabricSession::go_on(Key key) {
  const auto at = active_.find(key);
  CHAKRA_ASSERT(at != active_.end());
  Active& active = at->second;
  std::vector<MessageId> sends;
  active.flight->advance(sends);
  for (const MessageId send : sends) post(active, send);
  if (active.flight->done()) {
    if (!active.told) ended_.push_back(active.flight->ticket());
    active_.erase(at);
  }
  return {};
}

/// Sends whose receiver has not come for long.
void FabricSession::end_old_sends() {
  constexpr auto kPatience = 50ms;
  for (auto& [key, active] : active_) {
    const bool waits =
        active.flight->operation().kind == replay::Operation::Kind::send && !active.held.empty() && !active.told;
    if (!waits || Clock::now() - active.since <= kPatience) continue;
    active.flight->keep_input();
    active.told = true;
    ended_.push_back(active.flight->ticket());
  }
}

// ---- what goes out
// ---------------------------------------------------------------------------------------------------

void FabricSession::post(Active& active, MessageId send) {
  const coll::PartTransfer& transfer = active.flight->send(send);
  const int64_t to = active.flight->rank_of(transfer);
  if (!active.ready.contains(to)) {
    active.held.push_back(send);
    return;
  }
  const Key key = key_of(active.flight->operation());
  Outgoing out{{Header::Kind::data, active.flight->prepared().parts[send.part].round, key.first, key.second, 0, 0},
               {},
               &active,
               send,
               {}};
  active.flight->pieces_of(send, out.pieces);
  peer(to).queue.push_back(std::move(out));
}

void FabricSession::post_text(int64_t to, Header::Kind kind, Key key, std::string text) {
  std::list<Outgoing>& queue = peer(to).queue;
  // Before all messages, but not before the entry that is under way.
  auto at = queue.begin();
  if (peer(to).busy) ++at;
  while (at != queue.end() && !at->active) ++at;
  Outgoing out{
      {kind, 0, key.first, key.second, static_cast<uint32_t>(text.size()), 0}, std::move(text), nullptr, {}, {}};
  queue.insert(kind == Header::Kind::bye ? queue.end() : at, std::move(out));
}

/// The next frame of the first entry. Requires one, and an idle wire.
Result<void> FabricSession::send_next(int64_t to) {
  Peer& p = peer(to);
  Outgoing& out = p.queue.front();
  std::span<const std::byte> payload = std::as_bytes(std::span(out.text));
  if (out.active && !out.pieces.empty()) {
    payload = out.pieces[out.piece].subspan(out.offset);
    payload = payload.first(std::min<size_t>({payload.size(), link_.out.frame_bytes(), wire_->most_bytes()}));
    out.offset += payload.size();
    if (out.offset == out.pieces[out.piece].size()) {
      ++out.piece;
      out.offset = 0;
    }
  }
  out.begun = true;
  out.header.bytes = static_cast<uint32_t>(payload.size());
  p.busy = true;
  link_.out.take(Clock::now(), payload.size());
  return wire_->send(to, out.header, payload);
}

/// A frame has left: its message is whole, or has its next turn after the others to this rank.
Result<void> FabricSession::settle(int64_t to) {
  Peer& p = peer(to);
  CHAKRA_ASSERT(p.busy && !p.queue.empty());
  p.busy = false;
  link_.moved_bytes += sizeof(Header) + p.queue.front().header.bytes;
  if (!p.queue.front().whole()) {
    p.queue.splice(p.queue.end(), p.queue, p.queue.begin());
    return {};
  }
  const Outgoing out = std::move(p.queue.front());
  p.queue.pop_front();
  if (!out.active) return {};
  out.active->flight->left(out.message);
  return go_on({out.header.operation, out.header.index});
}

/// Hands frames to the wire. True if there may be more to hand over at once.
Result<bool> FabricSession::pump() {
  constexpr int kFramesAtATime = 64;
  int frames = 0;
  for (bool moved = true; moved && frames < kFramesAtATime;) {
    moved = false;
    for (size_t i = 0; i < left_.size(); ++i) CHAKRA_TRY(settle(left_[i]));
    left_.clear();
    for (int64_t rank = 0; rank < world_.ranks; ++rank) {
      if (peer(rank).queue.empty() || peer(rank).busy || !wire_->idle(rank)) continue;
      if (peer(rank).queue.front().active && !link_.out.may(Clock::now())) continue;
      CHAKRA_TRY(send_next(rank));
      moved = true;
      ++frames;
    }
  }
  for (size_t i = 0; i < left_.size(); ++i) CHAKRA_TRY(settle(left_[i]));
  left_.clear();
  return frames >= kFramesAtATime;
}

// ---- what comes
// ------------------------------------------------------------------------------------------------------

Result<std::span<std::byte>> FabricSession::room(int64_t from, const Header& header) {
  const auto kind = static_cast<uint32_t>(header.kind);
  if (kind > static_cast<uint32_t>(Header::Kind::bye))
    return fail(Code::bad_input, "replay.fabric.frame",
                fmt::format("rank {} sent rank {} a frame of an unknown kind, {}", from, world_.rank, kind));
  if (header.kind != Header::Kind::data) {
    peer(from).text.resize(header.bytes);
    return std::as_writable_bytes(std::span(peer(from).text));
  }
  const auto wrong = [&](std::string_view why) {
    return fail(Code::bad_input, "replay.fabric.frame",
                fmt::format("rank {} sent {} bytes of round {} to rank {}, {}", from, header.bytes, header.round,
                            world_.rank, why));
  };
  const auto at = active_.find({header.operation, header.index});
  if (at == active_.end()) return wrong("which does not run this operation");
  const std::optional<MessageId> id = at->second.flight->find_receive(from, header.round);
  if (!id)
    return wrong(
        fmt::format("which does not expect this message in {}", replay::describe(at->second.flight->operation())));
  const std::span<std::byte> room = at->second.flight->room(*id);
  if (room.size() < header.bytes)
    return wrong(
        fmt::format("which expects {} more in {}", room.size(), replay::describe(at->second.flight->operation())));
  at->second.first_ns.try_emplace({id->part, id->transfer}, now_ns());
  return room.first(header.bytes);
}

Result<void> FabricSession::landed(int64_t from, const Header& header) {
  const Key key{header.operation, header.index};
  const auto at = active_.find(key);
  switch (header.kind) {
    case Header::Kind::bye: peer(from).bye = true; return {};
    case Header::Kind::ready:
      if (at != active_.end()) return got_ready(from, at->second, peer(from).text);
      early_[key][from] = peer(from).text;
      return {};
    case Header::Kind::data: break;
  }
  CHAKRA_ASSERT(at != active_.end());
  Active& active = at->second;
  const std::optional<MessageId> id = active.flight->find_receive(from, header.round);
  CHAKRA_ASSERT(id);
  const bool whole = active.flight->came(*id, header.bytes);
  invite(key, active);
  if (!whole) return {};
  const auto first = active.first_ns.find({id->part, id->transfer});
  log_.add(active.flight->operation(), header.round, from, active.flight->receive(*id).bytes, first->second);
  active.first_ns.erase(first);
  return go_on(key);
}

Result<void> FabricSession::lost(int64_t rank, std::string_view why) {
  if (!peer(rank).bye && !lost_) lost_ = Lost{rank, std::string(why)};
  return {};
}

/// The rendezvous knows which rank died first, and why one gave up; this rank may only have seen what followed.
Result<void> FabricSession::lost_for_good() {
  std::vector<replay::Met> met;
  for (const auto end = Clock::now() + 1s; Clock::now() < end;) CHAKRA_TRY(rendezvous_.poll(100ms, met));
  return fail(Code::stuck, "replay.rank.died",
              fmt::format("rank {} has lost rank {}: {}", world_.rank, lost_->rank, lost_->why));
}

// ---- time
// ------------------------------------------------------------------------------------------------------------

/// Until the paces let something pass.
std::chrono::nanoseconds FabricSession::until_free() const {
  const Clock::time_point now = Clock::now();
  std::chrono::nanoseconds wait = 1h;
  if (!link_.out.may(now)) wait = std::min<std::chrono::nanoseconds>(wait, link_.out.free - now);
  if (!link_.in.may(now)) wait = std::min<std::chrono::nanoseconds>(wait, link_.in.free - now);
  return wait;
}

Result<void> FabricSession::progress(std::chrono::nanoseconds patience, std::vector<replay::Ticket>& ended) {
  const Clock::time_point end = Clock::now() + patience;
  std::vector<replay::Met> met;
  for (;;) {
    CHAKRA_ASSIGN(const bool more, pump());
    if (lost_) return lost_for_good();
    end_old_sends();
    CHAKRA_TRY(rendezvous_.poll(0ns, met));
    const std::chrono::nanoseconds left = std::max<std::chrono::nanoseconds>(end - Clock::now(), 0ns);
    const bool wait = !more && ended_.empty();
    CHAKRA_TRY(wire_->progress(wait ? std::min(left, until_free()) : 0ns, rendezvous_.descriptor()));
    if (!ended_.empty() || left == 0ns) break;
  }
  CHAKRA_TRY(pump());
  ended.insert(ended.end(), ended_.begin(), ended_.end());
  ended_.clear();
  return {};
}

Result<void> FabricSession::close() {
  CHAKRA_ASSERT(active_.empty());
  for (int64_t rank = 0; rank < world_.ranks; ++rank)
    if (rank != world_.rank) post_text(rank, Header::Kind::bye, {}, "");
  const auto open = [&](int64_t rank) { return rank != world_.rank && (!peer(rank).bye || !peer(rank).queue.empty()); };
  const Clock::time_point end = Clock::now() + world_.timeout;
  std::vector<replay::Ticket> ended;
  for (;;) {
    int64_t rank = 0;
    while (rank < world_.ranks && !open(rank)) ++rank;
    if (rank == world_.ranks) break;
    if (Clock::now() > end)
      return fail(Code::stuck, "replay.fabric.timeout",
                  fmt::format("rank {} is done, but rank {} has not reported its end for {} ms", world_.rank, rank,
                              world_.timeout.count()));
    CHAKRA_TRY(progress(10ms, ended));
  }
  // What this rank sent last is at the others, too, when all are here.
  CHAKRA_TRY(rendezvous_.barrier());
  wire_.reset();
  return log_.write();
}

void FabricSession::abort(std::string_view) { wire_.reset(); }

// ---- settings
// --------------------------------------------------------------------------------------------------------

namespace {

/// "200Mbit/s", "25GB/s", also without "/s"; units of 1,000.
bool parse_rate(std::string_view text, double& bytes_per_s) {
  struct Unit {
    std::string_view name;
    double bytes_per_s;
  };
  static constexpr std::array<Unit, 8> kUnits{{{"gbit", 125e6},
                                               {"mbit", 125e3},
                                               {"kbit", 125},
                                               {"bit", 0.125},
                                               {"gb", 1e9},
                                               {"mb", 1e6},
                                               {"kb", 1e3},
                                               {"b", 1}}};
  std::string rest = to_lower(text);
  if (rest.ends_with("/s")) rest.resize(rest.size() - 2);
  for (const Unit& unit : kUnits)
    if (rest.ends_with(unit.name)) {
      rest.resize(rest.size() - unit.name.size());
      double number = 0;
      if (!parse_decimal(rest, number) || !(number > 0)) return false;
      bytes_per_s = number * unit.bytes_per_s;
      return true;
    }
  return false;
}

/// A switch, where no network is given: plans need one to be chosen for.
net::Fabric default_network(const replay::World& world, double bytes_per_s) {
  constexpr double kGibPerS = 1, kLatencyNs = 20'000;
  const double rate = bytes_per_s > 0 ? bytes_per_s / 1073741824.0 : kGibPerS;
  return {{{net::TopologyKind::switch_, world.ranks, rate, kLatencyNs}}};
}

Result<const WireRow*> find_wire(std::string_view name) {
  std::string names;
  for (const WireRow& row : kWires) {
    if (row.name == name) return &row;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  }
  return fail(Code::usage, "cli.usage", fmt::format("--backend-option wire={}: expected one of {}", name, names));
}

}  // namespace

Result<std::unique_ptr<replay::Session>> open_fabric(const replay::World& world, replay::Rendezvous& rendezvous,
                                                     const replay::Settings& settings) {
  const auto given = [&](std::string_view name) { return replay::setting(settings, name); };
  double bytes_per_s = 0;
  if (settings.contains("rate") && !parse_rate(given("rate"), bytes_per_s))
    return fail(Code::usage, "cli.usage",
                fmt::format("--backend-option rate={}: expected a rate such as 200Mbit/s or 25GB/s", given("rate")));
  net::Fabric network = default_network(world, bytes_per_s);
  if (settings.contains("network")) {
    CHAKRA_ASSIGN(network, net::load_fabric(given("network")));
    network.reductions.clear();  // ranks of a real run sum by themselves
  }
  CHAKRA_ASSIGN(coll::Selection selection, coll::parse_selection(given("collectives")));
  CHAKRA_ASSIGN(const WireRow* wire, find_wire(replay::setting(settings, "wire", kWires.front().name)));
  auto session = std::make_unique<FabricSession>(world, rendezvous, Plans(std::move(network), std::move(selection)),
                                                 bytes_per_s, given("log"));
  CHAKRA_TRY(session->connect(*wire, {given("address"), given("provider")}));
  return session;
}

}  // namespace chakra::replay_fabric
