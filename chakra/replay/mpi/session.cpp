// The back end `mpi`: each operation is MPI's own, non-blocking call in a communicator of its group.
//
// Calls in a communicator must come in the same order at all members. Where every rank's trace says that its operations
// of a group start in the order of their indices, they do. Where it does not, members meet at the rendezvous first,
// which tells all of them of the meetings in the same order. Messages need no order: their number is part of their tag.
//
// In the simulator a sender does not wait for its receiver, and jobs are proved by that. MPI makes it wait where a
// message is long. So a send whose receiver does not come counts as ended after a while; its data wait in a copy.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <map>
#include <optional>

#include "chakra/replay/backend.h"
#include "chakra/replay/backends.h"
#include "chakra/replay/data.h"
#include "chakra/replay/elements.h"
#include "chakra/replay/meetings.h"
#include "chakra/replay/mpi/mpi_api.h"
#include "chakra/replay/naps.h"
#include "chakra/replay/parties.h"
#include "chakra/replay/plugin.h"

namespace chakra::replay {

namespace mpi {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using trace::CommType;

// `replay.mpi` (4): MPI could not do something, and said why.
Failure mpi_failed(std::string_view doing, const char* why) {
  return fail(Code::stuck, "replay.mpi", fmt::format("{}: MPI error: {}", doing, why));
}

/// An operation that MPI works at.
struct Flying {
  Operation op;
  Ticket ticket = 0;
  Clock::time_point since = Clock::now();
  bool told = false;  ///< that it has ended
  Call call;
  /// Memory of MPI's shape, where the operation's own has another one.
  std::vector<std::byte> in, out;
  std::vector<int32_t> in_counts, in_places, out_counts, out_places;
};

int32_t reduce_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::product: return 1;
    case ReduceOp::minimum: return 2;
    case ReduceOp::maximum: return 3;
    default: return 0;
  }
}
constexpr std::array<ReduceOp, kReduceOps> kReduces{ReduceOp::sum, ReduceOp::product, ReduceOp::minimum,
                                                    ReduceOp::maximum};

/// Fills Flying::call from the operation, but for its communicator and tag.
class Shaper {
 public:
  explicit Shaper(Flying& flying) : f_(flying), o_(flying.op), c_(flying.call) {
    element_ = &element_of(o_.dtype);
    n_ = o_.members.size();
    c_.root = static_cast<int32_t>(o_.root);
    c_.reduce = reduce_of(o_.reduce);
    c_.in = o_.in.data();
    c_.out = o_.out.data();
  }

  Result<void> run() {
    if (o_.kind == Operation::Kind::send) {
      f_.in.assign(o_.in.begin(), o_.in.end());
      c_.in = f_.in.data();
      return moved(CallKind::send, o_.in.size(), 0);
    }
    if (o_.kind == Operation::Kind::receive) return moved(CallKind::receive, 0, o_.out.size());
    switch (o_.type) {
      case CommType::all_reduce: return summed(CallKind::all_reduce);
      case CommType::reduce: return summed(CallKind::reduce);
      case CommType::reduce_scatter:
      case CommType::reduce_scatter_block: return reduce_scatter();
      case CommType::broadcast: return broadcast();
      case CommType::all_gather: return moved(CallKind::all_gather, o_.in.size(), 0);
      case CommType::gather: return moved(CallKind::gather, o_.in.size(), 0);
      case CommType::scatter: return scatter();
      case CommType::all_to_all: return o_.in_split.empty() && o_.out_split.empty() ? all_to_all() : parts();
      default: c_.kind = CallKind::barrier; return {};
    }
  }

 private:
  /// MPI counts elements with 31 bits.
  // `replay.mpi.size` (1): an operation of more elements than MPI counts.
  Result<void> count(uint64_t elements, int32_t& into) const {
    if (elements > INT32_MAX)
      return fail(Code::bad_input, "replay.mpi.size",
                  fmt::format("{}: MPI supports at most {} elements per call, but this call has {}; use --max-size, or "
                              "by another back end",
                              describe(o_), INT32_MAX, elements));
    into = static_cast<int32_t>(elements);
    return {};
  }

  /// Elements where the sizes are whole ones, else bytes; 1 or ElementRow::bytes.
  uint64_t unit_of(std::initializer_list<std::span<const uint64_t>> sizes) {
    c_.type = static_cast<int32_t>(element_ - elements().data());
    for (const auto& list : sizes)
      for (const uint64_t size : list)
        if (size % element_->bytes != 0) c_.type = -1;
    return c_.type < 0 ? 1 : element_->bytes;
  }

  Result<void> moved(CallKind kind, uint64_t in, uint64_t out) {
    c_.kind = kind;
    const std::array<uint64_t, 2> sizes{in, out};
    const uint64_t unit = unit_of({sizes});
    CHAKRA_TRY(count(in / unit, c_.in_count));
    return count(out / unit, c_.out_count);
  }

  /// Bytes beyond the last whole element are not added.
  Result<void> summed(CallKind kind) {
    c_.kind = kind;
    (void)unit_of({});
    return count(o_.in.size() / element_->bytes, c_.in_count);
  }

  Result<void> reduce_scatter() {
    CHAKRA_TRY(summed(CallKind::reduce_scatter));
    const uint64_t all = o_.in.size() / element_->bytes, part = all / n_ + (all % n_ != 0);
    for (uint64_t j = 0; j < n_; ++j) {
      const uint64_t begin = std::min(all, j * part);
      f_.out_counts.push_back(static_cast<int32_t>(std::min(part, all - begin)));
    }
    c_.out_counts = f_.out_counts.data();
    const uint64_t own = static_cast<uint64_t>(f_.out_counts[o_.place]) * element_->bytes;
    if (own > o_.out.size()) use_own_out(own);  // where the bytes have no n equal parts of whole elements
    return {};
  }

  Result<void> broadcast() {
    const bool is_root = o_.place == o_.root;
    if (is_root) c_.out = const_cast<std::byte*>(o_.in.data());  // MPI has one buffer, which the root only reads
    return moved(CallKind::broadcast, 0, is_root ? o_.in.size() : o_.out.size());
  }

  /// The root's data may have no n equal parts: the last ones are then shorter.
  Result<void> scatter() {
    CHAKRA_TRY(moved(CallKind::scatter, 0, o_.out.size()));
    if (o_.place != o_.root || o_.in.size() == n_ * o_.out.size()) return {};
    f_.in.assign(n_ * o_.out.size(), std::byte{});
    std::copy_n(o_.in.begin(), std::min(o_.in.size(), f_.in.size()), f_.in.begin());
    c_.in = f_.in.data();
    return {};
  }

  /// Bytes beyond n equal parts stay where they are.
  Result<void> all_to_all() {
    const uint64_t part = o_.in.size() / n_;
    if (o_.out.size() / n_ != part)
      return fail(Code::bad_input, "replay.comm.differ",
                  fmt::format("{}: {} bytes are sent to each member, but {} are expected from each", describe(o_), part,
                              o_.out.size() / n_));
    return moved(CallKind::all_to_all, part, part);
  }

  Result<void> parts() {
    c_.kind = CallKind::all_to_all_parts;
    const uint64_t unit = unit_of({o_.in_split, o_.out_split});
    CHAKRA_TRY(lay_out(o_.in_split, o_.in.size(), unit, f_.in_counts, f_.in_places));
    CHAKRA_TRY(lay_out(o_.out_split, o_.out.size(), unit, f_.out_counts, f_.out_places));
    c_.in_counts = f_.in_counts.data();
    c_.in_places = f_.in_places.data();
    c_.out_counts = f_.out_counts.data();
    c_.out_places = f_.out_places.data();
    return {};
  }
  Result<void> lay_out(std::span<const uint64_t> split, uint64_t bytes, uint64_t unit, std::vector<int32_t>& counts,
                       std::vector<int32_t>& places) const {
    CHAKRA_ASSERT(split.size() == n_);
    uint64_t at = 0;
    for (const uint64_t part : split) {
      CHAKRA_TRY(count(part / unit, counts.emplace_back()));
      CHAKRA_TRY(count(at / unit, places.emplace_back()));
      at += part;
    }
    CHAKRA_ASSERT(at <= bytes);
    return {};
  }

  void use_own_out(uint64_t bytes) {
    f_.out.assign(bytes, std::byte{});
    c_.out = f_.out.data();
  }

  Flying& f_;
  const Operation& o_;
  Call& c_;
  const ElementRow* element_;
  uint64_t n_;
};

/// What the operation's memory lacks after MPI's call.
void finish(Flying& f) {
  if (!f.out.empty()) {
    const size_t whole = f.op.out.size() / element_of(f.op.dtype).bytes * element_of(f.op.dtype).bytes;
    std::copy_n(f.out.begin(), std::min(whole, f.out.size()), f.op.out.begin());
  }
  if (f.op.reduce != ReduceOp::average || f.call.type < 0 || f.op.out.empty()) return;
  const ElementRow& element = element_of(f.op.dtype);
  element.divide(f.op.out.first(f.op.out.size() / element.bytes * element.bytes),
                 static_cast<uint32_t>(f.op.members.size()));
}

class MpiSession final : public Session {
 public:
  MpiSession(const World& world, Rendezvous& rendezvous, const Api& api, int32_t greatest_tag)
      : world_(world), rendezvous_(rendezvous), api_(api), greatest_tag_(greatest_tag) {}

  Result<void> prepare(std::span<const Party> parties, bool) override {
    std::map<std::pair<int64_t, int64_t>, uint32_t> channels;  // of each pair of ranks; parties come in order
    for (const Party& p : parties) {
      if (!p.complete) continue;  // who starts its operations waits for those who are missing
      if (!p.is_group) {
        channels_[{p.members[0], p.members[1], p.tag}].number = channels[{p.members[0], p.members[1]}]++;
        continue;
      }
      Group& group = groups_[p.group];
      group.at_once = p.agreed;
      const std::vector<int32_t> ranks(p.members.begin(), p.members.end());
      // All ranks make theirs in the order of the keys.
      if (const char* why =
              api_.communicator(ranks.data(), static_cast<int32_t>(ranks.size()), kCreationTag, &group.communicator))
        return mpi_failed(fmt::format("cannot create a communicator for {}", p.key), why);
    }
    for (auto& [key, channel] : channels_)
      channel.numbers = static_cast<uint64_t>(greatest_tag_) / channels[{std::get<0>(key), std::get<1>(key)}];
    return {};
  }

  Result<void> start(const Operation& op, Ticket ticket) override {
    if (op.kind != Operation::Kind::collective) return start_message(op, ticket);
    const auto group = groups_.find(op.group);
    if (group != groups_.end() && group->second.at_once) return call(op, ticket, group->second.communicator, 0);
    return meetings_.come(op, ticket, op.in_split.empty() && op.out_split.empty() ? whole_bytes(op) : 0);
  }

  Result<void> progress(std::chrono::nanoseconds patience, std::vector<Ticket>& ended) override {
    return progress_by_looks(
        rendezvous_, naps_, flying_, patience, ended, [this](std::vector<Ticket>& done) { return test(done); },
        [this](const Met& met) { return begin_met(met); });
  }

  bool quiet() const override { return flying_.empty(); }
  Result<void> close() override {
    if (const char* why = api_.close()) return mpi_failed("communicators cannot be let go", why);
    return {};
  }
  void abort(std::string_view) override {
    api_.abandon();
    // What MPI still writes into must stay, until the process ends.
    [[maybe_unused]] auto* const kept = new auto(std::move(flying_));
  }

 private:
  static constexpr int32_t kCreationTag = 1;
  static constexpr auto kPatienceOfSends = 50ms;

  struct Group {
    int32_t communicator = 0;
    bool at_once = false;
  };
  struct Channel {
    uint32_t number = 0;   ///< among those from and to the same ranks
    uint64_t numbers = 1;  ///< of messages that a tag can distinguish
  };

  Result<void> start_message(const Operation& op, Ticket ticket) {
    const bool sends = op.kind == Operation::Kind::send;
    const auto at = channels_.find({sends ? world_.rank : op.partner, sends ? op.partner : world_.rank, op.tag});
    if (at == channels_.end()) return {};  // the partner has none of these messages: it never ends
    const Channel& channel = at->second;
    // Messages of one channel that are that many numbers apart are never under way together.
    const uint64_t tag = channel.number * channel.numbers + op.index % channel.numbers;
    return call(op, ticket, 0, static_cast<int32_t>(tag));
  }

  Result<void> begin_met(const Met& met) {
    CHAKRA_ASSIGN(const Meetings::Complete found, meetings_.complete(met));
    const Operation& op = found.operation;
    const auto group = groups_.find(op.group);
    if (group == groups_.end())
      return fail(Code::bad_input, "replay.comm.differ",
                  fmt::format("{}: the members of the group differ between ranks", describe(op)));
    return call(op, found.ticket, group->second.communicator, 0);
  }

  Result<void> call(const Operation& op, Ticket ticket, int32_t communicator, int32_t tag) {
    auto flying = std::make_unique<Flying>();
    flying->op = op;
    flying->ticket = ticket;
    CHAKRA_TRY(Shaper(*flying).run());
    flying->call.communicator = communicator;
    if (op.kind != Operation::Kind::collective) {
      flying->call.root = static_cast<int32_t>(op.partner);
      flying->call.tag = tag;
    }
    int32_t number = 0;
    if (const char* why = api_.start(&flying->call, &number)) return failed_at(describe(op), why);
    const bool is_new = flying_.emplace(number, std::move(flying)).second;
    CHAKRA_ASSERT(is_new);
    naps_.wake();
    return {};
  }

  Result<void> test(std::vector<Ticket>& ended) {
    std::array<Ended, 16> done;
    int32_t count = 0;
    if (const char* why = api_.test(done.data(), static_cast<int32_t>(done.size()), &count))
      return failed_at(flying_.empty() ? std::string("waiting") : describe(flying_.begin()->second->op), why);
    for (const Ended& e : std::span(done).first(static_cast<size_t>(count))) {
      const auto at = flying_.find(e.call);
      CHAKRA_ASSERT(at != flying_.end());
      Flying& f = *at->second;
      if (f.op.kind == Operation::Kind::receive && e.bytes != f.op.out.size())
        return fail(Code::bad_input, "replay.comm.differ",
                    fmt::format("{}: received {} bytes, expected {}", describe(f.op), e.bytes, f.op.out.size()));
      if (!f.told) {
        finish(f);
        ended.push_back(f.ticket);
      }
      flying_.erase(at);
    }
    for (const auto& [number, f] : flying_)
      if (f->op.kind == Operation::Kind::send && !f->told && Clock::now() - f->since > kPatienceOfSends) {
        f->told = true;
        ended.push_back(f->ticket);
      }
    return {};
  }

  /// The rendezvous may know better: what MPI says may only be what followed from a rank that died.
  Failure failed_at(const std::string& doing, const char* why) {
    const std::string said = why;
    std::vector<Met> met;
    for (const auto end = Clock::now() + 1s; Clock::now() < end;)
      if (const Result<void> polled = rendezvous_.poll(100ms, met); !polled) return Failure(Error{polled.error()});
    return mpi_failed(doing, said.c_str());
  }

  const World world_;
  Rendezvous& rendezvous_;
  const Api& api_;
  const int32_t greatest_tag_;
  std::map<std::string, Group, std::less<>> groups_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, Channel> channels_;  ///< by sender, receiver, tag
  std::map<int32_t, std::unique_ptr<Flying>> flying_;                  ///< by number of the call
  Meetings meetings_{world_.rank, rendezvous_};
  Naps naps_;
};

void combine(int32_t type, int32_t reduce, void* into, const void* from, uint64_t bytes) {
  elements()[static_cast<size_t>(type)].combine(kReduces[static_cast<size_t>(reduce)],
                                                {static_cast<std::byte*>(into), bytes},
                                                {static_cast<const std::byte*>(from), bytes});
}

/// The plugin, opened and told of our types. It stays for good, as MPI does.
Result<const Api*> open_plugin() {
  static const Api* only = nullptr;
  if (only) return only;
  CHAKRA_ASSIGN(void* const library, open_library(find_plugin("mpi")));
  const Api* (*get)() = nullptr;
  CHAKRA_TRY(find_function(library, kApiName, get));
  const Api* const api = get();
  if (api->version != kApiVersion)
    return fail(Code::usage, "replay.library", "the plugin for mpi is of another version of chakra");
  only = api;
  return only;
}

Result<Started> start_mpi(const Api& api) {
  static std::vector<Type> types;  // MPI's operators refer to them
  static std::vector<std::string> names;
  if (types.empty()) {
    names.reserve(elements().size());
    for (const ElementRow& row : elements()) {
      names.emplace_back(row.names.substr(0, row.names.find(' ')));
      types.push_back({names.back().c_str(), static_cast<int32_t>(row.bytes)});
    }
  }
  const Start start{types.data(), static_cast<int32_t>(types.size()), combine};
  Started started;
  if (const char* why = api.open(&start, &started)) return mpi_failed("MPI does not start", why);
  return started;
}

}  // namespace
}  // namespace mpi

std::string_view missing_mpi() {
  return find_plugin("mpi").empty()
             ? "the plugin libchakra_replay_mpi.so is missing; 'chakra doctor --plugins' shows how to build it"
             : "";
}

// `replay.mpi.world` (2): ranks that MPI's launcher has not started, or has started with other numbers.
Result<std::unique_ptr<Session>> open_mpi(const World& world, Rendezvous& rendezvous, const Settings&) {
  CHAKRA_ASSIGN(const mpi::Api* const api, mpi::open_plugin());
  CHAKRA_ASSIGN(const mpi::Started started, mpi::start_mpi(*api));
  if (started.rank != world.rank || started.ranks != world.ranks) {
    api->abandon();
    return fail(Code::usage, "replay.mpi.world",
                fmt::format("this is rank {} of {}, but in MPI it is rank {} of {}; start the ranks with the MPI "
                            "launcher: mpirun -np {} chakra replay ...",
                            world.rank, world.ranks, started.rank, started.ranks, world.ranks));
  }
  return std::make_unique<mpi::MpiSession>(world, rendezvous, *api, started.greatest_tag);
}

}  // namespace chakra::replay
