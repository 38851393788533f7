// The input of ranks, and the required output.
#include "chakra/replay/data.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "chakra/replay/elements.h"

namespace chakra::replay {
namespace {

using trace::CommType;

constexpr int64_t kOfMessages = -1;  // stands for the sender, who does not know its own rank here

bool reduces(const Operation& o) {
  return o.kind == Operation::Kind::collective &&
         (o.type == CommType::all_reduce || o.type == CommType::reduce || o.type == CommType::reduce_scatter ||
          o.type == CommType::reduce_scatter_block);
}

uint64_t mixed(uint64_t a, uint64_t b, uint64_t c) {
  return Prng(a * 0x9e3779b97f4a7c15 ^ b * 0xd1b54a32d192ed03 ^ c).next();
}

/// What `origin` has for `destination` (-1: for all), from its byte `first` on.
void fill_moved(const Operation& o, int64_t origin, int64_t destination, uint64_t first, std::span<std::byte> to) {
  for (uint64_t at = 0; at < to.size();) {
    const uint64_t i = first + at, skip = i % 8, count = std::min<uint64_t>(8 - skip, to.size() - at);
    const uint64_t word =
        mixed(static_cast<uint64_t>(origin), static_cast<uint64_t>(destination) ^ o.index << 20, i / 8) >> skip * 8;
    std::memcpy(&to[at], &word, count);  // the low bytes first: x86 and ARM
    at += count;
  }
}

/// Element `i` of what the member at `place` adds. The sum of all members' is at most element.exact.
uint32_t summand(const Operation& o, const ElementRow& element, uint64_t place, uint64_t i) {
  const uint64_t n = o.members.size();
  const auto random_to = [&](uint64_t most) {
    const uint64_t hash = mixed(static_cast<uint64_t>(o.members[place]), o.index, i);
    return static_cast<uint32_t>((hash >> 32) * (std::min<uint64_t>(most, 1000) + 1) >> 32);
  };
  switch (o.reduce) {
    case ReduceOp::product: return (place + i) % n == 0 ? 2 % (element.exact + 1) : 1;
    case ReduceOp::minimum:
    case ReduceOp::maximum: return random_to(element.exact);
    default: break;
  }
  if (n <= element.exact) return random_to(element.exact / n);
  return (place + i) % n < element.exact ? 1 : 0;  // few members of many add something
}

/// What all members' elements `i` make together; a mean is not yet divided.
uint32_t combined(const Operation& o, const ElementRow& element, uint64_t i) {
  uint32_t all = summand(o, element, 0, i);
  for (uint64_t place = 1; place < o.members.size(); ++place) {
    const uint32_t one = summand(o, element, place, i);
    switch (o.reduce) {
      case ReduceOp::sum:
      case ReduceOp::average: all += one; break;
      case ReduceOp::product: all *= one; break;
      case ReduceOp::minimum: all = std::min(all, one); break;
      case ReduceOp::maximum: all = std::max(all, one); break;
    }
  }
  return all;
}

Error wrong(const Operation& o, uint64_t byte, std::string_view why) {
  return {
      Code::stuck, "replay.verify", fmt::format("{}: byte {} of the output is wrong: {}", describe(o), byte, why), {}};
}

/// out[at, at + count), as far as there is any, must be what `expect(first, block)` writes: `block` stands for the
/// bytes from at + first on. `why(found, expected)` words the error.
template <class Expect, class Why>
Result<void> check_block_by_block(const Operation& o, uint64_t at, uint64_t count, const Expect& expect,
                                  const Why& why) {
  std::array<std::byte, 4096> must;  // whole elements of every type
  at = std::min<uint64_t>(at, o.out.size());
  count = std::min<uint64_t>(count, o.out.size() - at);
  for (uint64_t first = 0; first < count; first += must.size()) {
    const auto found = o.out.subspan(at + first, std::min<uint64_t>(must.size(), count - first));
    const std::span<std::byte> block(must.data(), found.size());
    expect(first, block);
    const auto [is, should] = std::mismatch(found.begin(), found.end(), block.begin());
    if (is != found.end())
      return Failure(wrong(o, at + first + static_cast<uint64_t>(is - found.begin()),
                           why(static_cast<int>(*is), static_cast<int>(*should))));
  }
  return {};
}

/// out[at ...] must be what `origin` has for `destination`, from its byte `first` on.
Result<void> check_moved(const Operation& o, uint64_t at, uint64_t count, int64_t origin, int64_t destination,
                         uint64_t first) {
  return check_block_by_block(
      o, at, count,
      [&](uint64_t from, std::span<std::byte> block) { fill_moved(o, origin, destination, first + from, block); },
      [&](int found, int expected) {
        return fmt::format("{}, but rank {} sent {}", found, origin == kOfMessages ? o.partner : origin, expected);
      });
}

/// out[0 ...] must be the combination of all members' elements from `first` on, as far as there are any.
Result<void> check_reduced(const Operation& o, uint64_t first) {
  const ElementRow& element = element_of(o.dtype);
  const uint64_t count = o.in_bytes / element.bytes;
  const uint64_t there = std::min<uint64_t>(o.out.size() / element.bytes, count - std::min(first, count));
  return check_block_by_block(
      o, 0, there * element.bytes,
      [&](uint64_t from, std::span<std::byte> block) {
        for (uint64_t i = 0; i < block.size() / element.bytes; ++i)
          element.set(&block[i * element.bytes], combined(o, element, first + from / element.bytes + i));
        if (o.reduce == ReduceOp::average) element.divide(block, static_cast<uint32_t>(o.members.size()));
      },
      [&](int, int) {
        return fmt::format("it is not the {} of the data of all members",
                           kReduceOpNames[static_cast<size_t>(o.reduce)]);
      });
}

/// Where the root's buffer has no n equal parts, the last fewer than n bytes of them all stand for nothing.
Result<void> check_scattered(const Operation& o) {
  const uint64_t n = o.members.size(), begin = o.place * o.out.size(), all = n * o.out.size();
  const uint64_t sure = all < n ? 0 : all - n + 1;
  const uint64_t count = begin >= sure ? 0 : std::min<uint64_t>(o.out.size(), sure - begin);
  return check_moved(o, 0, count, o.members[o.root], -1, begin);
}

Result<void> check_all_to_all(const Operation& o) {
  const uint64_t n = o.members.size();
  const int64_t me = o.members[o.place];
  uint64_t at = 0;
  for (uint64_t j = 0; j < n; ++j) {
    const uint64_t count = o.out_split.empty() ? o.out.size() / n : o.out_split[j];
    CHAKRA_TRY(check_moved(o, at, count, o.members[j], me, 0));
    at += count;
  }
  return {};
}

}  // namespace

uint64_t whole_bytes(const Operation& o) {
  const uint64_t n = o.members.size();
  if (o.kind != Operation::Kind::collective) return std::max(o.in_bytes, o.out_bytes);
  switch (o.type) {
    case CommType::broadcast: return o.place == o.root ? o.in_bytes : o.out_bytes;
    case CommType::scatter: return n * (o.place == o.root ? o.in_bytes / n + (o.in_bytes % n != 0) : o.out_bytes);
    case CommType::all_to_all: return o.in_split.empty() && o.out_split.empty() ? o.in_bytes : 0;
    case CommType::barrier: return 0;
    default: return o.in_bytes;
  }
}

void fill_input(const Operation& o, std::span<std::byte> input) {
  CHAKRA_ASSERT(input.size() == o.in_bytes);
  if (o.kind == Operation::Kind::send) return fill_moved(o, kOfMessages, o.tag, 0, input);
  if (o.kind == Operation::Kind::receive) return;
  if (reduces(o)) {
    const ElementRow& element = element_of(o.dtype);
    for (uint64_t i = 0; (i + 1) * element.bytes <= input.size(); ++i)
      element.set(&input[i * element.bytes], summand(o, element, o.place, i));
    return;
  }
  const int64_t me = o.members[o.place];
  if (o.type != CommType::all_to_all) return fill_moved(o, me, -1, 0, input);
  const uint64_t n = o.members.size();
  uint64_t at = 0;
  for (uint64_t j = 0; j < n; ++j) {
    const uint64_t count = o.in_split.empty() ? input.size() / n : o.in_split[j];
    if (at + count > input.size()) return;
    fill_moved(o, me, o.members[j], 0, input.subspan(at, count));
    at += count;
  }
}

Result<void> verify_output(const Operation& o) {
  if (o.out.empty() || o.kind == Operation::Kind::send) return {};
  const uint64_t n = o.members.size();
  if (o.kind == Operation::Kind::receive) return check_moved(o, 0, o.out.size(), kOfMessages, o.tag, 0);
  switch (o.type) {
    case CommType::all_reduce:
    case CommType::reduce: return check_reduced(o, 0);
    case CommType::reduce_scatter:
    case CommType::reduce_scatter_block: {
      const uint64_t count = o.in_bytes / element_of(o.dtype).bytes;
      return check_reduced(o, o.place * (count / n + (count % n != 0)));
    }
    case CommType::broadcast: return check_moved(o, 0, o.out.size(), o.members[o.root], -1, 0);
    case CommType::scatter: return check_scattered(o);
    case CommType::all_gather:
    case CommType::gather:
      for (uint64_t j = 0; j < n; ++j) CHAKRA_TRY(check_moved(o, j * o.in_bytes, o.in_bytes, o.members[j], -1, 0));
      return {};
    case CommType::all_to_all: return check_all_to_all(o);
    default: return {};
  }
}

}  // namespace chakra::replay
