#include "chakra/pack/metadata.h"

#include <deque>
#include <utility>
#include <vector>

#include "chakra/base/bytes.h"
#include "chakra/pack/texts.h"
#include "chakra/schema/schema.h"

namespace chakra::pack {
namespace {

using schema::AttrRecord;
using schema::Coding;
using schema::MetadataRecord;

constexpr size_t kMostBytes = 256;  ///< with more differences, a packed block is shorter

/// Metadata without numbers, and the numbers in order. The record's views refer to the message and to `patterns`.
struct Split {
  MetadataRecord record;
  std::deque<std::string> patterns;
  std::vector<std::vector<uint64_t>> numbers;  ///< per attribute
};

bool has_text(const AttrRecord& attr) {
  return !schema::is_list(attr.field) && schema::kMembers[attr.field].coding == Coding::text;
}
/// The integer of an attribute; null for other members.
int64_t* integer_of(AttrRecord& attr) {
  const Coding coding = schema::is_list(attr.field) ? Coding::none : schema::kMembers[attr.field].coding;
  return coding == Coding::varint || coding == Coding::zigzag ? &attr.integer : nullptr;
}

/// Split a message; none if the message is unusual: encode() would not return it.
std::optional<Split> split(std::string_view message) {
  Split parts;
  if (!schema::decode(message, parts.record) || schema::encode(parts.record) != message) return std::nullopt;
  for (AttrRecord& attr : parts.record.attrs) {
    std::vector<uint64_t>& numbers = parts.numbers.emplace_back();
    if (int64_t* const integer = integer_of(attr)) {
      numbers.push_back(static_cast<uint64_t>(std::exchange(*integer, 0)));
    } else if (has_text(attr)) {
      split_numbers(attr.bytes, parts.patterns.emplace_back(), numbers);
      attr.bytes = parts.patterns.back();
    }
  }
  return parts;
}

}  // namespace

std::optional<std::string> number_differences(std::string_view own, std::string_view master) {
  const std::optional<Split> left = split(own), right = split(master);
  if (!left || !right || schema::encode(left->record) != schema::encode(right->record)) return std::nullopt;
  std::string out;
  uint64_t run = 0, difference = 0;
  for (size_t a = 0; a < left->numbers.size(); ++a) {
    if (left->numbers[a].size() != right->numbers[a].size()) return std::nullopt;
    for (size_t i = 0; i < left->numbers[a].size(); ++i) {
      const uint64_t next = left->numbers[a][i] - right->numbers[a][i];
      if (next != difference && run > 0) {
        put_varint(out, std::exchange(run, 0));
        put_varint(out, zigzag(static_cast<int64_t>(difference)));
      }
      difference = next;
      ++run;
    }
  }
  if (difference != 0) {
    put_varint(out, run);
    put_varint(out, zigzag(static_cast<int64_t>(difference)));
  }
  if (out.size() > kMostBytes || with_differences(master, out) != own) return std::nullopt;
  return out;
}

std::optional<std::string> with_differences(std::string_view master, std::string_view differences) {
  std::optional<Split> parts = split(master);
  if (!parts) return std::nullopt;
  ByteReader in(differences);
  uint64_t run = 0, difference = 0;
  std::deque<std::string> texts;
  for (size_t a = 0; a < parts->numbers.size(); ++a) {
    for (uint64_t& number : parts->numbers[a]) {
      if (run == 0 && !in.done()) {
        run = in.varint();
        difference = static_cast<uint64_t>(unzigzag(in.varint()));
        if (!in.ok || run == 0) return std::nullopt;
      }
      if (run == 0) break;  // the others are the master's
      number += difference;
      --run;
    }
    AttrRecord& attr = parts->record.attrs[a];
    if (int64_t* const integer = integer_of(attr)) *integer = static_cast<int64_t>(parts->numbers[a][0]);
    else if (has_text(attr)) {
      join_numbers(attr.bytes, parts->numbers[a], texts.emplace_back());
      attr.bytes = texts.back();
    }
  }
  if (run > 0 || !in.done()) return std::nullopt;
  return schema::encode(parts->record);
}

}  // namespace chakra::pack
