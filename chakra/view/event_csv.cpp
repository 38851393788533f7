// The lines that ASTRA-sim writes when nodes are issued and when they end -> Timeline.
#include <fmt/core.h>

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>

#include "chakra/view/view.h"

namespace chakra::view {
namespace {

using result::Timeline;

constexpr size_t kLongestLine = size_t{1} << 20;
constexpr size_t kReadAtOnce = size_t{1} << 16;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

/// The tracks of a rank.
enum class Track : uint8_t { local_memory, remote_memory, compute, comm, other };
constexpr std::array<std::string_view, 5> kTrackNames{"local memory", "remote memory", "compute", "communication",
                                                      "other nodes"};

class Reader {
 public:
  Reader(const EventCsvOptions& options, std::string file, Findings& findings)
      : o_(options), file_(std::move(file)), findings_(findings) {}

  /// `whole`: the line has an end. Else the file was cut there, perhaps within a name.
  Result<void> line(std::string_view text, int64_t number, bool whole = true) {
    number_ = number;
    const size_t comma = text.find(',');
    const std::string_view first = trimmed(text.substr(0, comma));
    // A logger may have put something before the word.
    const bool issue = first.ends_with("issue"), callback = first.ends_with("callback");
    if (comma == std::string_view::npos || (!issue && !callback)) {
      skipped_ += !trimmed(text).empty();
      return {};
    }
    std::array<std::string_view, 5> values;  // rank, tick, id, name, type
    size_t count = 0;
    for (size_t from = comma + 1; count < values.size() && from <= text.size(); ++count) {
      const size_t end = std::min(text.find(',', from), text.size());
      const std::string_view field = text.substr(from, end - from);
      const size_t equals = field.find('=');
      if (equals == std::string_view::npos && count < 4)
        return wrong("view.csv.form", fmt::format("{} is not NAME=VALUE", quote(trimmed(field))));
      if (equals != std::string_view::npos) values[count] = trimmed(field.substr(equals + 1));
      from = end + 1;
    }
    if (count < 4) return wrong("view.csv.form", "expected rank, tick, node and name");
    if (!whole && values[4].empty())
      return wrong("view.csv.form", "the file ends within this line: it has no type and no line end");
    uint64_t rank = 0, tick = 0, id = 0;
    if (!parse_decimal(values[0], rank) || !parse_decimal(values[1], tick) || !parse_decimal(values[2], id))
      return wrong("view.csv.form", "rank, tick and node must be whole numbers");
    if (rank > INT32_MAX || (o_.ranks > 0 && rank >= static_cast<uint64_t>(o_.ranks)))
      return wrong("view.csv.rank", o_.ranks > 0 ? fmt::format("rank {}, but there are only {}", rank, o_.ranks)
                                                 : fmt::format("invalid rank {}", rank));
    const unsigned __int128 ps = static_cast<unsigned __int128>(tick) * 1'000'000'000'000u;
    const unsigned __int128 rounded = (ps + o_.hz / 2) / o_.hz;
    if (rounded > static_cast<unsigned __int128>(kLongestPs))
      return wrong("view.csv.time", fmt::format("tick {} is beyond the range of a timeline", tick));
    const auto time = static_cast<Picoseconds>(rounded);
    const std::pair<uint64_t, uint64_t> key(rank, id);
    if (issue) {
      if (!open_.emplace(key, Open{time, number}).second)
        return wrong("view.csv.issued_twice",
                     fmt::format("node {} of rank {} is issued again before it ended", id, rank));
      return {};
    }
    const auto found = open_.find(key);
    if (found == open_.end())
      return wrong("view.csv.not_issued", fmt::format("node {} of rank {} ends, but was not issued", id, rank));
    const Open begun = found->second;
    open_.erase(found);
    if (time < begun.time)
      return wrong("view.csv.time",
                   fmt::format("node {} of rank {} ends before it begins (line {})", id, rank, begun.line));
    const Track track = track_of(values[3], values[4]);
    out_.slices.push_back({track_number(static_cast<int64_t>(rank), track), out_.strings.intern(values[3]),
                           out_.strings.intern(kTrackNames[static_cast<size_t>(track)]), begun.time, time, id});
    return {};
  }

  Timeline finish() {
    number_tracks();
    if (out_.slices.empty())
      findings_.push_back({"view.csv.empty", Severity::warning, -1, -1, "no node ended, so the timeline is empty"});
    if (!open_.empty()) {
      int64_t first = INT64_MAX;
      for (const auto& [key, open] : open_) first = std::min(first, open.line);
      findings_.push_back(
          {"view.csv.unfinished", Severity::warning, -1, -1,
           fmt::format("{} node{} issued and did not end, so not shown; the first in line {}",
                       show_count(static_cast<int64_t>(open_.size())), open_.size() == 1 ? " was" : "s were", first)});
    }
    if (unnamed_ > 0)
      findings_.push_back({"view.csv.kind", Severity::note, -1, -1,
                           fmt::format("{} of unknown kind (by name and type); shown on separate tracks",
                                       show_count(unnamed_, "node"))});
    if (skipped_ > 0)
      findings_.push_back(
          {"view.csv.skipped", Severity::note, -1, -1,
           fmt::format("{} line{} no issue or callback", show_count(skipped_), skipped_ == 1 ? " is" : "s are")});
    return std::move(out_);
  }

 private:
  struct Open {
    Picoseconds time = 0;
    int64_t line = 0;
  };

  Failure wrong(const char* tag, std::string text) const {
    return fail(Code::bad_input, tag, std::move(text), {file_, -1, number_});
  }

  Track track_of(std::string_view name, std::string_view type) {
    const auto has = [&](std::string_view part) { return contains(name, part); };
    const bool memory = has("MEM_LOAD_NODE") || has("MEM_STORE_NODE");
    if (memory && has("REMOTE_MEMORY")) return Track::remote_memory;
    if (memory && has("LOCAL_MEMORY")) return Track::local_memory;
    if (has("COMP_NODE")) return Track::compute;
    if (has("COMM_SEND_NODE") || has("COMM_RECV_NODE") || has("COMM_COLL_NODE")) return Track::comm;
    uint64_t number = 0;
    if (parse_unsigned(type, number) && number < trace::kNodeTypeNames.size()) {
      const auto kind = static_cast<trace::NodeType>(number);
      if (kind == trace::NodeType::comp) return Track::compute;
      if (trace::is_comm(kind)) return Track::comm;
      if (kind == trace::NodeType::mem_load || kind == trace::NodeType::mem_store) return Track::remote_memory;
    }
    ++unnamed_;
    return Track::other;
  }

  uint32_t track_number(int64_t rank, Track track) {
    const auto [found, is_new] = tracks_.emplace(std::pair(rank, track), static_cast<uint32_t>(out_.tracks.size()));
    if (is_new) out_.tracks.push_back({rank, std::string(kTrackNames[static_cast<size_t>(track)])});
    return found->second;
  }

  /// By rank and kind, not by what came first.
  void number_tracks() {
    std::vector<std::pair<std::pair<int64_t, Track>, uint32_t>> order(tracks_.begin(), tracks_.end());
    std::sort(order.begin(), order.end());
    std::vector<uint32_t> number(order.size());
    std::vector<Timeline::Track> tracks;
    for (const auto& [key, old] : order) {
      number[old] = static_cast<uint32_t>(tracks.size());
      tracks.push_back(out_.tracks[old]);
    }
    out_.tracks = std::move(tracks);
    for (Timeline::Slice& slice : out_.slices) slice.track = number[slice.track];
  }

  const EventCsvOptions& o_;
  std::string file_;
  Findings& findings_;
  Timeline out_;
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, Open> open_;
  absl::flat_hash_map<std::pair<int64_t, Track>, uint32_t> tracks_;
  int64_t number_ = 0, skipped_ = 0, unnamed_ = 0;
};

}  // namespace

Result<Timeline> read_event_csv(ByteSource source, const EventCsvOptions& options, Findings& findings) {
  Reader reader(options, source.file(), findings);
  std::string buffer;
  int64_t number = 1;
  for (bool more = true; more;) {
    const size_t had = buffer.size();
    buffer.resize(had + kReadAtOnce);
    CHAKRA_ASSIGN(const size_t got, source.read({buffer.data() + had, kReadAtOnce}));
    buffer.resize(had + got);
    more = got == kReadAtOnce;
    size_t from = 0;
    for (size_t end = 0; (end = buffer.find('\n', std::max(from, had))) != std::string::npos; from = end + 1)
      CHAKRA_TRY(reader.line(std::string_view(buffer).substr(from, end - from), number++));
    if (!more && from < buffer.size()) CHAKRA_TRY(reader.line(std::string_view(buffer).substr(from), number, false));
    buffer.erase(0, from);
    if (buffer.size() > kLongestLine)
      return fail(Code::bad_input, "view.csv.form", "a line of more than a megabyte", {source.file(), -1, number});
  }
  return reader.finish();
}

Result<uint64_t> parse_frequency(std::string_view text) {
  const std::string lower = to_lower(trimmed(text));
  std::string_view digits = lower;
  uint64_t unit = 1'000'000;
  constexpr std::array<std::pair<std::string_view, uint64_t>, 4> kUnits{
      {{"ghz", 1'000'000'000}, {"mhz", 1'000'000}, {"khz", 1'000}, {"hz", 1}}};
  for (const auto& [name, factor] : kUnits)
    if (digits.ends_with(name)) {
      digits.remove_suffix(name.size());
      unit = factor;
      break;
    }
  digits = trimmed(digits);
  // Exact: whole and decimal part by themselves.
  const size_t point = digits.find('.');
  const std::string_view decimals = point == std::string_view::npos ? "" : digits.substr(point + 1);
  uint64_t whole = 0, part = 0, scale = 1;
  const bool has_whole = parse_decimal(digits.substr(0, point), whole);
  bool good = has_whole && decimals.size() <= 9 &&
              (point == std::string_view::npos || parse_unsigned(decimals, part)) && !decimals.starts_with("0x");
  for (size_t i = 0; i < decimals.size(); ++i) scale *= 10;
  constexpr uint64_t kMost = 1'000'000'000'000;  // 1 THz: a picosecond
  if (good && whole <= kMost / unit && unit * part % scale == 0) {
    const uint64_t hz = whole * unit + unit * part / scale;
    if (hz > 0 && hz <= kMost) return hz;
  }
  return fail(Code::usage, "view.csv.frequency",
              fmt::format("{}: expected a frequency, such as 1500 (MHz) or 1.5GHz", quote(text)));
}

}  // namespace chakra::view
