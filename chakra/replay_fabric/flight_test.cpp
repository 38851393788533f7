// Every algorithm moves real data: messages are delivered in random order and in random pieces, and what comes out
// must be what the operation promises, to the bit.
#include "chakra/replay_fabric/flight.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <numeric>
#include <set>

#include "chakra/replay/replay.h"

namespace chakra::replay_fabric {
namespace {

using trace::CommType;

/// One rank of a job in memory.
struct Member {
  replay::Operation operation;
  std::vector<std::byte> in, out;
  std::unique_ptr<Plans> plans;
  std::unique_ptr<Flight> flight;
};

struct Job {
  std::vector<int64_t> ranks;
  std::vector<std::vector<uint64_t>> in_splits, out_splits;
  std::vector<Member> members;
};

/// What every member has to do with an operation of which each member has `bytes`.
void size_operation(replay::Operation& o, uint64_t bytes, uint64_t n) {
  const bool root = o.place == o.root;
  o.in_bytes = o.out_bytes = bytes;
  switch (o.type) {
    case CommType::reduce:
      if (!root) o.out_bytes = 0;
      break;
    case CommType::broadcast: (root ? o.out_bytes : o.in_bytes) = 0; break;
    case CommType::all_gather: o.out_bytes = n * bytes; break;
    case CommType::gather: o.out_bytes = root ? n * bytes : 0; break;
    case CommType::scatter: o.in_bytes = root ? n * bytes : 0; break;
    case CommType::reduce_scatter:
    case CommType::reduce_scatter_block:
    case CommType::all_to_all: o.in_bytes = n * bytes; break;
    default: break;
  }
  if (o.type == CommType::all_to_all) o.out_bytes = n * bytes;
  if (o.type == CommType::barrier) o.in_bytes = o.out_bytes = 0;
}

net::Fabric network_of(size_t n) {
  if (n % 2 == 0 && n >= 4)
    return {{{net::TopologyKind::switch_, static_cast<int64_t>(n / 2), 1, 100}, {net::TopologyKind::ring, 2, 1, 100}}};
  return {{{net::TopologyKind::switch_, static_cast<int64_t>(n), 1, 100}}};
}

/// Members with input, output and an operation that is under way. False where the algorithm cannot do it.
void begin(Job& job, const replay::Operation& like, uint64_t bytes, std::string_view rules, bool splits) {
  const size_t n = job.ranks.size();
  job.members.resize(n);
  for (uint32_t i = 0; i < n; ++i) {
    Member& m = job.members[i];
    m.operation = like;
    m.operation.members = job.ranks;
    m.operation.place = i;
    m.operation.name = "operation";
    size_operation(m.operation, bytes, n);
    if (splits) {
      m.operation.in_split = job.in_splits[i];
      m.operation.out_split = job.out_splits[i];
      m.operation.in_bytes = std::accumulate(job.in_splits[i].begin(), job.in_splits[i].end(), uint64_t{0});
      m.operation.out_bytes = std::accumulate(job.out_splits[i].begin(), job.out_splits[i].end(), uint64_t{0});
    }
    m.in.assign(m.operation.in_bytes, std::byte{0xee});
    m.out.assign(m.operation.out_bytes, std::byte{0xdd});
    m.operation.in = m.in;
    m.operation.out = m.out;
    replay::fill_input(m.operation, m.in);
    m.plans = std::make_unique<Plans>(network_of(n), *coll::parse_selection(rules));
    auto prepared = m.plans->prepare(m.operation);
    ASSERT_TRUE(prepared) << prepared.error().message();
    m.flight = std::make_unique<Flight>(m.operation, 0, *prepared);
  }
  for (const Member& m : job.members)
    ASSERT_EQ(m.flight->prepared().agreement, job.members[0].flight->prepared().agreement);
}

using Pairs = std::map<std::pair<int64_t, int64_t>, uint64_t>;

/// Delivers until nothing moves; returns what was sent by pair of ranks. Nobody gets anything from a rank that it has
/// not invited.
Pairs run(Job& job, Prng& random) {
  struct Mail {
    uint32_t from;
    MessageId send, receive;
    Member* to = nullptr;
    std::vector<std::byte> bytes;
    size_t given = 0;
  };
  std::vector<Mail> under_way;
  Pairs sent;
  const auto place_of = [&](int64_t rank) {
    return static_cast<uint32_t>(std::find(job.ranks.begin(), job.ranks.end(), rank) - job.ranks.begin());
  };
  const std::array<uint64_t, 4> aheads{0, 1, 100, ~uint64_t{0}};
  const uint64_t ahead = aheads[random.below(aheads.size())];
  std::vector<std::vector<int64_t>> invited(job.members.size());
  const auto may_go = [&](const Mail& mail) {
    const std::vector<int64_t>& ranks = invited[static_cast<size_t>(mail.to - job.members.data())];
    return std::find(ranks.begin(), ranks.end(), job.ranks[mail.from]) != ranks.end();
  };
  const auto advance = [&](uint32_t i) {
    std::vector<MessageId> sends;
    Flight& flight = *job.members[i].flight;
    flight.invite(ahead, invited[i]);
    flight.advance(sends);
    for (const MessageId id : sends) {
      const coll::PartTransfer& transfer = flight.send(id);
      Mail mail{i, id, {}, &job.members[place_of(flight.rank_of(transfer))], {}, 0};
      std::vector<std::span<const std::byte>> pieces;
      flight.pieces_of(id, pieces);
      for (const auto& piece : pieces) mail.bytes.insert(mail.bytes.end(), piece.begin(), piece.end());
      EXPECT_EQ(mail.bytes.size(), transfer.bytes);
      const auto receive = mail.to->flight->find_receive(job.ranks[i], flight.prepared().parts[id.part].round);
      if (!receive) {
        ADD_FAILURE() << "nobody expects it";
        continue;
      }
      mail.receive = *receive;
      EXPECT_EQ(mail.to->flight->receive(*receive).bytes, transfer.bytes);
      sent[{job.ranks[i], flight.rank_of(transfer)}] += transfer.bytes;
      under_way.push_back(std::move(mail));
    }
  };
  for (uint32_t i = 0; i < job.members.size(); ++i) advance(i);
  while (!under_way.empty()) {
    std::vector<size_t> free;
    for (size_t i = 0; i < under_way.size(); ++i)
      if (may_go(under_way[i])) free.push_back(i);
    if (free.empty()) {
      ADD_FAILURE() << "nobody may send, with " << ahead << " bytes ahead";
      return sent;
    }
    const size_t k = free[random.below(free.size())];
    Mail& mail = under_way[k];
    const size_t left = mail.bytes.size() - mail.given;
    const size_t count = left == 0 ? 0 : static_cast<size_t>(random.between(1, static_cast<int64_t>(left)));
    const std::span<std::byte> room = mail.to->flight->room(mail.receive);
    EXPECT_GE(room.size(), count);
    std::copy_n(mail.bytes.begin() + static_cast<int64_t>(mail.given), count, room.begin());
    mail.given += count;
    const bool whole = mail.to->flight->came(mail.receive, count);
    mail.to->flight->invite(ahead, invited[static_cast<size_t>(mail.to - job.members.data())]);
    if (!whole) continue;
    const Mail done = std::move(mail);
    under_way[k] = std::move(under_way.back());
    under_way.pop_back();
    job.members[done.from].flight->left(done.send);
    advance(done.from);
    advance(static_cast<uint32_t>(done.to - job.members.data()));
  }
  for (Member& m : job.members) EXPECT_TRUE(m.flight->done());
  for (const std::vector<int64_t>& ranks : invited)  // each once
    EXPECT_EQ(std::set<int64_t>(ranks.begin(), ranks.end()).size(), ranks.size());
  return sent;
}

void verify(const Job& job) {
  for (const Member& m : job.members) {
    const auto result = replay::verify_output(m.operation);
    EXPECT_TRUE(result) << result.error().message();
  }
}

/// Ranks 0 .. n-1, now and then in another order.
std::vector<int64_t> some_ranks(size_t n, Prng& random) {
  std::vector<int64_t> ranks(n);
  std::iota(ranks.begin(), ranks.end(), 0);
  if (random.chance(0.3))
    for (size_t k = n; k > 1; --k) std::swap(ranks[k - 1], ranks[random.below(k)]);
  return ranks;
}

TEST(Flight, EveryAlgorithmMovesTheDataOfEveryType) {
  Prng random(5);
  int tried = 0;
  for (const coll::AlgorithmRow& row : coll::kAlgorithms)
    for (size_t t = 0; t < trace::kCommTypeNames.size(); ++t) {
      const auto type = static_cast<CommType>(t);
      if (!row.does(type)) continue;
      for (const uint32_t n : {1u, 2u, 3u, 4u, 5u, 6u, 8u, 11u})
        for (const uint64_t count : {uint64_t{0}, uint64_t{1}, uint64_t{7}, uint64_t{24}, uint64_t{9'001}}) {
          Job job;
          job.ranks = some_ranks(n, random);
          const replay::ElementRow& element = replay::elements()[random.below(replay::elements().size())];
          replay::Operation like;
          like.type = type;
          like.dtype = element.names.substr(0, element.names.find(' '));
          like.reduce = element.ordered ? static_cast<replay::ReduceOp>(random.below(5)) : replay::ReduceOp::sum;
          like.root = trace::has_root(type) ? static_cast<uint32_t>(random.below(n)) : 0;
          like.index = random.below(100);
          begin(job, like, count * element.bytes, row.name, false);
          run(job, random);
          verify(job);
          ++tried;
          if (::testing::Test::HasFailure())
            FAIL() << row.name << " " << trace::name(type) << " of " << n << ", " << count << " x " << like.dtype
                   << ", " << replay::kReduceOpNames[static_cast<size_t>(like.reduce)] << ", root " << like.root;
        }
    }
  EXPECT_GT(tried, 1000);
}

/// The bytes are those that the simulator prices.
TEST(Flight, BytesPerPairAreThePlans) {
  Prng random(7);
  for (const coll::AlgorithmRow& row : coll::kAlgorithms)
    for (size_t t = 0; t < trace::kCommTypeNames.size(); ++t) {
      const auto type = static_cast<CommType>(t);
      if (!row.does(type) || row.needs != coll::AlgorithmRow::Needs::nothing) continue;
      for (const uint32_t n : {2u, 3u, 5u, 8u}) {
        Job job;
        job.ranks = some_ranks(n, random);
        replay::Operation like;
        like.type = type;
        like.root = trace::has_root(type) ? n - 1 : 0;
        const uint64_t bytes = 1 + random.below(100'000);
        begin(job, like, bytes, row.name, false);
        const Pairs sent = run(job, random);
        const net::Fabric network = network_of(n);
        const coll::Operation op{type, replay::whole_bytes(job.members[like.root].operation), like.root, {}};
        const coll::Place place{&network, job.ranks};
        Pairs planned;
        const coll::Plan plan = row.plan(op, place);
        for (const coll::Round& round : plan.rounds)
          coll::each_transfer(plan, round, [&](uint32_t from, uint32_t to, uint64_t count) {
            planned[{job.ranks[from], job.ranks[to]}] += count;
          });
        EXPECT_EQ(sent, planned) << row.name << " " << trace::name(type) << " of " << n << ", " << bytes;
      }
    }
}

TEST(Flight, UnevenAllToAll) {
  Prng random(11);
  for (const std::string_view rules : {"", "direct", "pairwise"})
    for (int i = 0; i < 40; ++i) {
      Job job;
      const size_t n = 1 + random.below(8);
      job.ranks = some_ranks(n, random);
      job.in_splits.assign(n, std::vector<uint64_t>(n));
      job.out_splits = job.in_splits;
      for (size_t from = 0; from < n; ++from)
        for (size_t to = 0; to < n; ++to)
          job.out_splits[to][from] = job.in_splits[from][to] = random.chance(0.3) ? 0 : random.below(10'000);
      replay::Operation like;
      like.type = CommType::all_to_all;
      begin(job, like, 0, rules, true);
      const Pairs sent = run(job, random);
      verify(job);
      for (const auto& [pair, bytes] : sent) {
        const auto place = [&](int64_t rank) {
          return std::find(job.ranks.begin(), job.ranks.end(), rank) - job.ranks.begin();
        };
        EXPECT_EQ(bytes,
                  job.in_splits[static_cast<size_t>(place(pair.first))][static_cast<size_t>(place(pair.second))]);
      }
      if (HasFailure()) FAIL() << "number " << i << " by '" << rules << "'";
    }
}

TEST(Flight, WrongDataAreFound) {
  Prng random(13);
  for (const CommType type : {CommType::all_reduce, CommType::all_gather, CommType::broadcast, CommType::all_to_all,
                              CommType::reduce_scatter, CommType::scatter}) {
    Job job;
    job.ranks = {0, 1, 2};
    replay::Operation like;
    like.type = type;
    like.dtype = "Float";
    begin(job, like, 4000, "", false);
    run(job, random);
    verify(job);
    Member& m = job.members[2];
    m.out[random.below(m.out.size())] ^= std::byte{1};
    const auto result = replay::verify_output(m.operation);
    ASSERT_FALSE(result) << trace::name(type);
    EXPECT_EQ(result.error().tag, "replay.verify");
  }
}

/// By the definition of such numbers, in double precision.
double narrow_value(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = static_cast<int>(bits) & ((1 << mantissa_bits) - 1);
  const int lowest = 2 - (1 << (exponent_bits - 1)) - mantissa_bits;
  const double size =
      exponent == 0 ? std::ldexp(mantissa, lowest) : std::ldexp(mantissa + (1 << mantissa_bits), lowest + exponent - 1);
  return bits >> (exponent_bits + mantissa_bits) & 1 ? -size : size;
}

TEST(Elements, SumsOfNarrowNumbersAreTheNearestEvenOnes) {
  struct Form {
    const char* name;
    int exponent, mantissa;
    uint32_t most;
  };
  Prng random(11);
  for (const Form& form : {Form{"half", 5, 10, 0x7bff}, Form{"bfloat16", 8, 7, 0x7f7f},
                           Form{"float8_e4m3fn", 4, 3, 0x7e}, Form{"float8_e5m2", 5, 2, 0x7b}}) {
    const replay::ElementRow& element = replay::element_of(form.name);
    const auto value = [&](uint32_t bits) { return narrow_value(bits, form.exponent, form.mantissa); };
    const uint32_t sign = 1u << (form.exponent + form.mantissa);
    for (int i = 0; i < 20'000; ++i) {
      const auto some = [&] {
        return static_cast<uint32_t>(random.below(form.most + 1)) | (random.chance(0.5) ? sign : 0);
      };
      const uint32_t a = some();
      // Near enough that the sum is not just the larger one, and exact in a float.
      const uint32_t b = random.chance(0.5) ? some() : a ^ static_cast<uint32_t>(random.below(16));
      const double exact = value(a) + value(b);
      if (static_cast<double>(static_cast<float>(exact)) != exact) continue;
      uint32_t sum = 0;
      std::vector<std::byte> into(element.bytes), from(element.bytes);
      std::memcpy(into.data(), &a, element.bytes);
      std::memcpy(from.data(), &b, element.bytes);
      element.combine(replay::ReduceOp::sum, into, from);
      std::memcpy(&sum, into.data(), element.bytes);
      const uint32_t size = sum & (sign - 1);
      ASSERT_LE(size, form.most);
      const double off = std::abs(value(sum) - exact);
      const auto nearer_is = [&](uint32_t other) {
        const double distance = std::abs(value((sum & sign) | other) - exact);
        return distance < off || (distance == off && size % 2 == 1);
      };
      EXPECT_FALSE(size > 0 && nearer_is(size - 1)) << form.name << ": " << a << " + " << b << " gave " << sum;
      EXPECT_FALSE(size < form.most && nearer_is(size + 1)) << form.name << ": " << a << " + " << b << " gave " << sum;
    }
  }
}

TEST(Elements, HoldTheIntegersTheyPromise) {
  for (const replay::ElementRow& element : replay::elements()) {
    std::vector<std::byte> sum(element.bytes), one(element.bytes), must(element.bytes);
    const uint32_t most = std::min(element.exact, 3000u);
    element.set(sum.data(), 0);
    element.set(one.data(), 1);
    for (uint32_t i = 1; i <= most; ++i) {
      element.combine(replay::ReduceOp::sum, sum, one);
      element.set(must.data(), i);
      ASSERT_EQ(sum, must) << element.names << " " << i;
    }
    if (!element.ordered || element.exact < 6) continue;
    std::vector<std::byte> a(element.bytes), b(element.bytes);
    const auto combined = [&](replay::ReduceOp op, uint32_t x, uint32_t y) {
      element.set(a.data(), x);
      element.set(b.data(), y);
      element.combine(op, a, b);
      return a;
    };
    element.set(must.data(), 6);
    EXPECT_EQ(combined(replay::ReduceOp::product, 2, 3), must) << element.names;
    EXPECT_EQ(combined(replay::ReduceOp::maximum, 6, 3), must) << element.names;
    EXPECT_EQ(combined(replay::ReduceOp::minimum, 6, 7), must) << element.names;
    element.set(must.data(), 2);
    element.set(a.data(), 6);
    element.divide(a, 3);
    EXPECT_EQ(a, must) << element.names;
  }
  EXPECT_EQ(replay::element_of("c10::BFloat16").bytes, 2u);
  EXPECT_EQ(replay::element_of("torch.float64").bytes, 8u);
  EXPECT_EQ(replay::element_of("Float8_e4m3fn").exact, 16u);
  EXPECT_EQ(replay::element_of("").bytes, 1u);
}

}  // namespace
}  // namespace chakra::replay_fabric
