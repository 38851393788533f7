// Answers of the facade: what chakra::answer has, behind pointers.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "chakra/base/join.h"
#include "chakra/facade/calls.h"
#include "chakra/view/view.h"

namespace chakra {
inline namespace v1 {
namespace {

const answer::Series& series_of(const void* pointer) { return *static_cast<const answer::Series*>(pointer); }
const answer::Table& table_of(const void* pointer) { return *static_cast<const answer::Table*>(pointer); }

using ColumnType = Table::Column::Type;
static_assert(static_cast<int>(ColumnType::rows) == static_cast<int>(answer::Type::rows));
static_assert(static_cast<int>(ColumnType::any) == static_cast<int>(answer::Type::any));

answer::Cell cell_of(const answer::Series& series, size_t row) {
  if (!series.has(row)) return {};
  switch (series.info().type) {
    case answer::Type::real: return series.real(row);
    case answer::Type::text: return std::string(series.text(row));
    case answer::Type::truth: return series.whole(row) != 0;
    case answer::Type::any: return series.any(row);
    default: return series.whole(row);
  }
}

}  // namespace

std::string_view Table::Column::key() const { return series_of(series_).info().key; }
std::string_view Table::Column::unit() const {
  return answer::kUnitNames[static_cast<size_t>(series_of(series_).info().unit)];
}
ColumnType Table::Column::type() const { return static_cast<Type>(series_of(series_).info().type); }
std::string_view Table::Column::meaning() const { return series_of(series_).info().meaning; }
size_t Table::Column::rows() const { return series_of(series_).size(); }
bool Table::Column::has(size_t row) const { return series_of(series_).has(row); }
std::span<const int64_t> Table::Column::whole() const {
  const answer::Type type = series_of(series_).info().type;
  return type == answer::Type::text ? std::span<const int64_t>() : series_of(series_).wholes();
}
std::span<const double> Table::Column::real() const { return series_of(series_).reals(); }
std::string_view Table::Column::text(size_t row) const {
  const answer::Series& series = series_of(series_);
  return series.info().type == answer::Type::text && row < series.size() && series.has(row) ? series.text(row)
                                                                                            : std::string_view();
}
std::string Table::Column::json(size_t row) const {
  return answer::json_of(cell_of(series_of(series_), row), series_of(series_).info().type);
}

std::string_view Table::key() const { return table_of(table_).key; }
std::string_view Table::meaning() const { return table_of(table_).meaning; }
size_t Table::rows() const { return table_of(table_).rows; }
size_t Table::columns() const { return table_of(table_).columns.size(); }
Table::Column Table::column(size_t index) const { return {owner_, &table_of(table_).columns.at(index)}; }
std::optional<Table::Column> Table::find(std::string_view key) const {
  const answer::Series* const found = table_of(table_).column(key);
  if (!found) return std::nullopt;
  return Column(owner_, found);
}
std::span<const size_t> Table::begin() const { return table_of(table_).begin; }
const std::vector<Finding>& Table::findings() const {
  static const std::vector<Finding> none;
  const auto& findings = table_of(table_).findings;
  return findings ? *findings : none;
}

Answer AnswerMaker::make(answer::Answer answer, const view::Text& text, std::optional<Error> failure) {
  auto data = std::make_shared<AnswerData>(
      AnswerData{std::move(answer), std::string(text.subject), text, {}, std::move(failure)});
  data->text.subject = data->subject;
  Answer made;
  made.data_ = std::move(data);
  return made;
}
Answer AnswerMaker::make(answer::Answer answer, std::string words, std::optional<Error> failure,
                         std::shared_ptr<const void> owner) {
  Answer made;
  made.data_ = std::make_shared<const AnswerData>(
      AnswerData{std::move(answer), {}, {}, std::move(words), std::move(failure), std::move(owner)});
  return made;
}
const answer::Answer& AnswerMaker::get(const Answer& answer) { return answer.data_->answer; }

namespace {

const std::shared_ptr<const AnswerData>& no_answer() {
  static const auto none =
      std::make_shared<const AnswerData>(AnswerData{answer::Builder("").finish({}), {}, {}, {}, {}});
  return none;
}

/// Of a value that is there.
const answer::Cell* cell_of(const AnswerData& data, std::string_view key) {
  const answer::Value* const value = data.answer.value(key);
  return value && value->present ? &value->cell : nullptr;
}

}  // namespace

Answer::Answer() : data_(no_answer()) {}

std::string_view Answer::verb() const { return data_->answer.verb(); }
std::optional<int64_t> Answer::whole(std::string_view key) const {
  const answer::Cell* const cell = cell_of(*data_, key);
  if (!cell) return std::nullopt;
  if (const auto* truth = std::get_if<bool>(cell)) return *truth;
  const auto* number = std::get_if<int64_t>(cell);
  return number ? std::optional(*number) : std::nullopt;
}
std::optional<double> Answer::real(std::string_view key) const {
  const answer::Cell* const cell = cell_of(*data_, key);
  if (!cell) return std::nullopt;
  if (const auto* number = std::get_if<double>(cell)) return *number;
  const auto* whole = std::get_if<int64_t>(cell);
  return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
}
std::optional<std::string> Answer::text(std::string_view key) const {
  const answer::Cell* const cell = cell_of(*data_, key);
  const auto* text = cell ? std::get_if<std::string>(cell) : nullptr;
  return text ? std::optional(*text) : std::nullopt;
}
std::optional<std::string> Answer::json(std::string_view key) const {
  const answer::Value* const value = data_->answer.value(key);
  if (!value || !value->present) return std::nullopt;
  return answer::json_of(value->cell, value->info.type);
}
std::vector<std::string> Answer::keys() const {
  std::vector<std::string> keys;
  for (const answer::Value& value : data_->answer.values())
    if (value.present) keys.push_back(value.key);
  return keys;
}
std::optional<Table> Answer::table(std::string_view key) const {
  const answer::Table* const found = data_->answer.table(key);
  if (!found || !found->present) return std::nullopt;
  return Table(data_, found);
}
std::vector<std::string> Answer::tables() const {
  std::vector<std::string> keys;
  for (const answer::Table& table : data_->answer.tables())
    if (table.present) keys.push_back(table.key);
  return keys;
}
const std::vector<Finding>& Answer::findings() const {
  const answer::Table* const table = data_->answer.has_findings() ? nullptr : data_->answer.table("findings");
  return table && table->findings ? *table->findings : data_->answer.findings();
}

const std::optional<Error>& Answer::failure() const { return data_->failure; }

std::string Answer::to_text() const {
  return data_->text.shows.empty() ? data_->words : view::to_text(data_->answer, data_->text);
}
Result<std::string> Answer::to_text(std::string_view key) const {
  if (const answer::Table* const table = data_->answer.table(key)) return view::to_text(data_->answer, *table);
  std::string known;
  for (const answer::Table& table : data_->answer.tables())
    if (table.present && table.rows > 0) known += (known.empty() ? "" : ", ") + table.key;
  return fail(Code::usage, "cli.usage", fmt::format("--all: this answer has no table {}; it has {}", key, known));
}
std::string Answer::to_json() const { return answer::to_json_text(data_->answer); }
Result<void> Answer::to_json(Result<void> (*write)(void* user, std::string_view piece), void* user) const {
  return answer::write_json(data_->answer, [&](std::string_view piece) { return write(user, piece); });
}
Result<void> Answer::write(const std::string& path, std::string_view form) const {
  constexpr std::array<std::string_view, 4> kForms{"json", "txt", "csv", "arrow"};
  const auto ends_with = [&](std::string_view name) { return path.ends_with(fmt::format(".{}", name)); };
  if (form.empty()) {
    const auto* const named = std::find_if(kForms.begin(), kForms.end(), ends_with);
    form = named == kForms.end() ? kForms[0] : *named;
  }
  if (std::find(kForms.begin(), kForms.end(), form) == kForms.end())
    return fail(Code::usage, "cli.usage", fmt::format("unknown form {}; known: {}", quote(form), join(kForms, ", ")));
  for (const job::TableForm* const of : {&job::kCsv, &job::kArrow}) {
    if (form != of->ending) continue;
    if (tables().empty())
      return fail(Code::usage, "cli.usage", "this answer has no tables: write it as FILE.json or FILE.txt");
    job::Outputs files;
    const std::string prefix = path.substr(0, path.size() - (ends_with(form) ? form.size() + 1 : 0));
    CHAKRA_TRY(job::add_tables(files, prefix, *of, data_->answer));
    return files.commit();
  }
  CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  if (form == "txt") {
    CHAKRA_TRY(file.write(to_text()));
  } else {
    CHAKRA_TRY(answer::write_json(data_->answer, [&](std::string_view piece) { return file.write(piece); }));
  }
  return file.commit();
}

}  // namespace v1
}  // namespace chakra
