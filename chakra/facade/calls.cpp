#include "chakra/facade/calls.h"

#include "chakra/view/view.h"

namespace chakra::facade {

bool goes_on(void* control, double share) {
  const auto& c = *static_cast<const Control*>(control);
  if (c.stop && *c.stop) return false;
  return !c.progress || c.progress(c.user, share);
}

Control unwatched(Control control) {
  control.progress = nullptr;
  control.stop = nullptr;
  return control;
}

Result<void> keep_apart(const std::vector<std::string>& inputs, std::vector<std::string> outputs,
                        const Control& control, const std::function<answer::Answer()>& schema) {
  if (schema) job::append_files(outputs, {control.csv, control.arrow}, schema());
  return job::keep_apart(inputs, std::move(outputs), control.json);
}

Result<void> commit(const answer::Answer& answer, const Control& control, job::Outputs files) {
  CHAKRA_TRY(job::add_tables(files, {control.csv, control.arrow}, answer));
  CHAKRA_TRY(job::add_answer(files, control.json, answer));
  return files.commit();
}

// ---- for the command ---------------------------------------------------------------------------------------------

std::vector<std::string> tables_of(std::string_view command) {
  std::vector<std::string> known;
  for (const answer::Answer& schema : list::schemas_of(command))
    for (const answer::Table& each : schema.tables())
      if (std::find(known.begin(), known.end(), each.key) == known.end()) known.push_back(each.key);
  return known;
}

std::string to_text(const std::vector<Finding>& findings) { return view::to_text(findings, ""); }

Answer answer_of(std::string_view verb, const std::vector<TextValue>& values, std::string text) {
  answer::Builder to{std::string(verb)};
  for (const TextValue& value : values) {
    const std::array columns{answer::column<std::string>(value.key, answer::Unit::none, value.meaning,
                                                         [](const std::string& all) { return all; })};
    to.values("", &value.value, columns);
  }
  return AnswerMaker::make(std::move(to).finish(), std::move(text));
}

Answer list_answer(const std::vector<std::string_view>& columns, std::vector<std::vector<std::string>> rows) {
  using result::Table;
  Table table;
  for (const std::string_view column : columns) table.columns.push_back({column, Table::Kind::text, column});
  for (std::vector<std::string>& row : rows)
    table.rows.emplace_back(std::make_move_iterator(row.begin()), std::make_move_iterator(row.end()));
  answer::Builder to("list");
  result::add_table(to, "", table);
  answer::Answer answer = std::move(to).finish();
  std::string text = view::to_text(answer, answer.tables()[0]);
  return AnswerMaker::make(std::move(answer), std::move(text));
}

Result<void> write_files(const Answer& answer, const Control& control) {
  return commit(AnswerMaker::get(answer), control);
}

}  // namespace chakra::facade
