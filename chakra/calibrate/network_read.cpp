// Measured collectives: logs of nccl-tests and rccl-tests, and CSV.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "chakra/base/quantile.h"
#include "chakra/calibrate/calibrate.h"
#include "chakra/calibrate/csv.h"

namespace chakra::calibrate {
namespace {

using Texts = std::vector<std::string>;

/// A form of CSV: its columns, of which `nodes` and `element` may be "". `size` counts bytes, or elements of `element`.
/// `per_node`: `nodes` is the number of ranks on a node.
struct Layout {
  std::string_view operation, ranks, size, time, nodes, element;
  double time_ns;  ///< of a unit of `time`
  bool per_node;
};
constexpr Layout kLayouts[] = {
    {"collective", "ranks", "size_bytes", "time_us", "nodes", "", 1e3, false},
    {"collective", "ranks", "size_bytes", "time_us", "", "", 1e3, false},
    {"collective", "ranks", "size_bytes", "oop_time_us", "nodes", "", 1e3, false},                       // nccl-tests
    {"op_name", "num_gpus", "message_size", "latency", "", "nccl_dtype", 1e6, false},                    // aic
    {"op_name", "num_gpus", "message_size", "latency", "", "allreduce_dtype", 1e6, false},               // likewise
    {"collective", "num_workers", "size_as_recorded", "median_ms", "devices_per_node", "", 1e6, true}};  // vidur

constexpr size_t kEqualRows = 3;  ///< from this number on the median says something about the others
constexpr double kFar = 1.25;     ///< off the median
constexpr size_t kLogCells = 11;  ///< of a row of a log, or more

constexpr std::pair<std::string_view, uint64_t> kElements[] = {
    {"int8", 1}, {"uint8", 1}, {"half", 2}, {"bfloat16", 2}, {"float", 4}, {"int32", 4}, {"double", 8}, {"int64", 8}};

/// "AllReduce", "all_reduce_perf" -> "all_reduce"; empty for an operation without a form. Longer names come first:
/// "reduce" is part of others.
std::string operation_in(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"allreduce", "all_reduce"}, {"allgather", "all_gather"}, {"reducescatter", "reduce_scatter"},
      {"alltoall", "all_to_all"},  {"broadcast", "broadcast"},  {"reduce", "reduce"},
      {"sendrecv", "send_recv"}};
  std::string plain = to_lower(text);
  std::erase_if(plain, [](char c) { return c == '_' || c == '-'; });
  for (const auto& [name, operation] : kNames)
    if (contains(plain, name)) return std::string(operation);
  return {};
}

Texts split(std::string_view line, char at) {
  Texts cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"' && at == ',') quoted = !quoted;
    else if (c == at && !quoted) cells.emplace_back();
    else if (c != '\r') cells.back() += c;
  }
  return cells;
}
Texts words(std::string_view line) {
  Texts all = split(line, ' ');
  std::erase_if(all, [](const std::string& word) { return word.empty(); });
  return all;
}

/// What a log says of the run that it is in. A file may hold several runs, one after the other.
struct Run {
  std::string test, operation;   ///< "all_reduce_perf", and the operation; empty: not given, or without a form
  std::set<std::string> header;  ///< its lines so far: "nThread", "Rank 0"
  std::set<std::string> hosts, groups;
  int64_t ranks = 0;
  bool counts_wrong = false;  ///< rows end with numbers of wrong elements, not with an error
  size_t cells = 0;           ///< of its first row; 0: no row yet

  /// A line that is in the header already, or that comes after rows, belongs to another run.
  void see_header(const std::string& line) {
    if (cells > 0 || header.contains(line)) *this = Run{};
    header.insert(line);
  }
};

class Reader {
 public:
  Reader(const NetworkOptions& options, Findings& findings) : options_(options), findings_(findings) {}

  Result<void> read(const std::string& path) {
    CHAKRA_ASSIGN(const std::string text, read_file(path));
    Texts lines = split(without_byte_order_mark(text), '\n');
    file_ = path;
    const bool is_csv = contains(lines[0], ",") && !lines[0].starts_with("#");
    return is_csv ? read_csv(lines) : read_log(lines);
  }

  /// Each COLUMN=VALUE names a column of a table that was read, or of one that judges.
  Result<void> check_where() const {
    for (const std::string& text : options_.where) {
      bool is = used_.contains(text);
      for (size_t i = 0; !is && i < options_.judge.size(); ++i) {
        CHAKRA_ASSIGN(const std::string table, read_file(options_.judge[i]));
        const Texts lines = split(without_byte_order_mark(table), '\n');
        const Texts header = split(lines[0], ',');
        is = std::find(header.begin(), header.end(), text.substr(0, text.find('='))) != header.end();
      }
      if (!is || !contains(text, "="))
        return fail(Code::usage, "calibrate.network.where",
                    fmt::format("{} is not COLUMN=VALUE with a column of a table", quote(text)));
    }
    return {};
  }

  std::vector<CollectiveSample> finish() && {
    std::vector<CollectiveSample> samples;
    for (auto& [key, rows] : times_) {
      std::sort(rows.begin(), rows.end());
      const double median = median_ns(rows);
      samples.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), median, std::get<3>(key)});
    }
    note_spread();
    note_outlying();
    for (const auto& [why, rows] : skipped_)
      findings_.push_back({"calibrate.network.skipped", Severity::warning, -1, -1,
                           fmt::format("left out {} rows: {}", show_count(rows), why)});
    return samples;
  }

 private:
  void add(const std::string& operation, int64_t ranks, int64_t nodes, uint64_t bytes, double ns) {
    if (bytes == 0) ++skipped_["no bytes"];
    else if (nodes < 1 || ranks % nodes != 0) ++skipped_["nodes with different numbers of ranks"];
    else times_[{operation, ranks, bytes, nodes}].push_back({ns, source_});
  }

  /// How far equal rows are from the median of the others.
  void note_spread() {
    std::vector<double> off;
    double sum = 0;
    for (const auto& [key, rows] : times_) {
      const std::vector<Timed>& equal = rows;
      const size_t n = equal.size();
      for (size_t i = 0; n >= kEqualRows && i < n; ++i) {
        // Of the others, which are n - 1: those from i on move up by one.
        const auto other = [&](size_t k) { return equal[k < i ? k : k + 1].ns; };
        off.push_back(std::abs(std::log(2 * equal[i].ns / (other((n - 2) / 2) + other((n - 1) / 2)))));
        sum += off.back();
      }
    }
    if (off.empty()) return;
    std::sort(off.begin(), off.end());
    findings_.push_back(
        {"calibrate.network.spread", Severity::note, -1, -1,
         fmt::format("{} rows are repeated: they differ from the median of their repetitions by {:.1f} %, 95 % of them "
                     "by at most "
                     "{:.1f} %",
                     show_count(std::ssize(off)), 100 * std::expm1(sum / static_cast<double>(off.size())),
                     100 * std::expm1(quantile(off, 0.95)))});
  }

  /// Names the sources half of whose rows are far from the medians.
  void note_outlying() {
    struct Of {
      int64_t rows = 0, far = 0;
      double most = 1;
    };
    std::map<std::string, Of> sources;
    for (const auto& [key, rows] : times_)
      for (const Timed& row : rows) {
        if (rows.size() < kEqualRows || row.source.empty()) continue;
        const double median = median_ns(rows);
        const double times = std::max(row.ns / median, median / row.ns);
        Of& of = sources[row.source];
        ++of.rows;
        of.far += times > kFar ? 1 : 0;
        of.most = std::max(of.most, times);
      }
    LimitedFindings outlying;
    for (const auto& [source, of] : sources)
      if (2 * of.far >= of.rows)
        outlying.add({"calibrate.network.outlying", Severity::warning, -1, -1,
                      fmt::format("{} of {} rows of {} differ from the median of repeated rows by more than {:.0f} %, "
                                  "by a factor of at most {:.1f}; the fit uses the medians",
                                  of.far, of.rows, quote(source), 100 * (kFar - 1), of.most)});
    std::move(outlying).append_to(findings_);
  }
  Failure bad(std::string text, size_t line) const {
    return fail(Code::bad_input, "calibrate.network.row", std::move(text), {file_, -1, static_cast<int64_t>(line) + 1});
  }

  // ---- CSV ---------------------------------------------------------------------------------------------------

  Result<void> read_csv(const Texts& lines) {
    const Texts header = split(lines[0], ',');
    const auto column = [&](std::string_view name) {
      return static_cast<size_t>(std::find(header.begin(), header.end(), name) - header.begin());
    };
    const auto has = [&](std::string_view name) { return name.empty() || column(name) < header.size(); };
    const Layout* layout = std::find_if(std::begin(kLayouts), std::end(kLayouts), [&](const Layout& l) {
      return has(l.operation) && has(l.ranks) && has(l.size) && has(l.time) && has(l.nodes) && has(l.element);
    });
    if (layout == std::end(kLayouts))
      return fail(Code::bad_input, "calibrate.network.columns",
                  "a table of collectives needs the columns collective, ranks, size_bytes and time_us", {file_, -1, 1});
    std::vector<std::pair<size_t, std::string>> where;
    for (const std::string& text : options_.where) {
      const size_t at = text.find('='), found = column(text.substr(0, at));
      if (found == header.size()) continue;
      where.emplace_back(found, text.substr(at + 1));
      used_.insert(text);
    }
    if (const std::string twice = duplicate_column(header); !twice.empty())
      return fail(Code::bad_input, "calibrate.network.columns", fmt::format("duplicate column {}", quote(twice)),
                  {file_, -1, 1});
    const size_t source = column("source");
    for (size_t i = 1; i < lines.size(); ++i) {
      if (lines[i].empty() || lines[i] == "\r") continue;
      const Texts cells = split(lines[i], ',');
      if (cells.size() != header.size()) return bad(fmt::format("{} cells, not {}", cells.size(), header.size()), i);
      source_ = source < header.size() ? cells[source] : "";
      if (std::all_of(where.begin(), where.end(), [&](const auto& w) { return cells[w.first] == w.second; }))
        CHAKRA_TRY(read_row(
            *layout, [&](std::string_view name) -> const std::string& { return cells[column(name)]; }, i));
    }
    return {};
  }

  template <class Cell>
  Result<void> read_row(const Layout& layout, const Cell& cell, size_t line) {
    int64_t ranks = 0, nodes = layout.per_node ? 0 : 1;
    uint64_t bytes = 0;
    double time = 0;
    if (!parse_decimal(cell(layout.ranks), ranks) || !parse_decimal(cell(layout.size), bytes) ||
        !parse_decimal(cell(layout.time), time) || ranks < 1 || ranks > (1 << 24) || bytes > (uint64_t{1} << 50) ||
        time < 1e-6 || time > 1e12)
      return bad("the row is not ranks, a size and a time above 0", line);
    if (!layout.nodes.empty() &&
        (!parse_decimal(cell(layout.nodes), nodes) || (!layout.per_node && (nodes < 1 || ranks % nodes != 0))))
      return bad(fmt::format(
                     "{} is {}; {}", quote(layout.nodes), quote(cell(layout.nodes)),
                     layout.per_node ? "it is a whole number" : fmt::format("it must be a divisor of {} ranks", ranks)),
                 line);
    if (!layout.element.empty()) {
      const auto* element = std::find_if(std::begin(kElements), std::end(kElements),
                                         [&](const auto& e) { return e.first == cell(layout.element); });
      if (element == std::end(kElements))
        return bad(fmt::format("unknown element type {}", quote(cell(layout.element))), line);
      bytes *= element->second;
    }
    const std::string operation = operation_in(cell(layout.operation));
    if (operation.empty()) ++skipped_[fmt::format("unsupported operation {}", quote(cell(layout.operation)))];
    else if (ranks < 2) ++skipped_["one rank alone"];
    else {
      if (layout.per_node) nodes = nodes >= ranks ? 1 : nodes > 0 && ranks % nodes == 0 ? ranks / nodes : 0;
      add(operation, ranks, nodes, bytes, time * layout.time_ns);
    }
    return {};
  }

  // ---- logs --------------------------------------------------------------------------------------------------

  Result<void> read_log(const Texts& lines) {
    source_.clear();
    Run run;
    bool any_row = false;
    for (size_t i = 0; i < lines.size(); ++i) {
      const Texts cells = words(lines[i]);
      if (cells.empty()) continue;
      uint64_t bytes = 0, count = 0;
      if (cells[0] == "#") {
        read_header(cells, run);
      } else if (parse_decimal(cells[0], bytes) && (cells.size() == 1 || parse_decimal(cells[1], count))) {
        any_row |= cells.size() >= kLogCells || run.ranks > 0;
        CHAKRA_TRY(read_log_row(cells, bytes, i, run));
      }
    }
    if (!any_row)
      return fail(Code::bad_input, "calibrate.network.columns", "neither a table (CSV) nor a log of nccl-tests",
                  {file_});
    return {};
  }

  static void read_header(const Texts& cells, Run& run) {
    if (cells.size() < 2) return;
    run.counts_wrong |= cells.back() == "#wrong";
    const bool is_rank = cells[1] == "Rank" && cells.size() > 2;
    if (is_rank || cells[1] == "nThread" || cells[1] == "Using" || cells[1] == "Collective")
      run.see_header(is_rank ? "Rank " + cells[2] : cells[1]);
    if (cells[1] == "Collective") run.test = cells.back(), run.operation = operation_in(run.test);
    if (!is_rank) return;
    ++run.ranks;
    const auto after = [&](std::string_view word, std::set<std::string>& to) {
      const auto found = std::find(cells.begin(), cells.end(), word);
      if (found != cells.end() && found + 1 != cells.end()) to.insert(*(found + 1));
    };
    after("on", run.hosts);
    after("Group", run.groups);
  }

  /// Size, count, type, perhaps an operator and a root, then time, rates and errors out of place and in place.
  Result<void> read_log_row(const Texts& cells, uint64_t bytes, size_t line, Run& run) {
    if (run.cells == 0) run.cells = std::max(cells.size(), kLogCells);
    if (cells.size() < run.cells) {
      ++skipped_["the log is truncated in the row"];
      return {};
    }
    double time = 0;
    uint64_t wrong = 0, wrong_in_place = 0;
    const auto from_end = [&](size_t n) -> const std::string& { return cells[cells.size() - n]; };
    if (!parse_decimal(from_end(8), time) || time < 1e-6 || time > 1e12 || bytes > (uint64_t{1} << 50))
      return bad("the row has no time", line);
    if (run.operation.empty() && !run.test.empty()) {
      ++skipped_[fmt::format("unsupported operation {}", quote(run.test))];
      return {};
    }
    if (run.operation.empty()) run.operation = operation_in(options_.operation);
    if (run.operation.empty()) run.operation = operation_in(std::string_view(file_).substr(file_.rfind('/') + 1));
    if (run.operation.empty())
      return fail(Code::usage, "calibrate.network.operation",
                  "the log does not name the collective; name it with, for example, --operation all_reduce", {file_});
    if (run.counts_wrong && ((parse_decimal(from_end(5), wrong) && wrong > 0) ||
                             (parse_decimal(from_end(1), wrong_in_place) && wrong_in_place > 0)))
      ++skipped_["'#wrong' is above 0"];
    else if (run.ranks == 0) ++skipped_["the log has no lines '# Rank'"];
    else if (run.ranks == 1) ++skipped_["one rank alone"];
    else if (run.groups.size() > 1) ++skipped_["several groups at once"];
    else add(run.operation, run.ranks, std::max<int64_t>(1, std::ssize(run.hosts)), bytes, time * 1e3);
    return {};
  }

  struct Timed {
    double ns = 0;
    std::string source;  ///< as the table names it

    auto operator<=>(const Timed&) const = default;
  };
  static double median_ns(const std::vector<Timed>& rows) {
    std::vector<double> ns;
    for (const Timed& row : rows) ns.push_back(row.ns);
    return quantile_of(std::move(ns), 0.5);
  }

  const NetworkOptions& options_;
  Findings& findings_;
  std::string file_, source_;
  std::map<std::tuple<std::string, int64_t, uint64_t, int64_t>, std::vector<Timed>> times_;
  std::map<std::string, int64_t> skipped_;
  std::set<std::string> used_;  ///< of NetworkOptions::where
};

}  // namespace

Result<std::vector<CollectiveSample>> read_collectives(const NetworkOptions& options, Findings& findings) {
  if (!options.operation.empty() && operation_in(options.operation).empty())
    return fail(Code::usage, "calibrate.network.operation", fmt::format("no operation {}", quote(options.operation)));
  Reader reader(options, findings);
  for (const std::string& file : options.files) CHAKRA_TRY(reader.read(file));
  CHAKRA_TRY(reader.check_where());
  return std::move(reader).finish();
}

}  // namespace chakra::calibrate
