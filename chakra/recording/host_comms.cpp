#include "chakra/recording/host_comms.h"

#include <algorithm>

#include "chakra/recording/json_value.h"

namespace chakra::recording {
namespace {

namespace ondemand = simdjson::ondemand;

/// The elements of a JSON list at its top level: "[a, [b, c]]" gives "a" and "[b, c]".
std::vector<std::string_view> split_list(std::string_view list) {
  std::vector<std::string_view> items;
  if (list.size() < 2) return items;
  list = list.substr(1, list.size() - 2);
  int depth = 0;
  size_t begin = 0;
  const auto add = [&](size_t end) {
    std::string_view item = list.substr(begin, end - begin);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    items.push_back(item);
    begin = end + 1;
  };
  for (size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (c == '"') {
      for (++i; i < list.size() && list[i] != '"'; ++i)
        if (list[i] == '\\') ++i;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      add(i);
    }
  }
  if (!list.empty()) add(list.size());
  return items;
}

std::string_view without_quotes(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return text.substr(1, text.size() - 2);
  return text;
}

}  // namespace

void HostComms::read_attr(std::string_view name, std::string_view json) {
  const auto number = [&](int64_t& to) {
    if (int64_t value = 0; parse_integer(json, value)) to = value;
  };
  if (is(name, "collective_name")) record_.collective = strings_.intern(json);
  else if (is(name, "dtype")) record_.dtype = strings_.intern(json);
  else if (is(name, "pg_name")) record_.group = strings_.intern(decoded(json));
  else if (is(name, "pg_desc")) record_.group_description = strings_.intern(decoded(json));
  else if (is(name, "in_split_size")) record_.in_split = texts_.add(json);
  else if (is(name, "out_split_size")) record_.out_split = texts_.add(json);
  else if (is(name, "in_msg_nelems")) number(record_.in_elements);
  else if (is(name, "out_msg_nelems")) number(record_.out_elements);
  else if (is(name, "pg_size")) number(record_.group_size);
  else if (is(name, "global_rank_start")) number(record_.rank_start);
  else if (is(name, "global_rank_stride")) number(record_.rank_stride);
}

/// A number, or [number, whether the message is point-to-point].
bool HostComms::is_sequence(std::string_view input) {
  if (!input.starts_with('[')) return parse_integer(input, record_.sequence);
  const std::vector<std::string_view> pair = split_list(input);
  return pair.size() == 2 && (pair[1] == "true" || pair[1] == "false") && parse_integer(pair[0], record_.sequence);
}

void HostComms::read_inputs(std::string_view values) {
  const std::vector<std::string_view> inputs = split_list(values);
  for (size_t i = 0; i + 3 < inputs.size() && i < 2; ++i)
    if (is_sequence(inputs[i])) {
      const std::vector<std::string_view> group = split_list(inputs[i + 1]);
      if (group.size() == 2 && record_.group == 0) {
        record_.group = strings_.intern(decoded(without_quotes(group[0])));
        record_.group_description = strings_.intern(decoded(without_quotes(group[1])));
      }
      if (record_.collective == 0) record_.collective = strings_.intern(without_quotes(inputs[i + 3]));
      note_rank(inputs[i + 1], group.size() == 2, inputs[i + 2]);
      if (record_.in_split.empty() && i + 5 < inputs.size() && inputs[i + 4].starts_with('[')) {
        record_.in_split = texts_.add(inputs[i + 4]);
        record_.out_split = texts_.add(inputs[i + 5]);
      }
      return;
    }
}

/// The place in the group: the rank's own, but of a rooted collective the root's and of a message the partner's (c10d
/// did so when it named groups; before, nobody knows).
void HostComms::note_rank(std::string_view group, bool named, std::string_view text) {
  int64_t rank = 0;
  if (record_.collective == 0 || !parse_integer(text, rank) || rank < 0) return;
  if (named) record_.rank = rank;
  const CommKind kind = comm_kind(strings_[record_.collective]);
  if (kind.type != trace::NodeType::coll || trace::has_root(kind.collective)) return;
  const auto [found, added] = rank_in_group_.emplace(group, rank);
  if (found->second != rank) found->second = -1;
}

int64_t HostComms::find_rank(const std::vector<trace::ProcessGroup>& groups) const {
  for (const auto& [group, rank] : rank_in_group_)
    if (contains(group, "default_pg")) return rank;
  if (rank_in_group_.size() != 1) return -1;
  const auto& [group, rank] = *rank_in_group_.begin();
  const std::vector<std::string_view> name = split_list(group);
  if (name.size() != 2 || rank < 0) return rank;  // old records do not name the group
  for (const trace::ProcessGroup& known : groups)
    if (known.name == decoded(without_quotes(name[0])) && static_cast<size_t>(rank) < known.ranks.size())
      return known.ranks[static_cast<size_t>(rank)];
  return -1;
}

void add_groups(std::string_view values, const std::string& file, std::vector<trace::ProcessGroup>& groups) {
  const std::vector<std::string_view> inputs = split_list(values);
  if (inputs.empty()) return;
  const simdjson::padded_string outer{inputs[0]};
  ondemand::parser parser;
  ondemand::document document;
  std::string_view text;
  if (parser.iterate(outer).get(document) || document.get_string().get(text)) return;
  auto spec = parse_spec(text, file);
  if (!spec) return;
  for (const Spec& item : spec->items) {
    const auto field = [&](const char* key) {
      const Spec* found = item.find(key);
      return found ? found->scalar : std::string();
    };
    trace::ProcessGroup group{field("pg_name"), field("pg_desc"), field("backend_config"), {}, 0};
    (void)parse_integer(field("group_size"), group.size);
    if (const Spec* ranks = item.find("ranks"))
      for (const Spec& rank : ranks->items) {
        int64_t number = 0;
        if (parse_integer(rank.scalar, number)) group.ranks.push_back(number);
      }
    const auto same =
        std::find_if(groups.begin(), groups.end(), [&](const auto& known) { return known.name == group.name; });
    if (same == groups.end()) groups.push_back(std::move(group));
  }
}

}  // namespace chakra::recording
