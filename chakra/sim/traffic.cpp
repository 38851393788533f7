#include "chakra/sim/traffic.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <utility>

namespace chakra::sim {

namespace {
std::variant<net::FluidNetwork, net::PacketNetwork> make_network(const net::Fabric& fabric, Congestion congestion,
                                                                 net::PacketOptions options) {
  CHAKRA_ASSERT(congestion == Congestion::fluid || congestion == Congestion::packet);
  if (congestion == Congestion::fluid) return net::FluidNetwork(fabric);
  options.report_left = true;
  return net::PacketNetwork(fabric, options);
}
}  // namespace

Traffic::Traffic(const net::Fabric& fabric, Congestion congestion, net::PacketOptions options, const LinkClasses* links)
    : fabric_(fabric), network_(make_network(fabric, congestion, options)), links_(links) {
  CHAKRA_ASSERT(!links || congestion == Congestion::fluid);
}

void Traffic::add(uint32_t collective, const coll::Plan& plan, std::span<const uint32_t> order,
                  std::span<const int64_t> ranks, uint64_t flow) {
  const uint32_t n = plan.members;
  coll::assert_whole(plan);
  CHAKRA_ASSERT(ranks.size() == n);
  CHAKRA_ASSERT(order.empty() || order.size() == n);
  Run& run = new_run(collective, plan, n);
  run.ranks.assign(ranks.begin(), ranks.end());
  run.order.assign(order.begin(), order.end());
  run.place.resize(order.size());
  for (uint32_t p = 0; p < order.size(); ++p) {
    run.ranks[p] = ranks[order[p]];
    run.place[order[p]] = p;
  }
  run.flow = flow;
  run.first_transfer.resize(plan.rounds.size());
  run.open.assign(plan.rounds.size() * n, 1);
  for (uint32_t r = 0; r < plan.rounds.size(); ++r) {
    coll::Round& round = run.plan.rounds[r];
    uint32_t* open = run.open.data() + size_t{r} * n;
    coll::each_transfer(plan, round, [&](uint32_t from, uint32_t to, uint64_t) {
      ++open[from];
      ++open[to];
    });
    if (const coll::Rows rows(plan, round); round.together()) run.missing[r].assign(rows.count(), rows.extent);
    if (round.list.empty()) continue;
    std::stable_sort(round.list.begin(), round.list.end(),
                     [](const coll::Transfer& a, const coll::Transfer& b) { return a.from < b.from; });
    std::vector<uint32_t>& first = run.first_transfer[r];
    first.assign(n + 1, 0);
    for (const coll::Transfer& t : round.list) ++first[t.from + 1];
    for (uint32_t m = 0; m < n; ++m) first[m + 1] += first[m];
  }
}

void Traffic::add(uint32_t collective, const coll::Plan& plan, std::shared_ptr<const Course> course) {
  CHAKRA_ASSERT(links_ && course->rows.size() == plan.rounds.size());
  Run& run = new_run(collective, plan, course->parts);
  run.open = course->open;
  for (size_t r = 0; r < plan.rounds.size(); ++r)
    for (const Course::Row& row : course->rows[r]) run.missing[r].push_back(row.members);
  run.course = std::move(course);
}

/// A run of which no member, or part, has done a round. It knows which rounds follow which.
Traffic::Run& Traffic::new_run(uint32_t collective, const coll::Plan& plan, uint32_t members) {
  if (runs_.size() <= collective) runs_.resize(collective + size_t{1});
  runs_[collective] = std::make_unique<Run>();
  Run& run = *runs_[collective];
  run.plan = plan;
  run.members = members;
  run.behind.resize(plan.rounds.size());
  run.missing.resize(plan.rounds.size());
  run.rounds_left.assign(run.members, static_cast<uint32_t>(plan.rounds.size()));
  run.members_left = run.members;
  std::vector<int32_t> last(plan.lanes, -1);
  for (uint32_t r = 0; r < plan.rounds.size(); ++r) {
    const coll::Round& round = plan.rounds[r];
    run.before.push_back(last[round.lane]);
    last[round.lane] = static_cast<int32_t>(r);
    if (run.before[r] >= 0) run.behind[static_cast<size_t>(run.before[r])].push_back(r);
    if (round.after >= 0) run.behind[static_cast<size_t>(round.after)].push_back(r);
    for (const int32_t wait : plan.waits(r)) run.behind[static_cast<size_t>(wait)].push_back(r);
  }
  return run;
}

void Traffic::begin(Picoseconds now, uint32_t id, uint32_t member, std::vector<Done>& done) {
  CHAKRA_ASSERT(id < runs_.size() && runs_[id]);
  Run& run = *runs_[id];
  CHAKRA_ASSERT(member < run.members);
  if (!run.place.empty()) member = run.place[member];
  if (run.plan.rounds.empty()) {
    done.push_back({Done::Kind::member, id, run.order.empty() ? member : run.order[member]});
    if (--run.members_left == 0) runs_[id].reset();
    return;
  }
  for (uint32_t r = 0; runs_[id] && r < run.plan.rounds.size(); ++r)  // it may be over before all have begun
    if (run.before[r] < 0 && run.plan.rounds[r].after < 0 && run.plan.waits(r).empty()) {
      start_round(now, id, r, member);
      settle(now, id, r, member, 1, done);  // it has begun
    }
}

void Traffic::start_round(Picoseconds now, uint32_t id, uint32_t r, uint32_t member) {
  Run& run = *runs_[id];
  if (run.missing[r].empty()) return launch(now, id, r, member);
  if (run.course) return start_row_of_parts(now, id, r, member);
  const coll::Rows rows(run.plan, run.plan.rounds[r]);
  const uint32_t row = rows.of(member);
  if (--run.missing[r][row] > 0) return;
  for (uint32_t c = 0; c < rows.extent; ++c) launch(now, id, r, rows.member(row, c));
}

void Traffic::start_row_of_parts(Picoseconds now, uint32_t id, uint32_t r, uint32_t part) {
  Run& run = *runs_[id];
  const std::vector<Course::Row>& rows = run.course->rows[r];
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].of_part[part] == 0) continue;
    run.missing[r][i] -= rows[i].of_part[part];
    if (run.missing[r][i] > 0) continue;
    for (const uint32_t p : rows[i].leave) launch(now, id, r, p);
  }
}

void Traffic::launch_parts(Picoseconds now, uint32_t id, uint32_t r, uint32_t part) {
  const Course& course = *runs_[id]->course;
  for (const Course::Send& send : course.sends_of(r, part)) {
    const uint32_t token = token_of({id, r, part, send.to, send.left, send.arrived, false});
    std::get<net::FluidNetwork>(network_).send(now, {0, 0, send.bytes, token, 0}, course.uses_of(send), send.latency);
  }
}

void Traffic::launch(Picoseconds now, uint32_t id, uint32_t r, uint32_t member) {
  const Run& run = *runs_[id];
  if (run.course) return launch_parts(now, id, r, member);
  const coll::Round& round = run.plan.rounds[r];
  const auto put_one = [&](uint32_t from, uint32_t to, uint64_t bytes) {
    put(now, {id, r, from, to}, run.ranks[from], run.ranks[to], bytes, run.flow);
  };
  if (round.list.empty()) return coll::each_transfer_of(run.plan, round, member, put_one);
  for (uint32_t t = run.first_transfer[r][member]; t < run.first_transfer[r][member + 1]; ++t)
    put_one(member, round.list[t].to, round.list[t].bytes);
}

Picoseconds Traffic::latency_of(const Flight& flight) const {
  return flight.round == kSingle ? 0
                                 : std::max<Picoseconds>(runs_[flight.run]->plan.rounds[flight.round].latency_ps, 0);
}

void Traffic::send(Picoseconds now, uint32_t message, int64_t from, int64_t to, uint64_t bytes, int64_t count) {
  const Flight flight{.run = message, .round = kSingle};
  if (!links_) return put(now, flight, from, to, bytes, 0);
  std::vector<net::Use> route;
  const Picoseconds latency = links_->uses(fabric_, {from, to, bytes, 0, 0}, static_cast<double>(count), route);
  std::get<net::FluidNetwork>(network_).send(now, {from, to, bytes, token_of(flight), 0}, route, latency);
}

uint32_t Traffic::token_of(const Flight& flight) {
  uint32_t token = static_cast<uint32_t>(flights_.size());
  if (unused_.empty()) {
    flights_.push_back(flight);
  } else {
    token = unused_.back();
    unused_.pop_back();
    flights_[token] = flight;
  }
  return token;
}

void Traffic::put(Picoseconds now, const Flight& flight, int64_t from, int64_t to, uint64_t bytes, uint64_t flow) {
  const uint32_t token = token_of(flight);
  std::visit([&](auto& network) { network.send(now, {from, to, bytes, token, flow}); }, network_);
}

/// A member waits for `times` things less in a round. With the last, the rounds after it may begin.
void Traffic::settle(Picoseconds now, uint32_t id, uint32_t first, uint32_t member, uint32_t times,
                     std::vector<Done>& done) {
  Run& run = *runs_[id];
  const uint32_t n = run.members;
  const auto finished = [&](int32_t r) { return r < 0 || run.open[static_cast<size_t>(r) * n + member] == 0; };
  work_.assign(1, first);
  while (!work_.empty()) {
    const uint32_t r = work_.back();
    work_.pop_back();
    uint32_t& open = run.open[size_t{r} * n + member];
    open -= std::exchange(times, 1);  // later rounds have only begun
    if (open > 0) continue;
    if (--run.rounds_left[member] == 0) {
      done.push_back({Done::Kind::member, id, run.order.empty() ? member : run.order[member]});
      if (--run.members_left == 0) runs_[id].reset();
      return;
    }
    for (const uint32_t next : run.behind[r])
      if (finished(run.before[next]) && finished(run.plan.rounds[next].after) &&
          std::ranges::all_of(run.plan.waits(next), finished)) {
        start_round(now, id, next, member);
        work_.push_back(next);
      }
  }
}

void Traffic::arrive(Picoseconds now, uint32_t token, std::vector<Done>& done) {
  const Flight flight = flights_[token];
  unused_.push_back(token);
  if (flight.round == kSingle) done.push_back({Done::Kind::arrived, flight.run, 0});
  else settle(now, flight.run, flight.round, flight.to, flight.received, done);
}

Picoseconds Traffic::next_event_time() const {
  const Picoseconds network = std::visit([](const auto& n) { return n.next_event_time(); }, network_);
  return later_.empty() ? network : std::min(network, later_.front().time);
}

Picoseconds Traffic::advance_to(Picoseconds time, std::vector<Done>& done) {
  const Picoseconds limit = later_.empty() ? time : std::min(time, later_.front().time);
  const Picoseconds now = std::visit([&](auto& n) { return n.advance_to(limit, delivered_); }, network_);
  for (const net::Delivery& d : delivered_) {
    const auto token = static_cast<uint32_t>(d.token);
    const Flight flight = flights_[token];
    const Picoseconds arrives = d.arrived_ps == net::kNever
                                    ? net::kNever
                                    : std::max(d.arrived_ps, add_saturated(d.left_ps, latency_of(flight)));
    if (!flight.left) {
      flights_[token].left = true;
      if (flight.round == kSingle) done.push_back({Done::Kind::left, flight.run, 0});
      else settle(now, flight.run, flight.round, flight.from, flight.sent, done);
    }
    if (arrives <= now) {
      arrive(now, token, done);
    } else if (arrives != net::kNever) {
      later_.push_back({arrives, order_++, token});
      std::push_heap(later_.begin(), later_.end());
    }
  }
  delivered_.clear();
  while (!later_.empty() && later_.front().time <= now) {
    const uint32_t token = later_.front().token;
    std::pop_heap(later_.begin(), later_.end());
    later_.pop_back();
    arrive(now, token, done);
  }
  return now;
}

bool Traffic::idle() const {
  return unused_.size() == flights_.size() && later_.empty() &&
         std::none_of(runs_.begin(), runs_.end(), [](const auto& run) { return run != nullptr; });
}

std::vector<net::LinkTotal> Traffic::totals() const {
  const std::vector<net::LinkTotal> totals = std::visit([](const auto& n) { return n.totals(); }, network_);
  if (!links_) return totals;
  std::vector<net::LinkTotal> all;
  std::vector<net::LinkId> first, others;
  for (const std::vector<net::TrunkId>& alike : links_->trunks) {
    first.clear();
    fabric_.links_of(alike.front(), first);
    for (const net::TrunkId trunk : alike) {
      others.clear();
      fabric_.links_of(trunk, others);
      for (size_t i = 0; i < others.size(); ++i) {
        const auto total = std::lower_bound(totals.begin(), totals.end(), first[i],
                                            [](const net::LinkTotal& t, net::LinkId link) { return t.link < link; });
        if (total != totals.end() && total->link == first[i]) all.push_back({others[i], total->bytes, total->busy_ps});
      }
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.link < b.link; });
  return all;
}
void Traffic::keep_history() {
  std::visit([](auto& n) { n.keep_history(); }, network_);
}
net::LinkHistory Traffic::history() const {
  net::LinkHistory history = std::visit([](const auto& n) { return n.history(); }, network_);
  if (!links_) return history;
  // The number of trunks, by the first link of the trunk that stands for them.
  absl::flat_hash_map<net::LinkId, size_t> alike;
  std::vector<net::LinkId> links;
  for (const std::vector<net::TrunkId>& trunks : links_->trunks) {
    links.clear();
    fabric_.links_of(trunks.front(), links);
    alike.emplace(links.front(), trunks.size());
  }
  for (net::LinkHistory::Row& row : history.rows) {
    const size_t count = alike.at(row.link);
    row.links *= static_cast<int64_t>(count);
    for (double& bytes : row.bytes) bytes *= static_cast<double>(count);
  }
  return history;
}
uint64_t Traffic::events() const {
  return std::visit([](const auto& n) { return n.events(); }, network_);
}

}  // namespace chakra::sim
