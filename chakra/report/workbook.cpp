// Answers -> XLSX (ECMA-376): XML files in a ZIP archive.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "chakra/base/base.h"
#include "chakra/base/zip.h"
#include "chakra/report/page.h"

namespace chakra::report {
namespace {

using answer::Cell;
using answer::Series;
using answer::Table;
using answer::Type;

constexpr int64_t kMostDigits = 999'999'999'999'999;      ///< Excel shows and keeps 15 digits
constexpr size_t kMostSheetRows = (size_t{1} << 20) - 1;  ///< without headings
constexpr size_t kMostCellBytes = 32'000;                 ///< Excel: 32,767 characters
constexpr size_t kMostSheetName = 31;
constexpr std::string_view kBoth = "both";  ///< job of answers about two jobs

constexpr std::string_view kXml = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
constexpr std::string_view kMain = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
constexpr std::string_view kRelations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
constexpr std::string_view kPackage = "http://schemas.openxmlformats.org/package/2006/";
constexpr std::string_view kTypePrefix = "application/vnd.openxmlformats-officedocument.spreadsheetml.";
/// Style 0 is plain, and style 1 is bold.
constexpr std::string_view kStyles =
    "<fonts count=\"2\"><font><sz val=\"11\"/><name val=\"Calibri\"/></font>"
    "<font><b/><sz val=\"11\"/><name val=\"Calibri\"/></font></fonts>"
    "<fills count=\"2\"><fill><patternFill patternType=\"none\"/></fill><fill><patternFill "
    "patternType=\"gray125\"/></fill>"
    "</fills><borders count=\"1\"><border><left/><right/><top/><bottom/><diagonal/></border></borders>"
    "<cellStyleXfs count=\"1\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\"/></cellStyleXfs>"
    "<cellXfs count=\"2\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\"/>"
    "<xf numFmtId=\"0\" fontId=\"1\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyFont=\"1\"/></cellXfs>"
    "<cellStyles count=\"1\"><cellStyle name=\"Normal\" xfId=\"0\" builtinId=\"0\"/></cellStyles>";

/// Append text to XML. Characters that XML forbids become _x0001_, as Excel writes them; a text with such a form keeps
/// its characters. Bytes that are not UTF-8 become U+FFFD.
void append_xml(std::string& out, std::string_view text) {
  const auto is_form = [](std::string_view at) {
    return at.size() >= 7 && at[0] == '_' && at[1] == 'x' && at[6] == '_' &&
           std::all_of(at.begin() + 2, at.begin() + 6, [](unsigned char c) { return std::isxdigit(c) != 0; });
  };
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const size_t length = utf8_length(text, i);
    const std::string_view one = text.substr(i, std::max<size_t>(length, 1));
    if (length == 0 || one == "\xEF\xBF\xBE" || one == "\xEF\xBF\xBF") out += "\xEF\xBF\xBD";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (c == '"') out += "&quot;";
    else if (c < 0x20 && c != '\t' && c != '\n') {
      constexpr std::string_view kHex = "0123456789ABCDEF";
      out += "_x00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
      out += '_';
    } else if (is_form(text.substr(i))) out += "_x005F_";
    else out += one;
    i += one.size();
  }
}

/// "A1" is column 0 of row 1.
std::string name_of_column(size_t column) {
  std::string name;
  for (size_t rest = column + 1; rest > 0; rest = (rest - 1) / 26)
    name.insert(name.begin(), static_cast<char>('A' + (rest - 1) % 26));
  return name;
}

/// The XML of a sheet, row by row.
class Sheet {
 public:
  Sheet(Workbook& book, size_t columns) : book_(book) {
    for (size_t c = 0; c < columns; ++c) names_.push_back(name_of_column(c));
    out_ += kXml;
    out_ += "<worksheet xmlns=\"";
    out_ += kMain;
    out_ +=
        "\"><sheetViews><sheetView workbookViewId=\"0\"><pane ySplit=\"1\" topLeftCell=\"A2\" "
        "activePane=\"bottomLeft\" state=\"frozen\"/></sheetView></sheetViews><sheetFormatPr "
        "defaultRowHeight=\"15\"/><cols><col min=\"1\" max=\"";
    out_ += std::to_string(std::max<size_t>(columns, 1));
    out_ += "\" width=\"20\" customWidth=\"1\"/></cols><sheetData>\n";
  }
  void begin_row() {
    out_ += "<row r=\"" + std::to_string(++row_) + "\">";
    column_ = 0;
  }
  void end_row() { out_ += "</row>\n"; }
  void missing() { ++column_; }
  void text(std::string_view is, bool bold = false) {
    open("inlineStr", bold);
    out_ += "<is><t xml:space=\"preserve\">";
    if (is.size() <= kMostCellBytes) append_xml(out_, is);
    else {
      size_t end = kMostCellBytes;
      while (end > 0 && (static_cast<unsigned char>(is[end]) & 0xC0) == 0x80) --end;
      append_xml(out_, is.substr(0, end));
      out_ += "... (" + std::to_string(is.size()) + " bytes)";
      ++book_.texts_cut;
    }
    out_ += "</t></is></c>";
  }
  void truth(bool is) {
    open("b");
    out_ += is ? "<v>1</v></c>" : "<v>0</v></c>";
  }
  void real(double is) {
    if (!std::isfinite(is)) return missing();
    open("n");
    out_ += "<v>";
    answer::append_real(out_, is);
    out_ += "</v></c>";
  }
  void whole(int64_t is) {
    is >= -kMostDigits&& is <= kMostDigits ? number(std::to_string(is)) : long_number(std::to_string(is));
  }
  void natural(uint64_t is) { is <= kMostDigits ? number(std::to_string(is)) : long_number(std::to_string(is)); }
  void cell(const answer::Info& info, const Cell& value) {
    if (const bool* yes = std::get_if<bool>(&value)) truth(*yes);
    else if (const int64_t* n = std::get_if<int64_t>(&value))
      info.type == Type::natural ? natural(static_cast<uint64_t>(*n)) : whole(*n);
    else if (const uint64_t* n = std::get_if<uint64_t>(&value)) natural(*n);
    else if (const double* x = std::get_if<double>(&value)) real(*x);
    else if (const std::string* words = std::get_if<std::string>(&value)) text(*words);
    else missing();
  }
  void cell(const Series& series, size_t row) {
    if (!series.has(row)) return missing();
    switch (series.info().type) {
      case Type::real: return real(series.real(row));
      case Type::text: return text(series.text(row));
      case Type::truth: return truth(series.whole(row) != 0);
      case Type::any: return cell(series.info(), series.any(row));
      case Type::natural: return natural(static_cast<uint64_t>(series.whole(row)));
      default: return whole(series.whole(row));
    }
  }
  std::string finish() && {
    out_ += "</sheetData></worksheet>\n";
    return std::move(out_);
  }

 private:
  void open(std::string_view type, bool bold = false) {
    out_ += "<c r=\"" + names_[column_++] + std::to_string(row_) + "\" t=\"";
    out_ += type;
    out_ += bold ? "\" s=\"1\">" : "\">";
  }
  void number(const std::string& digits) {
    open("n");
    out_ += "<v>" + digits + "</v></c>";
  }
  void long_number(const std::string& digits) {
    ++book_.numbers_as_texts;
    text(digits);
  }

  Workbook& book_;
  std::vector<std::string> names_;
  std::string out_;
  size_t row_ = 0, column_ = 0;
};

class Maker {
 public:
  /// Add the tables of an answer. `side`: a, b, both, or "" for the only job.
  Result<void> tables(std::string_view side, const Part& part) {
    for (const Table& table : part.answer->tables()) {
      if (!table.present || table.findings || table.rows == 0) continue;
      for (size_t begin = 0; begin < table.rows; begin += kMostSheetRows)
        CHAKRA_TRY(add(side, *part.answer, table, begin, std::min(table.rows, begin + kMostSheetRows)));
    }
    return {};
  }
  /// Add sheets about all answers, and return the workbook.
  Result<Workbook> finish(std::span<const Subject> subjects, std::span<const Part> comparison) {
    const size_t tables = names_.size();
    CHAKRA_TRY(contents());
    CHAKRA_TRY(values(subjects, comparison));
    CHAKRA_TRY(findings(subjects, comparison));
    CHAKRA_TRY(columns());
    std::string types, about, sheets, relations;
    for (size_t i = 0; i < names_.size(); ++i) {
      const std::string n = std::to_string(i + 1);
      types += type_of("worksheets/sheet" + n, "worksheet");
      std::string& order = i < tables ? sheets : about;
      order += "<sheet name=\"";
      append_xml(order, names_[i]);
      order += "\" sheetId=\"" + n + "\" r:id=\"rId" + n + "\"/>";
      relations += relation(i + 1, "worksheet", "worksheets/sheet" + n);
    }
    relations += relation(names_.size() + 1, "styles", "styles");
    const std::string book = root("workbook", std::string(kMain) + "\" xmlns:r=\"" + std::string(kRelations));
    CHAKRA_TRY(zip_.add("xl/workbook.xml", book + "<sheets>" + about + sheets + "</sheets></workbook>\n"));
    CHAKRA_TRY(zip_.add("xl/_rels/workbook.xml.rels", relations_of(relations)));
    CHAKRA_TRY(zip_.add("xl/styles.xml", root("styleSheet", kMain) + std::string(kStyles) + "</styleSheet>\n"));
    CHAKRA_TRY(zip_.add("_rels/.rels", relations_of(relation(1, "officeDocument", "xl/workbook"))));
    CHAKRA_TRY(zip_.add("[Content_Types].xml",
                        root("Types", std::string(kPackage) + "content-types") +
                            "<Default Extension=\"rels\" "
                            "ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>" +
                            type_of("workbook", "sheet.main") + types + type_of("styles", "styles") + "</Types>\n"));
    book_.sheets = std::ssize(names_);
    CHAKRA_ASSIGN(book_.bytes, std::move(zip_).finish());
    return std::move(book_);
  }

 private:
  struct Contents {
    std::string sheet, side;
    const answer::Answer* answer;
    const Table* table;
    size_t begin, end;
    int64_t long_numbers;
  };

  static std::string root(std::string_view element, std::string_view space) {
    return std::string(kXml) + "<" + std::string(element) + " xmlns=\"" + std::string(space) + "\">";
  }
  static std::string type_of(const std::string& name, const std::string& type) {
    return "<Override PartName=\"/xl/" + name + ".xml\" ContentType=\"" + std::string(kTypePrefix) + type + "+xml\"/>";
  }
  static std::string relation(size_t id, const std::string& type, const std::string& target) {
    return "<Relationship Id=\"rId" + std::to_string(id) + "\" Type=\"" + std::string(kRelations) + "/" + type +
           "\" Target=\"" + target + ".xml\"/>";
  }
  static std::string relations_of(const std::string& all) {
    return root("Relationships", std::string(kPackage) + "relationships") + all + "</Relationships>\n";
  }

  /// A name that no sheet has.
  std::string unused(const std::string& like) {
    std::string name = like.substr(0, kMostSheetName);
    for (int i = 2; !lower_names_.insert(to_lower(name)).second; ++i) {
      const std::string end = " " + std::to_string(i);
      name = like.substr(0, kMostSheetName - end.size()) + end;
    }
    return name;
  }
  Result<void> put(std::string name, Sheet&& sheet) {
    names_.push_back(std::move(name));
    return zip_.add("xl/worksheets/sheet" + std::to_string(names_.size()) + ".xml", std::move(sheet).finish());
  }

  Result<void> add(std::string_view side, const answer::Answer& answer, const Table& table, size_t begin, size_t end) {
    Sheet sheet(book_, table.columns.size() + 2);
    std::vector<const Series*> columns;
    for (const Series& series : table.columns)
      if (series.info().type != Type::rows) columns.push_back(&series);
    const int64_t long_ones = count_long(columns, begin, end);
    sheet.begin_row();
    if (table.parent >= 0) sheet.text("row", true);
    for (const Series* series : columns) sheet.text(series->info().key.empty() ? "value" : series->info().key, true);
    if (long_ones > 0)
      sheet.text("note: " + show_count(long_ones) +
                     " whole numbers of this sheet are texts: they have more than 15 digits, which Excel would round",
                 true);
    sheet.end_row();
    for (size_t r = begin; r < end; ++r) {
      sheet.begin_row();
      if (table.parent >= 0)
        sheet.whole(std::upper_bound(table.begin.begin(), table.begin.end(), r) - table.begin.begin() - 1);
      for (const Series* series : columns) sheet.cell(*series, r);
      sheet.end_row();
    }
    book_.rows += static_cast<int64_t>(end - begin);
    const std::string name = unused((side.empty() || side == kBoth ? "" : std::string(side) + " ") + table.key);
    contents_.push_back({name, std::string(side), &answer, &table, begin, end, long_ones});
    return put(name, std::move(sheet));
  }
  static int64_t count_long(const std::vector<const Series*>& columns, size_t begin, size_t end) {
    int64_t count = 0;
    for (const Series* series : columns) {
      const Type type = series->info().type;
      if (type != Type::whole && type != Type::natural) continue;
      for (size_t r = begin; r < end; ++r) {
        if (!series->has(r)) continue;
        const int64_t is = series->whole(r);
        count += is > kMostDigits || (type == Type::natural ? is < 0 : is < -kMostDigits);
      }
    }
    return count;
  }

  template <class Add>
  static void each_part(std::span<const Subject> subjects, std::span<const Part> comparison, const Add& add) {
    for (const Subject& subject : subjects)
      for (const Part& part : subject.parts) add(side_name(subjects, subject), part);
    for (const Part& part : comparison) add(kBoth, part);
  }
  static void headings(Sheet& sheet, std::initializer_list<std::string_view> all) {
    sheet.begin_row();
    for (const std::string_view heading : all) sheet.text(heading, true);
    sheet.end_row();
  }

  Result<void> values(std::span<const Subject> subjects, std::span<const Part> comparison) {
    Sheet sheet(book_, 6);
    headings(sheet, {"job", "answer", "key", "value", "unit", "meaning"});
    each_part(subjects, comparison, [&](std::string_view side, const Part& part) {
      for (const answer::Value& value : part.answer->values()) {
        if (!value.present) continue;
        sheet.begin_row();
        sheet.text(side);
        sheet.text(part.answer->verb());
        sheet.text(value.key);
        sheet.cell(value.info, value.cell);
        sheet.text(answer::kUnitNames[static_cast<size_t>(value.info.unit)]);
        sheet.text(value.info.meaning);
        sheet.end_row();
      }
    });
    return put(unused("values"), std::move(sheet));
  }
  Result<void> findings(std::span<const Subject> subjects, std::span<const Part> comparison) {
    Sheet sheet(book_, 7);
    headings(sheet, {"job", "answer", "severity", "rank", "node", "text", "tag"});
    each_part(subjects, comparison, [&](std::string_view side, const Part& part) {
      for (const Finding& finding : part.answer->findings()) {
        sheet.begin_row();
        sheet.text(side);
        sheet.text(part.answer->verb());
        sheet.text(chakra::name(finding.severity));
        finding.rank >= 0 ? sheet.whole(finding.rank) : sheet.missing();
        finding.node >= 0 ? sheet.whole(finding.node) : sheet.missing();
        sheet.text(finding.text);
        sheet.text(finding.tag);
        sheet.end_row();
      }
    });
    return put(unused("findings"), std::move(sheet));
  }
  Result<void> columns() {
    Sheet sheet(book_, 4);
    headings(sheet, {"sheet", "column", "unit", "meaning"});
    for (const Contents& each : contents_)
      for (const Series& series : each.table->columns) {
        const answer::Info& info = series.info();
        if (info.type == Type::rows) continue;
        sheet.begin_row();
        sheet.text(each.sheet);
        sheet.text(info.key.empty() ? "value" : info.key);
        sheet.text(answer::kUnitNames[static_cast<size_t>(info.unit)]);
        sheet.text(info.meaning);
        sheet.end_row();
      }
    return put(unused("columns"), std::move(sheet));
  }
  Result<void> contents() {
    Sheet sheet(book_, 7);
    headings(sheet, {"sheet", "job", "answer", "table", "first row", "rows", "meaning"});
    for (const Contents& each : contents_) {
      sheet.begin_row();
      sheet.text(each.sheet);
      sheet.text(each.side);
      sheet.text(each.answer->verb());
      sheet.text(each.table->key);
      sheet.whole(static_cast<int64_t>(each.begin));
      sheet.whole(static_cast<int64_t>(each.end - each.begin));
      sheet.text(each.table->meaning);
      sheet.end_row();
    }
    return put(unused("contents"), std::move(sheet));
  }

 public:
  /// "a" and "b" of two jobs; "" of one.
  static std::string_view side_name(std::span<const Subject> subjects, const Subject& subject) {
    constexpr std::array<std::string_view, 2> kSides{"a", "b"};
    return subjects.size() < 2 ? "" : kSides[static_cast<size_t>(&subject - subjects.data()) % kSides.size()];
  }

 private:
  Workbook book_;
  ZipArchive zip_;
  std::vector<std::string> names_;
  std::set<std::string> lower_names_;
  std::vector<Contents> contents_;
};

}  // namespace

Result<Workbook> workbook_of(std::span<const Subject> subjects, std::span<const Part> comparison) {
  Maker maker;
  for (const Subject& subject : subjects)
    for (const Part& part : subject.parts) CHAKRA_TRY(maker.tables(Maker::side_name(subjects, subject), part));
  for (const Part& part : comparison) CHAKRA_TRY(maker.tables(kBoth, part));
  return maker.finish(subjects, comparison);
}

}  // namespace chakra::report
