#include "chakra/pack/substitution.h"

#include <algorithm>
#include <utility>

#include "chakra/pack/column_keys.h"
#include "chakra/pack/texts.h"

namespace chakra::pack {
namespace {

constexpr size_t kMostPairs = 64;                  ///< of a column; with more, the column is stored
constexpr size_t kMostReplaced = size_t{1} << 24;  ///< bytes of the texts of all replacements of a rank

enum class Values { others, texts, integers };

/// The values of the column of an entry: lists and real numbers are others.
Values values_of(std::string_view entry) {
  if (entry.size() <= kFieldAt || entry[0] != static_cast<char>(EntryKind::column)) return Values::others;
  if (entry[kKindAt] == kIo) return Values::texts;
  const auto field = static_cast<unsigned char>(entry[kFieldAt]);
  if (entry[kKindAt] != kAttr || field >= schema::kMembers.size() || schema::is_list(field)) return Values::others;
  const Coding coding = schema::kMembers[field].coding;
  if (coding == Coding::text) return Values::texts;
  return coding == Coding::none || fixed_bytes(coding) > 0 ? Values::others : Values::integers;
}

std::string_view stream_of(const Columns& columns, std::optional<uint32_t> id) {
  const auto found = id ? columns.find(*id) : columns.end();
  return found == columns.end() ? std::string_view() : std::string_view(found->second);
}

/// A column that differs: its streams of values and of numbers.
struct Candidate {
  uint32_t main = 0;
  std::optional<uint32_t> numbers;
  Values values = Values::others;
};

/// Reads the values of a group's column, which was written by ColumnWriter, without the other columns.
class ValueReader {
 public:
  ValueReader(const Group& group, const Candidate& column, const Dictionary& dictionary)
      : main_(stream_of(group.columns, column.main)),
        numbers_(stream_of(group.columns, column.numbers)),
        firsts_(stream_of(group.firsts, column.main)),
        texts_(column.values == Values::texts),
        dictionary_(dictionary) {}
  bool next(std::string& value) {
    if (main_.done()) return false;
    value.clear();
    last_ += static_cast<uint64_t>(unzigzag(main_.varint()));
    if (!texts_) {
      put_varint(value, zigzag(static_cast<int64_t>(last_)));
      return true;
    }
    put_varint(value, last_);
    const std::string_view entry = dictionary_[static_cast<uint32_t>(last_)];
    if (entry[0] != static_cast<char>(EntryKind::pattern)) return true;
    const auto [known, first] = last_numbers_.try_emplace(last_);
    if (first) {
      known->second.resize(count_numbers(entry.substr(1)));
      for (uint64_t& number : known->second) number = firsts_.varint();
    }
    for (uint64_t& number : known->second)
      put_varint(value, number += static_cast<uint64_t>(unzigzag(numbers_.varint())));
    return true;
  }

 private:
  ByteReader main_, numbers_, firsts_;
  bool texts_;
  const Dictionary& dictionary_;
  uint64_t last_ = 0;
  absl::flat_hash_map<uint64_t, std::vector<uint64_t>> last_numbers_;
};

/// Return the pairs of different values; none if a value has two partners, or there are too many pairs.
std::optional<ColumnPairs> pairs_of(const std::vector<Group>& own, const std::vector<Group>& master,
                                    const Candidate& column, const Dictionary& dictionary) {
  ColumnPairs found{column.main, {}};
  absl::flat_hash_map<std::string, std::string> partners;
  std::string from, to;
  for (size_t g = 0; g < own.size(); ++g) {
    ValueReader left(master[g], column, dictionary), right(own[g], column, dictionary);
    while (left.next(from)) {
      if (!right.next(to)) return std::nullopt;
      const auto [partner, added] = partners.try_emplace(from, to);
      if (!added && partner->second != to) return std::nullopt;
      if (!added || from == to) continue;
      if (found.pairs.size() == kMostPairs) return std::nullopt;
      found.pairs.emplace_back(from, to);
    }
    if (right.next(to)) return std::nullopt;
  }
  return found;
}

/// Whether the texts of all nodes stand in the same places: nodes have the same shapes and names.
bool are_aligned(const std::vector<uint64_t>& differing, const Dictionary& dictionary) {
  return std::none_of(differing.begin(), differing.end(), [&](uint64_t id) {
    const char kind = dictionary[static_cast<uint32_t>(id)][kKindAt];
    return kind == kShape || kind == kName;
  });
}

Failure damaged() { return fail(Code::bad_input, "io.container.damaged", "the replaced values make no sense"); }

Result<void> read_value(ByteReader& in, Values values, const EntryOf& entry_of, Replacement& value) {
  const char* const begin = in.at;
  value.integer = in.varint();
  if (values == Values::texts && in.ok) {
    CHAKRA_ASSIGN(const std::string_view entry, entry_of(value.integer));
    const bool pattern = !entry.empty() && entry[0] == static_cast<char>(EntryKind::pattern);
    if (entry.empty() || entry.size() > kMostReplaced || (!pattern && entry[0] != static_cast<char>(EntryKind::text)))
      return damaged();
    std::vector<uint64_t> numbers(pattern ? count_numbers(entry.substr(1)) : 0);
    for (uint64_t& number : numbers) number = in.varint();
    value.text.clear();
    join_numbers(entry.substr(1), numbers, value.text);
  }
  value.bytes.assign(begin, in.at);
  value.integer = static_cast<uint64_t>(unzigzag(value.integer));
  if (!in.ok) return damaged();
  return {};
}

/// The columns of `bytes`, and after each column its pairs.
template <class Begin, class Visit>
Result<void> read_pairs(std::string_view bytes, const EntryOf& entry_of, const Begin& begin, const Visit& visit) {
  ByteReader in(bytes);
  size_t text_bytes = 0;
  Replacement from, to;
  while (!in.done()) {
    const uint64_t column = in.varint();
    if (!in.ok) return damaged();
    CHAKRA_ASSIGN(const std::string_view entry, entry_of(column));
    const Values values = values_of(entry);
    begin(static_cast<uint32_t>(column));
    for (uint64_t left = in.varint(); left > 0 && in.ok; --left) {
      CHAKRA_TRY(read_value(in, values, entry_of, from));
      CHAKRA_TRY(read_value(in, values, entry_of, to));
      text_bytes += to.text.size();
      if (!in.ok || text_bytes > kMostReplaced) return damaged();
      visit(entry, from, to);
    }
    if (!in.ok || values == Values::others || entry[1] != '0' + kMain) return damaged();
  }
  return {};
}

}  // namespace

std::vector<ColumnPairs> substitute(const std::vector<Group>& own, const std::vector<Group>& master,
                                    const Dictionary& dictionary, std::vector<uint64_t>& differing) {
  if (own.size() != master.size() || !are_aligned(differing, dictionary)) return {};
  std::map<std::string_view, bool> tried;  // by name, which the streams of a column share; true: replaced
  std::vector<ColumnPairs> replaced;
  std::erase_if(differing, [&](uint64_t id) {
    const std::string_view entry = dictionary[static_cast<uint32_t>(id)], name = entry.substr(kKindAt);
    const Values values = values_of(entry);
    if (values == Values::others) return false;
    const auto [known, added] = tried.try_emplace(name, false);
    if (!added) return known->second;
    const auto stream = [&](size_t s) {
      return dictionary.find(EntryKind::column, std::string(1, static_cast<char>('0' + s)).append(name));
    };
    const std::optional<uint32_t> main = stream(kMain);
    if (!main) return false;
    std::optional<ColumnPairs> pairs = pairs_of(own, master, {*main, stream(kNumbers), values}, dictionary);
    if (!pairs) return false;
    replaced.push_back(std::move(*pairs));
    return known->second = true;
  });
  return replaced;
}

std::string encode(const std::vector<ColumnPairs>& columns) {
  std::string out;
  for (const ColumnPairs& column : columns) {
    put_varint(out, column.column);
    put_varint(out, column.pairs.size());
    for (const auto& [from, to] : column.pairs) (out += from) += to;
  }
  return out;
}

Result<void> for_each_pair(std::string_view bytes, const EntryOf& entry_of, const VisitPair& visit) {
  return read_pairs(
      bytes, entry_of, [](uint32_t) {}, visit);
}

Result<Substitutions> Substitutions::parse(std::string_view bytes, const EntryOf& entry_of) {
  Substitutions parsed;
  Replacements* column = nullptr;
  CHAKRA_TRY(read_pairs(
      bytes, entry_of,
      [&](uint32_t id) {
        std::unique_ptr<Replacements>& found = parsed.columns_[id];
        if (!found) found = std::make_unique<Replacements>();
        column = found.get();
      },
      [&](std::string_view, const Replacement& from, const Replacement& to) {
        column->values.emplace(from.bytes, to);
      }));
  return parsed;
}

}  // namespace chakra::pack
