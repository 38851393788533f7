// What ranks put in, and what must come out.
#include "chakra/replay/data.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

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

/// Byte `i` of what `origin` has for `destination` (-1: for all).
std::byte moved_byte(const Operation& o, int64_t origin, int64_t destination, uint64_t i) {
  const uint64_t word = mixed(static_cast<uint64_t>(origin), static_cast<uint64_t>(destination) ^ o.index << 20, i / 8);
  return static_cast<std::byte>(word >> (i % 8 * 8));
}

/// Element `i` of what the member at `place` adds.
uint32_t summand(const Operation& o, const ElementRow& element, uint64_t place, uint64_t i) {
  const uint64_t n = o.members.size(), hash = mixed(static_cast<uint64_t>(o.members[place]), o.index, i);
  switch (o.reduce) {
    case ReduceOp::product: return (place + i) % n == 0 ? 2 % (element.exact + 1) : 1;
    case ReduceOp::minimum:
    case ReduceOp::maximum: return static_cast<uint32_t>(hash % (uint64_t{std::min(element.exact, 1000u)} + 1));
    default: break;
  }
  if (n <= element.exact) return static_cast<uint32_t>(hash % (std::min<uint64_t>(element.exact / n, 1000) + 1));
  return (place + i) % n < element.exact ? 1 : 0;  // few members of many add something
}

void fill_moved(const Operation& o, int64_t origin, int64_t destination, std::span<std::byte> to) {
  for (uint64_t i = 0; i < to.size(); ++i) to[i] = moved_byte(o, origin, destination, i);
}

Error wrong(const Operation& o, uint64_t byte, std::string_view why) {
  return {
      Code::stuck, "replay.verify", fmt::format("{}: byte {} of the output is wrong: {}", describe(o), byte, why), {}};
}

/// out[at ...] must be what `origin` has for `destination`, from its byte `first` on.
Result<void> check_moved(const Operation& o, uint64_t at, uint64_t count, int64_t origin, int64_t destination,
                         uint64_t first) {
  for (uint64_t i = 0; i < count && at + i < o.out.size(); ++i)
    if (const std::byte must = moved_byte(o, origin, destination, first + i); o.out[at + i] != must)
      return tl::unexpected(wrong(o, at + i,
                                  fmt::format("{}, but rank {} sent {}", static_cast<int>(o.out[at + i]),
                                              origin == kOfMessages ? o.partner : origin, static_cast<int>(must))));
  return {};
}

/// out[0 ...] must be the combination of all members' elements from `first` on, as far as there are any.
Result<void> check_reduced(const Operation& o, uint64_t first) {
  const ElementRow& element = element_of(o.dtype);
  const uint64_t count = o.in_bytes / element.bytes;
  std::vector<std::byte> must(element.bytes), one(element.bytes);
  for (uint64_t i = 0; (i + 1) * element.bytes <= o.out.size() && first + i < count; ++i) {
    element.set(must.data(), summand(o, element, 0, first + i));
    for (uint64_t place = 1; place < o.members.size(); ++place) {
      element.set(one.data(), summand(o, element, place, first + i));
      element.combine(o.reduce, must, one);
    }
    if (o.reduce == ReduceOp::average) element.divide(must, static_cast<uint32_t>(o.members.size()));
    if (!std::equal(must.begin(), must.end(), o.out.begin() + static_cast<int64_t>(i * element.bytes)))
      return tl::unexpected(wrong(
          o, i * element.bytes,
          fmt::format("it is not the {} of what all members put in", kReduceOpNames[static_cast<size_t>(o.reduce)])));
  }
  return {};
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
  if (o.kind == Operation::Kind::send) return fill_moved(o, kOfMessages, o.tag, input);
  if (o.kind == Operation::Kind::receive) return;
  if (reduces(o)) {
    const ElementRow& element = element_of(o.dtype);
    for (uint64_t i = 0; (i + 1) * element.bytes <= input.size(); ++i)
      element.set(&input[i * element.bytes], summand(o, element, o.place, i));
    return;
  }
  const int64_t me = o.members[o.place];
  if (o.type != CommType::all_to_all) return fill_moved(o, me, -1, input);
  const uint64_t n = o.members.size();
  uint64_t at = 0;
  for (uint64_t j = 0; j < n; ++j) {
    const uint64_t count = o.in_split.empty() ? input.size() / n : o.in_split[j];
    if (at + count > input.size()) return;
    fill_moved(o, me, o.members[j], input.subspan(at, count));
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
