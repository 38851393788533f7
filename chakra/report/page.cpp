// Answers -> JSON in a page.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include "chakra/base/base.h"
#include "chakra/report/page.inc"  // kBeforeData, kAfterData: made of page.css and page.js by cmake/page.cmake
#include "chakra/report/report.h"

namespace chakra::report {
namespace {

using answer::Answer;
using answer::Series;
using answer::Table;

/// JavaScript rounds larger whole numbers, so the page has them as texts.
constexpr int64_t kMostExact = int64_t{1} << 53;

/// A column of whole numbers or of texts; null if the table lacks such a column.
const Series* whole_column(const Table& table, std::string_view key) {
  const Series* const found = table.column(key);
  return found && found->info().type == answer::Type::whole ? found : nullptr;
}
const Series* text_column(const Table& table, std::string_view key) {
  const Series* const found = table.column(key);
  return found && found->info().type == answer::Type::text ? found : nullptr;
}

/// Rows of a table that must be in the page, by the key of the table.
using Evidence = std::map<std::string, std::set<size_t>, std::less<>>;

Evidence evidence_of(const Answer& answer) {
  Evidence evidence;
  const Table* const diagnosis = answer.table("diagnosis");
  const Series* const table = diagnosis ? text_column(*diagnosis, "evidence") : nullptr;
  const Series* const row = diagnosis ? whole_column(*diagnosis, "row") : nullptr;
  if (!table || !row) return evidence;
  for (size_t r = 0; r < diagnosis->rows; ++r)
    if (table->has(r) && row->has(r) && row->whole(r) >= 0)
      evidence[std::string(table->text(r))].insert(static_cast<size_t>(row->whole(r)));
  return evidence;
}

/// The worst stragglers, and the ranks of the evidence.
std::set<int64_t> remarkable_ranks(const Answer& answer) {
  std::set<int64_t> ranks;
  const auto add = [&](const Table& table, size_t row) {
    const Series* const rank = whole_column(table, "rank");
    if (rank && row < table.rows && rank->has(row)) ranks.insert(rank->whole(row));
  };
  if (const Table* const table = answer.table("stragglers"))
    for (size_t r = 0; r < kStragglers; ++r) add(*table, r);
  for (const auto& [key, rows] : evidence_of(answer))
    if (const Table* const table = answer.table(key))
      for (const size_t r : rows) add(*table, r);
  return ranks;
}

/// The ranks to show; empty: all.
std::set<int64_t> chosen_ranks(std::span<const Answer* const> answers) {
  for (const Answer* answer : answers) {
    const Table* const paths = answer->table("critical_path");
    const Series* const rank = paths ? whole_column(*paths, "rank") : nullptr;
    const Series* const length = paths ? whole_column(*paths, "length_ps") : nullptr;
    if (!rank || !length || paths->rows <= kMostRanks) continue;
    std::vector<std::pair<int64_t, int64_t>> order;
    for (size_t r = 0; r < paths->rows; ++r) order.emplace_back(length->whole(r), rank->whole(r));
    std::sort(order.begin(), order.end());
    std::set<int64_t> chosen;
    for (size_t i = 0; i < kMostRanks; ++i) chosen.insert(order[i * (order.size() - 1) / (kMostRanks - 1)].second);
    for (const int64_t each : remarkable_ranks(*answer)) chosen.insert(each);
    return chosen;
  }
  return {};
}

struct Chosen {
  std::vector<size_t> rows;  ///< ascending
  bool cut = false;          ///< rows of the chosen ranks are missing
};
/// The rows of a table to show: of the chosen ranks, and of each rank equally many.
Chosen chosen_rows(const Table& table, const std::set<int64_t>& ranks, const std::set<size_t>& evidence) {
  const Series* const rank = whole_column(table, "rank");
  Chosen chosen;
  std::vector<size_t>& rows = chosen.rows;
  std::map<int64_t, size_t> count;
  for (size_t r = 0; r < table.rows; ++r) {
    if (rank && !ranks.empty() && rank->has(r) && !ranks.contains(rank->whole(r))) continue;
    rows.push_back(r);
    if (rank) ++count[rank->whole(r)];
  }
  if (rows.size() > kMostRows) {
    chosen.cut = true;
    const size_t each = rank ? std::max<size_t>(1, kMostRows / count.size()) : kMostRows;
    count.clear();
    size_t shown = 0;
    std::erase_if(rows, [&](size_t r) {
      const bool drop = shown >= kMostRows || ++count[rank ? rank->whole(r) : 0] > each;
      shown += !drop;
      return drop;
    });
  }
  for (const size_t r : evidence)
    if (r < table.rows && !std::binary_search(rows.begin(), rows.end(), r))
      rows.insert(std::upper_bound(rows.begin(), rows.end(), r), r);
  return chosen;
}

class Writer {
 public:
  explicit Writer(Page& page) : page_(page) {}

  void subject(const Subject& subject) {
    const std::set<int64_t> ranks = chosen_ranks(subject.answers);
    page_.ranks = ranks.empty() ? subject.ranks : std::ssize(ranks);
    out_ += "{\"version\": 1, \"job\": ";
    text(subject.name);
    out_ += ", \"ranks\": " + std::to_string(subject.ranks);
    out_ += ", \"ranks_shown\": " + std::to_string(page_.ranks) + ", \"answers\": [";
    Comma comma(out_);
    for (const Answer* answer : subject.answers) comma.next(), add(*answer, ranks);
    out_ += "]}";
  }
  /// The JSON, in which no text can end the element around it.
  std::string take() {
    std::string safe;
    safe.reserve(out_.size());
    for (size_t i = 0; i < out_.size(); ++i) {
      const std::string_view rest = std::string_view(out_).substr(i, 3);
      if (rest[0] == '<') safe += "\\u003c";
      else if (rest[0] == '>') safe += "\\u003e";
      else if (rest[0] == '&') safe += "\\u0026";
      else if (rest == "\xE2\x80\xA8") safe += "\\u2028", i += 2;
      else if (rest == "\xE2\x80\xA9") safe += "\\u2029", i += 2;
      else safe += rest[0];
    }
    return safe;
  }

 private:
  struct Comma {
    explicit Comma(std::string& to) : out(to) {}
    void next() {
      if (!first) out += ",\n";
      first = false;
    }
    std::string& out;
    bool first = true;
  };

  void text(std::string_view is) {
    if (is.size() <= kMostText) return answer::append_text(out_, is);
    size_t end = kMostText;
    while (end > 0 && (static_cast<unsigned char>(is[end]) & 0xC0) == 0x80) --end;
    ++page_.texts_cut;
    answer::append_text(out_, std::string(is.substr(0, end)) + "... (" + std::to_string(is.size()) + " bytes)");
  }
  void whole(int64_t number) {
    if (number > -kMostExact && number < kMostExact) out_ += std::to_string(number);
    else out_ += '"' + std::to_string(number) + '"';
  }
  void natural(uint64_t number) {
    if (number < static_cast<uint64_t>(kMostExact)) out_ += std::to_string(number);
    else out_ += '"' + std::to_string(number) + '"';
  }
  void cell(const answer::Info& info, const answer::Cell& value) {
    if (const bool* truth = std::get_if<bool>(&value)) out_ += *truth ? "true" : "false";
    else if (const int64_t* number = std::get_if<int64_t>(&value))
      info.type == answer::Type::natural ? natural(static_cast<uint64_t>(*number)) : whole(*number);
    else if (const uint64_t* positive = std::get_if<uint64_t>(&value)) natural(*positive);
    else if (const double* real = std::get_if<double>(&value)) answer::append_real(out_, *real);
    else if (const std::string* words = std::get_if<std::string>(&value)) text(*words);
    else out_ += "null";
  }
  void cell(const Series& series, size_t row) {
    if (!series.has(row)) return cell(series.info(), answer::Cell());
    switch (series.info().type) {
      case answer::Type::real: return answer::append_real(out_, series.real(row));
      case answer::Type::text: return text(series.text(row));
      case answer::Type::truth: return cell(series.info(), series.whole(row) != 0);
      case answer::Type::any: return cell(series.info(), series.any(row));
      default: return cell(series.info(), series.whole(row));
    }
  }
  void member(std::string_view key, std::string_view value) {
    out_ += ", \"";
    out_ += key;
    out_ += "\": ";
    text(value);
  }
  void info(std::string_view key, const answer::Info& info) {
    out_ += "{\"key\": ";
    text(key);
    member("unit", answer::kUnitNames[static_cast<size_t>(info.unit)]);
    member("meaning", info.meaning);
    member("heading", info.heading);
  }

  void add(const Answer& answer, const std::set<int64_t>& ranks) {
    const Evidence evidence = evidence_of(answer);
    out_ += "{\"verb\": ";
    text(answer.verb());
    out_ += ", \"values\": [";
    Comma values(out_);
    for (const answer::Value& value : answer.values()) {
      if (!value.present) continue;
      values.next();
      info(value.key, value.info);
      out_ += ", \"value\": ";
      cell(value.info, value.cell);
      out_ += '}';
    }
    out_ += "], \"tables\": [";
    Comma tables(out_);
    for (const Table& table : answer.tables()) {
      if (!table.present || table.parent >= 0 || table.findings) continue;
      const auto needed = evidence.find(table.key);
      tables.next();
      add(table, chosen_rows(table, ranks, needed == evidence.end() ? std::set<size_t>() : needed->second));
    }
    out_ += "], \"findings\": [";
    Comma findings(out_);
    for (const Finding& finding : answer.findings()) {
      if (&finding - answer.findings().data() >= static_cast<std::ptrdiff_t>(kMostRows)) break;
      findings.next();
      add(finding);
    }
    out_ += "], \"all_findings\": " + std::to_string(answer.findings().size()) + "}";
  }
  void add(const Table& table, const Chosen& chosen) {
    const std::vector<size_t>& rows = chosen.rows;
    page_.tables += !rows.empty();
    page_.rows += std::ssize(rows);
    page_.rows_omitted += static_cast<int64_t>(table.rows - rows.size());
    out_ += "{\"key\": ";
    text(table.key);
    member("meaning", table.meaning);
    out_ += ", \"rows\": " + std::to_string(table.rows) + ", \"cut\": " + (chosen.cut ? "true" : "false");
    out_ += ", \"columns\": [";
    Comma columns(out_);
    for (const Series& series : table.columns) {
      columns.next();
      info(series.info().key, series.info());
      out_ += ", \"cells\": [";
      for (size_t r = 0; r < rows.size(); ++r) {
        if (r > 0) out_ += ',';
        cell(series, rows[r]);
      }
      out_ += "]}";
    }
    out_ += "], \"at\": ";
    if (rows.size() == table.rows) out_ += "null";  // each row is at its place
    else {
      out_ += '[';
      for (size_t r = 0; r < rows.size(); ++r) out_ += (r > 0 ? "," : "") + std::to_string(rows[r]);
      out_ += ']';
    }
    out_ += '}';
  }
  void add(const Finding& finding) {
    out_ += "{\"tag\": ";
    text(finding.tag);
    member("severity", chakra::name(finding.severity));
    if (finding.rank >= 0) out_ += ", \"rank\": " + std::to_string(finding.rank);
    if (finding.node >= 0) out_ += ", \"node\": ", whole(finding.node);
    member("text", finding.text);
    out_ += '}';
  }

  std::string out_;
  Page& page_;
};

}  // namespace

Page page_of(const Subject& subject) {
  Page page;
  Writer writer(page);
  writer.subject(subject);
  page.html = std::string(kBeforeData) + writer.take() + std::string(kAfterData);
  return page;
}

}  // namespace chakra::report
