#include "chakra/recording/rank_names.h"

#include <algorithm>
#include <vector>

#include "chakra/recording/comm_calls.h"
#include "chakra/recording/comm_kernels.h"
#include "chakra/recording/comm_record.h"
#include "chakra/recording/vendors.h"

namespace chakra::recording {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The number behind "tp-", where no letter stands before it.
std::optional<int64_t> number_behind(std::string_view name, std::string_view word) {
  for (size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    if (at > 0 && name[at - 1] >= 'a' && name[at - 1] <= 'z') continue;
    const std::string_view rest = name.substr(at + word.size());
    const auto end = static_cast<size_t>(std::find_if_not(rest.begin(), rest.end(), is_digit) - rest.begin());
    int64_t number = 0;
    if (end > 0 && parse_integer(rest.substr(0, end), number)) return number;
  }
  return std::nullopt;
}

/// Calls `use` with what follows each `"key":`, without blanks.
template <class Use>
void each_value(std::string_view text, std::string_view quoted_key, const Use& use) {
  for (size_t at = text.find(quoted_key); at != std::string_view::npos; at = text.find(quoted_key, at + 1)) {
    const size_t value = text.find_first_not_of(" \t\r\n:", at + quoted_key.size());
    if (value != std::string_view::npos) use(text.substr(value));
  }
}

std::optional<int64_t> leading_number(std::string_view text) {
  const auto end = static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
  int64_t number = 0;
  return end > 0 && parse_integer(text.substr(0, end), number) ? std::optional(number) : std::nullopt;
}

constexpr int64_t kMostRanks = 1'000'000;

bool is_communication(std::string_view name) {
  return comm_kernel(name) || is_comm_record(name) || find_comm_call(name) || backend_of(name);
}

/// Whether a name in the text is of an operator or kernel that communicates.
bool names_communication(std::string_view text) {
  bool found = false;
  for (const std::string_view key : {"\"name\"", "\"formatted_kernel_name\""})
    each_value(text, key, [&](std::string_view value) {
      if (found || !value.starts_with('"')) return;
      const size_t end = value.find('"', 1);
      found = end != std::string_view::npos && is_communication(value.substr(1, end - 1));
    });
  return found;
}

void look(std::string_view text, RecordedRanks& found, std::set<int64_t>& own) {
  each_value(text, "\"Rank\"", [&](std::string_view value) {
    if (const auto rank = leading_number(value)) own.insert(*rank);
  });
  each_value(text, "\"Process Group Ranks\"", [&](std::string_view value) {
    const size_t end = value.find(']');
    if (end == std::string_view::npos || !value.starts_with("\"[")) return;
    for (const int64_t rank : parse_ranks(value.substr(1, end))) found.world.insert(rank);
  });
  each_value(text, "\"Group size\"", [&](std::string_view value) {
    const int64_t size = std::min(leading_number(value).value_or(0), kMostRanks);
    if (size > static_cast<int64_t>(found.world.size()) && found.world.empty())
      for (int64_t rank = 0; rank < size; ++rank) found.world.insert(rank);
  });
  each_value(text, "\"world_size\"", [&](std::string_view value) {
    if (leading_number(value).value_or(0) > 1) found.has_communication = true;
  });
  if (!found.has_communication) found.has_communication = names_communication(text);
}

}  // namespace

std::optional<GridPlace> grid_place(std::string_view name) {
  const std::string lower = to_lower(name);
  const std::optional<int64_t> tp = number_behind(lower, "tp-");
  if (!tp) return std::nullopt;
  return GridPlace{*tp, number_behind(lower, "pp-").value_or(0)};
}

Result<RecordedRanks> recorded_ranks(const std::string& path) {
  constexpr size_t kBlock = size_t{1} << 20, kOverlap = size_t{1} << 14;  // a record may lie across two blocks
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(path));
  RecordedRanks found;
  std::set<int64_t> own;
  std::string text, block(kBlock, 0);
  for (;;) {
    CHAKRA_ASSIGN(const size_t got, source.read(block));
    text.append(block, 0, got);
    look(text, found, own);
    if (got < block.size()) break;
    text.erase(0, text.size() - std::min(text.size(), kOverlap));
  }
  if (own.size() == 1) found.rank = *own.begin();
  return found;
}

}  // namespace chakra::recording
