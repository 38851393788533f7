// Answers -> JSON in a page.
#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include "chakra/base/base.h"
#include "chakra/report/choose.h"
#include "chakra/report/page.h"
#include "chakra/report/page.inc"  // kBeforeData, kAfterData: made of page.css and page.js by cmake/page.cmake
#include "chakra/report/slices.h"

namespace chakra::report {
namespace {

using answer::Answer;
using answer::Series;
using answer::Table;

/// JavaScript rounds larger whole numbers, so the page has them as texts.
constexpr int64_t kMostExact = int64_t{1} << 53;

class Writer {
 public:
  Writer(Page& page, Picoseconds least_unit) : page_(page), least_unit_(least_unit) {}

  Result<void> all(std::span<const Subject> subjects, std::span<const Part> comparison) {
    out_ += "{\"version\": 2, \"jobs\": [";
    Comma jobs(out_);
    for (const Subject& subject : subjects) {
      jobs.next();
      CHAKRA_TRY(add(subject));
    }
    out_ += "], \"answers\": [";
    Comma comma(out_);
    for (const Part& part : comparison) comma.next(), add(part, {});
    out_ += "]}";
    return {};
  }
  bool rounded() const { return rounded_; }  ///< times of a timeline
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
    if (info.missing == answer::Missing::left_out) out_ += ", \"optional\": true";
  }

  Result<void> add(const Subject& subject) {
    const std::set<int64_t> ranks = chosen_ranks(subject.parts);
    const int64_t before = page_.ranks;
    page_.ranks += ranks.empty() ? subject.ranks : std::ssize(ranks);
    out_ += "{\"name\": ";
    text(subject.name);
    out_ += ", \"ranks\": " + std::to_string(subject.ranks) + ", \"answers\": [";
    Comma comma(out_);
    for (const Part& part : subject.parts) {
      comma.next();
      if (const size_t identical = add(part, ranks)) page_.ranks = before + static_cast<int64_t>(identical);
    }
    out_ += "], \"timeline\": ";
    if (subject.timeline) {
      CHAKRA_ASSIGN(const PackedSlices slices, packed_slices(*subject.timeline, subject.links, least_unit_, page_));
      out_ += slices.json;
      rounded_ |= slices.rounded;
    } else {
      out_ += "null";
    }
    out_ += ", \"ranks_shown\": " + std::to_string(page_.ranks - before) + '}';
    return {};
  }
  /// Return the number of ranks, if rows of the table of ranks stand for several.
  size_t add(const Part& part, const std::set<int64_t>& ranks) {
    const Answer& answer = *part.answer;
    const Evidence evidence = evidence_of(answer);
    size_t identical = 0;
    out_ += "{\"verb\": ";
    text(answer.verb());
    member("command", part.command);
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
    std::map<const Table*, Chosen> shown;
    for (const Table& table : answer.tables()) {
      if (!table.present || table.findings) continue;
      const auto needed = evidence.find(table.key);
      Chosen& chosen = shown[&table];
      if (table.parent >= 0) chosen = rows_below(table, shown[&answer.tables()[static_cast<size_t>(table.parent)]]);
      else chosen = chosen_rows(table, ranks, needed == evidence.end() ? std::set<size_t>() : needed->second);
      if (table.key == "ranks" && !chosen.identical.empty()) identical = chosen.all();
      tables.next();
      add(answer, table, chosen);
    }
    out_ += "], \"findings\": [";
    Comma findings(out_);
    for (const Finding& finding : answer.findings()) {
      if (&finding - answer.findings().data() >= static_cast<std::ptrdiff_t>(kMostRows)) break;
      findings.next();
      add(finding);
    }
    out_ += "], \"all_findings\": " + std::to_string(answer.findings().size()) + "}";
    return identical;
  }
  /// The nested rows of the chosen rows of the parent.
  static Chosen rows_below(const Table& table, const Chosen& parents) {
    Chosen chosen;
    for (const size_t parent : parents.rows)
      for (size_t r = table.begin[parent]; r < table.begin[parent + 1]; ++r)
        if (chosen.rows.size() < kMostRows) chosen.rows.push_back(r);
        else chosen.cut = true;
    return chosen;
  }
  /// Row of the parent for each row of a nested table.
  void parents(const Table& table, const std::vector<size_t>& rows) {
    static constexpr answer::Info kRow{.key = "row", .unit = answer::Unit::id, .meaning = "row of the outer table"};
    info(kRow.key, kRow);
    out_ += ", \"cells\": [";
    for (size_t r = 0; r < rows.size(); ++r) {
      const auto after = std::upper_bound(table.begin.begin(), table.begin.end(), rows[r]);
      out_ += (r > 0 ? "," : "") + std::to_string(after - table.begin.begin() - 1);
    }
    out_ += "]}";
  }
  void add(const Answer& answer, const Table& table, const Chosen& chosen) {
    const std::vector<size_t>& rows = chosen.rows;
    page_.tables += !rows.empty();
    page_.rows += std::ssize(rows);
    if (table.parent < 0) page_.rows_omitted += static_cast<int64_t>(table.rows - chosen.all());
    out_ += "{\"key\": ";
    text(table.key);
    member("meaning", table.meaning);
    if (table.parent >= 0) member("parent", answer.tables()[static_cast<size_t>(table.parent)].key);
    out_ += ", \"rows\": " + std::to_string(table.rows) + ", \"cut\": " + (chosen.cut ? "true" : "false");
    out_ += ", \"columns\": [";
    Comma columns(out_);
    if (table.parent >= 0) columns.next(), parents(table, rows);
    for (const Series& series : table.columns) {
      if (series.info().type == answer::Type::rows) continue;
      columns.next();
      info(series.info().key.empty() ? "value" : series.info().key, series.info());
      out_ += ", \"cells\": [";
      for (size_t r = 0; r < rows.size(); ++r) {
        if (r > 0) out_ += ',';
        cell(series, rows[r]);
      }
      out_ += "]}";
    }
    out_ += "], \"at\": ";
    if (rows.size() == table.rows) out_ += "null";  // each row is at its place
    else numbers(rows);
    out_ += ", \"identical\": ";
    if (chosen.identical.empty()) out_ += "null";
    else numbers(chosen.identical);
    out_ += '}';
  }
  void numbers(const std::vector<size_t>& all) {
    out_ += '[';
    for (size_t i = 0; i < all.size(); ++i) out_ += (i > 0 ? "," : "") + std::to_string(all[i]);
    out_ += ']';
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
  Picoseconds least_unit_;
  bool rounded_ = false;
};

/// The page, and whether times of timelines are rounded.
Result<std::pair<Page, bool>> page_with(std::span<const Subject> subjects, std::span<const Part> comparison,
                                        Picoseconds least_unit) {
  Page page;
  Writer writer(page, least_unit);
  CHAKRA_TRY(writer.all(subjects, comparison));
  page.html = std::string(kBeforeData) + writer.take() + std::string(kAfterData);
  return std::pair(std::move(page), writer.rounded());
}

}  // namespace

Result<Page> page_of(std::span<const Subject> subjects, std::span<const Part> comparison, size_t most_bytes) {
  CHAKRA_ASSIGN(auto exact, page_with(subjects, comparison, 1));
  if (exact.first.html.size() <= most_bytes || exact.first.slices == 0) return std::move(exact.first);
  CHAKRA_ASSIGN(auto coarse, page_with(subjects, comparison, kCoarseUnit));
  if (!coarse.second) return std::move(exact.first);
  coarse.first.exact_bytes = exact.first.html.size();
  return std::move(coarse.first);
}

}  // namespace chakra::report
