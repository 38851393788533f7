// From a tree of values to a Dump.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/flight/document.h"
#include "chakra/flight/flight.h"

namespace chakra::flight {
namespace {

using Kind = Value::Kind;

/// A dump may hold a list many times: this number of values and bytes, and four for each byte of the
/// file, are taken from it before it is refused.
constexpr size_t kMostSteps = size_t{1} << 27;
constexpr size_t kMostDimensions = 64;

// `flight.dump.field` (1): a field of a dump that is missing, or of another kind than PyTorch writes.
// `flight.dump.version` (1): a dump of a version that is not 2.x.
// `flight.dump.large` (1): a dump of more than 256 MiB, 16,777,216 values or 64 levels.
class DumpReader {
 public:
  DumpReader(const Document& document, const std::string& file, int64_t rank) : document_(document) {
    dump_.file = file;
    dump_.rank = rank;
  }

  Result<Dump> run() {
    const Value& root = at(document_.root);
    if (root.kind != Kind::dict) return wrong("the dump is not a dictionary");
    CHAKRA_TRY(each_field(root, [&](std::string_view key, const Value& value) -> Result<void> {
      if (key == "version")
        dump_.version = value.kind == Kind::real ? fmt::format("{}", value.real()) : std::string(value.text);
      return {};
    }));
    CHAKRA_TRY(check_version());
    CHAKRA_TRY(each_field(root, [&](std::string_view key, const Value& value) -> Result<void> {
      if (key == "pg_config") return read_groups(value);
      if (key == "pg_status") return read_status(value);
      return {};
    }));
    CHAKRA_TRY(each_field(root, [&](std::string_view key, const Value& value) -> Result<void> {
      if (key == "entries") return read_entries(value);
      return {};
    }));
    std::stable_sort(dump_.entries.begin(), dump_.entries.end(),
                     [](const Entry& a, const Entry& b) { return a.record < b.record; });
    return std::move(dump_);
  }

 private:
  const Value& at(uint32_t place) const { return document_.values[place]; }

  Failure wrong(std::string text) const {
    return fail(Code::bad_input, "flight.dump.field", std::move(text), {dump_.file});
  }
  Failure wrong_field(std::string_view key) const {
    return wrong(
        fmt::format("record {}: the field {} has a value of the wrong type", dump_.entries.size(), quote(key)));
  }

  Result<void> check_version() const {
    if (dump_.version.starts_with("2.")) return {};
    return fail(Code::bad_input, "flight.dump.version",
                dump_.version.empty()
                    ? std::string("the dump has no version")
                    : fmt::format("the dump has version {}; 2.x is read (PyTorch 2.3 or newer)", quote(dump_.version)),
                {dump_.file});
  }

  Result<void> spend(size_t steps) {
    steps_ += steps;
    if (steps_ <= kMostSteps + 4 * document_.size) return {};
    return fail(Code::bad_input, "flight.dump.large", "the dump has too many references to its values", {dump_.file});
  }

  template <class Use>
  Result<void> each_field(const Value& dict, const Use& use) {
    const auto items = document_.items(dict);
    CHAKRA_TRY(spend(items.size()));
    if (dict.kind != Kind::dict) return {};
    for (size_t i = 0; i + 1 < items.size(); i += 2) CHAKRA_TRY(use(at(items[i]).text, at(items[i + 1])));
    return {};
  }

  /// A number, or a text that is one, as JSON's pg_status has.
  static bool integer(const Value& value, int64_t& number) {
    if (value.kind == Kind::text) return parse_integer(value.text, number);
    if (value.kind != Kind::integer && value.kind != Kind::boolean) return false;
    number = value.number;
    return true;
  }

  // ---- groups ------------------------------------------------------------------------------------------

  /// "[0, 1]", or a list.
  Result<void> read_ranks(const Value& value, std::vector<int64_t>& ranks) {
    int64_t rank = 0;
    if (value.kind == Kind::list) {
      CHAKRA_TRY(spend(document_.items(value).size()));
      for (const uint32_t item : document_.items(value)) {
        if (!integer(at(item), rank)) return wrong("pg_config: a rank that is not a number");
        ranks.push_back(rank);
      }
      return {};
    }
    CHAKRA_TRY(spend(value.text.size()));
    std::string_view text = value.text;
    while (!text.empty()) {
      const size_t begin = text.find_first_of("0123456789-");
      if (begin == std::string_view::npos) break;
      const size_t end = std::min(text.find_first_not_of("0123456789", begin + 1), text.size());
      if (!parse_integer(text.substr(begin, end - begin), rank)) return wrong("pg_config: ranks that are not numbers");
      ranks.push_back(rank);
      text.remove_prefix(end);
    }
    return {};
  }

  Result<void> read_groups(const Value& groups) {
    if (groups.kind != Kind::dict) return wrong("pg_config is not a dictionary");
    return each_field(groups, [&](std::string_view name, const Value& value) -> Result<void> {
      Group group{std::string(name), {}, {}};
      CHAKRA_TRY(each_field(value, [&](std::string_view key, const Value& field) -> Result<void> {
        if (key == "desc") group.description = std::string(field.text);
        if (key == "ranks") return read_ranks(field, group.ranks);
        return {};
      }));
      group_of_.try_emplace(group.name, static_cast<uint32_t>(dump_.groups.size()));
      dump_.groups.push_back(std::move(group));
      return {};
    });
  }

  Result<void> read_status(const Value& status) {
    return each_field(status, [&](std::string_view id, const Value& value) -> Result<void> {
      int64_t pg_id = -1, last = -1;
      if (!parse_integer(id, pg_id)) return {};
      return each_field(value, [&](std::string_view key, const Value& field) -> Result<void> {
        if (key == "last_enqueued_collective" && integer(field, last)) dump_.enqueued[pg_id] = last;
        return {};
      });
    });
  }

  // ---- entries -----------------------------------------------------------------------------------------

  Result<void> read_entries(const Value& entries) {
    if (entries.kind != Kind::list) return wrong("entries is not a list");
    for (const uint32_t item : document_.items(entries)) {
      if (at(item).kind != Kind::dict) return wrong(fmt::format("record {} is not a dictionary", dump_.entries.size()));
      CHAKRA_ASSIGN(Entry entry, read_entry(at(item)));
      dump_.entries.push_back(std::move(entry));
      CHAKRA_TRY(spend(sizeof(Entry)));  // memory counts, too
    }
    return {};
  }

  Result<Entry> read_entry(const Value& value) {
    Entry entry;
    entry.record = static_cast<int64_t>(dump_.entries.size());
    bool has_group = false, has_state = false, has_number = false;
    int64_t is_message = 0;
    const struct {
      std::string_view key;
      int64_t* to;
    } numbers[] = {{"record_id", &entry.record},
                   {"pg_id", &entry.pg_id},
                   {"collective_seq_id", &entry.collective},
                   {"p2p_seq_id", &entry.message},
                   {"is_p2p", &is_message},
                   {"time_created_ns", &entry.created_ns},
                   {"time_discovered_started_ns", &entry.started_ns},
                   {"time_discovered_completed_ns", &entry.completed_ns},
                   {"timeout_ms", &entry.timeout_ms}};
    CHAKRA_TRY(each_field(value, [&](std::string_view key, const Value& field) -> Result<void> {
      for (const auto& [name, to] : numbers)
        if (key == name) {
          if (field.kind == Kind::none) return {};  // a time that is not known
          if (!integer(field, *to)) return wrong_field(key);
          has_number |= key == "collective_seq_id";
          return {};
        }
      if (key == "process_group") return has_group = true, read_group(field, entry);
      if (key == "state") return has_state = true, read_state(field, entry);
      if (key == "profiling_name") return read_name(field, entry);
      if (key == "input_sizes") return read_sizes(field, key, entry.in);
      if (key == "output_sizes") return read_sizes(field, key, entry.out);
      if (key == "input_dtypes") return read_dtypes(field, key, entry.in);
      if (key == "output_dtypes") return read_dtypes(field, key, entry.out);
      if (key == "frames") return read_frames(field, entry);
      return {};
    }));
    if (!has_group || !has_state || !has_number || entry.operation.empty())
      return wrong(fmt::format("record {} lacks process_group, profiling_name, state or collective_seq_id",
                               dump_.entries.size()));
    entry.is_message = is_message != 0 || entry.src >= 0;
    return entry;
  }

  Result<void> read_group(const Value& field, Entry& entry) {
    const auto items = document_.items(field);
    if (field.kind != Kind::list || items.empty() || at(items[0]).kind != Kind::text)
      return wrong_field("process_group");
    CHAKRA_TRY(spend(at(items[0]).text.size()));
    const std::string name(at(items[0]).text);
    const auto [found, is_new] = group_of_.try_emplace(name, static_cast<uint32_t>(dump_.groups.size()));
    if (is_new) dump_.groups.push_back({name, items.size() > 1 ? std::string(at(items[1]).text) : "", {}});
    entry.group = found->second;
    return {};
  }

  Result<void> read_state(const Value& field, Entry& entry) const {
    if (field.text == "completed") entry.state = State::completed;
    else if (field.text == "started") entry.state = State::started;
    else if (field.text != "scheduled")
      return wrong(fmt::format("record {}: unknown state {}", dump_.entries.size(), quote(field.text)));
    return {};
  }

  /// "nccl:all_reduce", "nccl:send 0->1", "nccl:recv 1<-0".
  Result<void> read_name(const Value& field, Entry& entry) {
    std::string_view text = field.text;
    CHAKRA_TRY(spend(text.size()));
    if (field.kind != Kind::text || text.empty()) return wrong_field("profiling_name");
    if (const size_t colon = text.find(':'); colon != std::string_view::npos) text.remove_prefix(colon + 1);
    const size_t blank = text.find(' ');
    entry.operation = std::string(text.substr(0, blank));
    if (blank == std::string_view::npos) return {};
    const std::string_view ends = text.substr(blank + 1);
    const bool send = entry.operation == "send";
    const size_t arrow = ends.find(send ? "->" : "<-");
    if (arrow == std::string_view::npos) return {};
    int64_t first = -1, second = -1;
    if (!parse_integer(ends.substr(0, arrow), first) || !parse_integer(ends.substr(arrow + 2), second))
      return wrong_field("profiling_name");
    entry.src = send ? first : second;
    entry.dst = send ? second : first;
    return {};
  }

  Result<void> read_sizes(const Value& field, std::string_view key, Tensors& to) {
    if (field.kind != Kind::list) return wrong_field(key);
    CHAKRA_TRY(spend(document_.items(field).size() * 8));
    for (const uint32_t item : document_.items(field)) {
      const Value& shape = at(item);
      if (shape.kind != Kind::list || document_.items(shape).size() > kMostDimensions) return wrong_field(key);
      CHAKRA_TRY(spend(document_.items(shape).size() * sizeof(int64_t) + 64));
      std::vector<int64_t>& sizes = to.sizes.emplace_back();
      for (const uint32_t size : document_.items(shape)) {
        if (at(size).kind != Kind::integer || at(size).number < 0) return wrong_field(key);
        sizes.push_back(at(size).number);
      }
    }
    return {};
  }

  Result<void> read_dtypes(const Value& field, std::string_view key, Tensors& to) {
    if (field.kind != Kind::list) return wrong_field(key);
    for (const uint32_t item : document_.items(field)) {
      if (at(item).kind != Kind::text) return wrong_field(key);
      CHAKRA_TRY(spend(sizeof(std::string) + at(item).text.size()));
      to.dtypes.emplace_back(at(item).text);
    }
    return {};
  }

  Result<void> read_frames(const Value& frames, Entry& entry) {
    CHAKRA_TRY(spend(document_.items(frames).size()));
    for (const uint32_t item : document_.items(frames)) {
      std::string_view name, file;
      int64_t line = 0;
      CHAKRA_TRY(each_field(at(item), [&](std::string_view key, const Value& field) -> Result<void> {
        if (key == "name") name = field.text;
        if (key == "filename") file = field.text;
        if (key == "line") (void)integer(field, line);
        return {};
      }));
      if (file.empty() || contains(file, "/torch/") || file.starts_with('<')) continue;
      CHAKRA_TRY(spend(name.size() + file.size()));
      entry.caller = fmt::format("{}:{} ({})", file.substr(file.rfind('/') + 1), line, name);
      return {};
    }
    return {};
  }

  const Document& document_;
  Dump dump_;
  size_t steps_ = 0;
  std::map<std::string, uint32_t, std::less<>> group_of_;
};

std::string_view without_blanks(std::string_view head) {
  head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n\xef\xbb\xbf"), head.size()));
  return head;
}

bool is_pickle(std::string_view head) { return head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5; }

}  // namespace

uint64_t Tensors::elements() const {
  uint64_t sum = 0;
  for (const std::vector<int64_t>& shape : sizes) {
    uint64_t product = 1;
    for (const int64_t size : shape)
      if (__builtin_mul_overflow(product, static_cast<uint64_t>(size), &product)) product = UINT64_MAX;
    sum = add_bytes(sum, product);
  }
  return sum;
}

bool is_dump(std::string_view head) {
  const auto has = [&](std::string_view key) { return contains(head, key); };
  if (is_pickle(head)) return has("version") && (has("pg_config") || has("entries") || has("nccl_comm_state"));
  const std::string_view text = without_blanks(head);
  if (!text.starts_with('{') || has("\"traceEvents\"") || has("\"schemaVersion\"")) return false;
  return has("\"collective_seq_id\"") ||
         (has("\"pg_config\"") && (has("\"version\"") || has("\"entries\"") || has("\"pg_status\"")));
}

Result<Dump> parse_dump(std::string bytes, const std::string& file, int64_t rank) {
  const bool pickle = is_pickle(bytes);
  CHAKRA_ASSIGN(const Document document,
                pickle ? read_pickle(std::move(bytes), file) : read_json(std::move(bytes), file));
  return DumpReader(document, file, rank).run();
}

Result<Dump> read_dump(const std::string& path, int64_t rank) {
  CHAKRA_ASSIGN(std::string bytes, read_file(path, kMostBytes));
  return parse_dump(std::move(bytes), path, rank);
}

}  // namespace chakra::flight
