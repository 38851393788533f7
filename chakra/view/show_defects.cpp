// Rows of texts that ask for what an answer does not have, for tests.
#include <fmt/core.h>

#include <algorithm>

#include "chakra/view/show.h"
#include "chakra/view/template.h"

namespace chakra::view {

using answer::Answer;

namespace {

class Inspector {
 public:
  explicit Inspector(const Answer& schema) : schema_(schema) {}

  /// `parent`: the table whose rows it is for.
  void look_at(const Show& show, const answer::Table* parent = nullptr) {
    table_ = parent;
    prefix_ = show.table.ends_with('.') ? show.table : "";
    look_at_text(show.when);
    look_at_text(show.title);
    if (show.table.ends_with('*')) return;
    if (!show.table.empty() && prefix_.empty() && !(table_ = table_of(show.table))) report(show.table);
    look_at_text(show.line);
    for (const ShowColumn& column : show.columns) {
      look_at_text(column.heading);
      if (column.key.find_first_of("{[") != std::string_view::npos) look_at_text(column.key);
      else if (column.key != "#") need(column.key.substr(column.key.starts_with('+') ? 1 : 0));
      if (!column.share.empty() && column.share != "*") need(column.share);
    }
    for (std::string_view names = show.fold; !names.empty();) {
      const std::string_view name = names.substr(0, names.find(','));
      names.remove_prefix(std::min(names.size(), name.size() + 1));
      need(name);
    }
    if (!show.ranked.empty()) need(show.ranked);
    if (!show.only.empty()) need(show.only);
    const answer::Table* const table = table_;
    for (const Show& each : show.inside ? show.inside->shows : std::span<const Show>()) look_at(each, table);
  }
  std::vector<std::string> found() && { return std::move(found_); }

 private:
  /// One that hangs at the table that is looked at goes before.
  const answer::Table* table_of(std::string_view key) const {
    const auto find = [&](std::string_view wanted) -> const answer::Table* {
      for (const answer::Table& table : schema_.tables())
        if (table.key == wanted) return &table;
      return nullptr;
    };
    const answer::Table* const child = table_ ? find(fmt::format("{}.{}", table_->key, key)) : nullptr;
    return child ? child : find(key);
  }
  void report(std::string_view what) { found_.emplace_back(what); }
  void need(std::string_view key) {
    const auto has_value = [&](std::string_view wanted) {
      return std::any_of(schema_.values().begin(), schema_.values().end(),
                         [&](const answer::Value& v) { return v.key == wanted; });
    };
    if (key == "subject" || (key.starts_with('.') && has_value(key.substr(1))) || has_value(key)) return;
    for (const answer::Table* of = table_; of;
         of = of->parent < 0 ? nullptr : &schema_.tables()[static_cast<size_t>(of->parent)])
      if (of->column(key)) return;
    if (!prefix_.empty() && has_value(std::string(prefix_).append(key))) return;
    report(table_ ? fmt::format("{}.{}", table_->key, key) : std::string(key));
  }
  /// "table.column".
  void need_column(std::string_view key) {
    for (const answer::Table& table : schema_.tables())
      if (key.starts_with(table.key + ".") && table.column(key.substr(table.key.size() + 1))) return;
    report(key);
  }
  void look_at_text(std::string_view text) {
    std::string literal;  // a number outside of keys; "p95" is a word
    char before = ' ';
    for (bool in_key = false; const char c : text) {
      if (c == '{' || c == '}') in_key = c == '{';
      else if (!in_key && c >= '0' && c <= '9' && !(before >= 'a' && before <= 'z')) literal = text;
      if (c < '0' || c > '9') before = c;
    }
    if (!literal.empty()) report(literal);
    (void)filled(text, [&](std::string_view reference) -> std::optional<std::string> {
      const Reference of = reference_of(reference);
      const answer::Table* const table = of.counts || of.list ? table_of(of.key) : nullptr;
      if (of.counts) {
        if (!of.key.empty() && !table) report(of.key);
      } else if (of.list && table) {
        return "";
      } else if (of.range || of.list) {
        need_column(of.key);
      } else {
        need(of.key);
        if (!of.below.empty()) need(of.below);
      }
      return "";
    });
  }

  const Answer& schema_;
  const answer::Table* table_ = nullptr;
  std::string_view prefix_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> defects(std::span<const Show> shows, const Answer& schema) {
  Inspector inspector(schema);
  for (const Show& show : shows) inspector.look_at(show);
  return std::move(inspector).found();
}

}  // namespace chakra::view
