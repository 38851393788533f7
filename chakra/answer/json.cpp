// Answer -> JSON. Keys with dots are objects in objects: of the values of an answer, and of the columns of a row.
#include <algorithm>

#include "chakra/answer/answer.h"

namespace chakra::answer {
namespace {

/// A member of an object: a leaf, or an object of the members whose keys begin with its key and a dot.
struct Member {
  std::string key;
  int leaf = -1;    ///< a number of the caller's
  bool ns = false;  ///< in nanoseconds
  std::vector<Member> members = {};
};

/// A leaf at the place that its key with dots says.
void add_leaf(std::vector<Member>& top, std::string_view key, size_t leaf, bool ns = false) {
  std::vector<Member>* level = &top;
  for (size_t dot; (dot = key.find('.')) != std::string_view::npos; key.remove_prefix(dot + 1)) {
    const std::string_view part = key.substr(0, dot);
    auto at = std::find_if(level->begin(), level->end(), [&](const Member& m) { return m.leaf < 0 && m.key == part; });
    if (at == level->end()) at = level->insert(at, {std::string(part)});
    level = &at->members;
  }
  level->push_back({std::string(key), static_cast<int>(leaf), ns});
}
void add_leaf(std::vector<Member>& top, std::string_view key, size_t leaf, const Info& info) {
  if (info.also_ns) add_leaf(top, key_of_ns(key), leaf, true);
  add_leaf(top, key, leaf);
}

enum class State : uint8_t { there, null, left_out };

/// Of an object: null where all of its members are missing and one of them is null.
template <class StateOf>
State state_of(const Member& member, const StateOf& leaf_state) {
  if (member.leaf >= 0) return leaf_state(member.leaf);
  State all = State::left_out;
  for (const Member& each : member.members) {
    const State state = state_of(each, leaf_state);
    if (state == State::there) return state;
    if (state == State::null) all = state;
  }
  return all;
}

class Writer {
 public:
  Writer(const Answer& answer, const std::function<Result<void>(std::string_view)>& write)
      : answer_(answer), write_(write), children_(answer.tables().size()), rows_(answer.tables().size()) {
    for (size_t t = 0; t < answer.tables().size(); ++t) {
      const Table& table = answer.tables()[t];
      for (size_t c = table.is_object() ? 1 : 0; c < table.columns.size(); ++c)
        add_leaf(rows_[t], table.columns[c].info().key, c, table.columns[c].info());
      if (table.parent < 0) continue;
      const Table& parent = answer.tables()[static_cast<size_t>(table.parent)];
      const std::string_view place = std::string_view(table.key).substr(parent.key.size() + 1);
      for (size_t c = 0; c < parent.columns.size(); ++c)
        if (parent.columns[c].info().key == place) children_[static_cast<size_t>(table.parent)].emplace_back(c, t);
    }
  }

  Result<void> run() {
    const auto& parts = answer_.parts();
    std::vector<Member> top;
    for (size_t p = 0; p < parts.size(); ++p) {
      if (parts[p].is_table) add_leaf(top, answer_.tables()[parts[p].index].key, p);
      else add_leaf(top, answer_.values()[parts[p].index].key, p, answer_.values()[parts[p].index].info);
    }
    if (answer_.has_findings()) add_leaf(top, "findings", parts.size());
    if (top.size() == 1 && top[0].key.empty()) part(top[0], 0);
    else
      object(
          top, 0, [&](int leaf) { return part_state(leaf); },
          [&](const Member& member, size_t indent) { part(member, indent); });
    out_ += '\n';
    flush(0);
    return std::move(done_);
  }

 private:
  static constexpr size_t kPiece = size_t{1} << 16;

  void flush(size_t least) {
    if (out_.size() < least) return;
    if (done_) done_ = write_(out_);
    out_.clear();
  }

  /// Members that are there or null, between braces.
  template <class StateOf, class Print>
  void object(const std::vector<Member>& members, size_t indent, const StateOf& leaf_state, const Print& print) {
    out_ += '{';
    bool first = true;
    for (const Member& member : members) {
      const State state = state_of(member, leaf_state);
      if (state == State::left_out) continue;
      next(first, indent);
      append_text(out_, member.key);
      out_ += ": ";
      if (state == State::null) out_ += "null";
      else if (member.leaf >= 0) print(member, indent + 2);
      else object(member.members, indent + 2, leaf_state, print);
    }
    end('}', first, indent);
  }
  void next(bool& first, size_t indent) {
    out_ += first ? "\n" : ",\n";
    first = false;
    flush(kPiece);
    out_.append(indent + 2, ' ');
  }
  void end(char bracket, bool first, size_t indent) {
    if (!first) (out_ += '\n').append(indent, ' ');
    out_ += bracket;
  }

  State part_state(int leaf) const {
    if (static_cast<size_t>(leaf) == answer_.parts().size()) return State::there;  // findings
    const Answer::Part& part = answer_.parts()[static_cast<size_t>(leaf)];
    if (part.is_table) return answer_.tables()[part.index].present ? State::there : State::left_out;
    const Value& value = answer_.values()[part.index];
    if (!value.present) return State::left_out;
    return std::holds_alternative<std::monostate>(value.cell) ? state_without(value.info) : State::there;
  }
  static State state_without(const Info& info) {
    if (info.missing == Missing::null) return State::null;
    return info.missing == Missing::left_out ? State::left_out : State::there;
  }
  void part(const Member& member, size_t indent) {
    const auto leaf = static_cast<size_t>(member.leaf);
    if (leaf == answer_.parts().size()) return findings(answer_.findings(), 0, answer_.findings().size(), indent);
    const Answer::Part& part = answer_.parts()[leaf];
    if (!part.is_table) return cell(answer_.values()[part.index].info, answer_.values()[part.index].cell, member.ns);
    table(part.index, 0, answer_.tables()[part.index].rows, indent);
  }

  void cell(const Info& info, const Cell& value, bool ns = false) {
    if (const bool* truth = std::get_if<bool>(&value)) out_ += *truth ? "true" : "false";
    else if (const int64_t* whole_number = std::get_if<int64_t>(&value)) whole(info, *whole_number, ns);
    else if (const uint64_t* natural = std::get_if<uint64_t>(&value)) out_ += std::to_string(*natural);
    else if (const double* real = std::get_if<double>(&value)) append_real(out_, *real);
    else if (const std::string* text = std::get_if<std::string>(&value)) append_text(out_, *text);
    else out_ += kMissingNames[static_cast<size_t>(info.missing)];
  }
  void whole(const Info& info, int64_t number, bool ns) {
    if (info.type == Type::natural) out_ += std::to_string(static_cast<uint64_t>(number));
    else if (!ns) out_ += std::to_string(number);
    else if (number % kPsPerNs == 0) out_ += std::to_string(number / kPsPerNs);
    else append_real(out_, static_cast<double>(number) / static_cast<double>(kPsPerNs));
  }
  void cell(const Series& series, size_t row, bool ns = false) {
    if (!series.has(row)) return cell(series.info(), Cell());
    switch (series.info().type) {
      case Type::real: return append_real(out_, series.real(row));
      case Type::text: return append_text(out_, series.text(row));
      case Type::truth: out_ += series.whole(row) ? "true" : "false"; return;
      case Type::any: return cell(series.info(), series.any(row));
      default: return whole(series.info(), series.whole(row), ns);
    }
  }

  /// Rows of a table from `begin` until before `end`.
  void table(size_t t, size_t begin, size_t end_row, size_t indent) {
    const Table& table = answer_.tables()[t];
    if (table.findings) return findings(*table.findings, begin, end_row, indent);
    const bool by_key = table.is_object();
    const bool values = table.columns.size() == (by_key ? 2 : 1) && table.columns.back().info().key.empty();
    out_ += by_key ? '{' : '[';
    bool first = true;
    for (size_t row = begin; row < end_row; ++row) {
      next(first, indent);
      if (by_key) cell(table.columns[0], row), out_ += ": ";
      if (values) cell(table.columns.back(), row);
      else
        object(
            rows_[t], indent + 2, [&](int c) { return cell_state(table, static_cast<size_t>(c), row); },
            [&](const Member& member, size_t deeper) { row_part(t, member, row, deeper); });
    }
    end(by_key ? '}' : ']', first, indent);
  }
  static State cell_state(const Table& table, size_t c, size_t row) {
    const Series& series = table.columns[c];
    if (series.info().type == Type::rows) return series.whole(row) ? State::there : state_without(series.info());
    if (series.has(row)) return State::there;
    return state_without(series.info());
  }
  void row_part(size_t t, const Member& member, size_t row, size_t indent) {
    const auto c = static_cast<size_t>(member.leaf);
    const Series& series = answer_.tables()[t].columns[c];
    if (series.info().type != Type::rows) return cell(series, row, member.ns);
    for (const auto& [place, child] : children_[t])
      if (place == c) {
        const Table& rows = answer_.tables()[child];
        return table(child, rows.begin[row], rows.begin[row + 1], indent);
      }
  }

  void findings(const Findings& of, size_t begin, size_t end_row, size_t indent) {
    out_ += '[';
    bool first = true;
    for (size_t i = begin; i < end_row; ++i) {
      const Finding& finding = of[i];
      next(first, indent);
      std::vector<std::pair<std::string, std::string>> members;
      const auto add = [&](std::string_view key, std::string value) { members.emplace_back(key, std::move(value)); };
      const auto text = [](std::string_view value) {
        std::string out;
        append_text(out, value);
        return out;
      };
      const auto number = [](int64_t value) { return value < 0 ? std::string("null") : std::to_string(value); };
      add("tag", text(finding.tag));
      add("severity", text(name(finding.severity)));
      add("rank", number(finding.rank));
      add("node", number(finding.node));
      add("text", text(finding.text));
      for (const Fact& fact : finding.facts)
        add(fact.name, fact.number ? std::to_string(*fact.number) : text(fact.text));
      out_ += '{';
      bool first_member = true;
      for (const auto& [key, value] : members) {
        next(first_member, indent + 2);
        append_text(out_, key);
        (out_ += ": ") += value;
      }
      end('}', first_member, indent + 2);
    }
    end(']', first, indent);
  }

  const Answer& answer_;
  const std::function<Result<void>(std::string_view)>& write_;
  std::vector<std::vector<std::pair<size_t, size_t>>> children_;  ///< by table: its columns that are rows, and whose
  std::vector<std::vector<Member>> rows_;                         ///< by table: its columns
  std::string out_;
  Result<void> done_;
};

}  // namespace

std::string to_json_text(const Answer& answer) {
  std::string text;
  (void)write_json(answer, [&](std::string_view piece) -> Result<void> {
    text += piece;
    return {};
  });
  return text;
}

Result<void> write_json(const Answer& answer, const std::function<Result<void>(std::string_view piece)>& write) {
  return Writer(answer, write).run();
}

}  // namespace chakra::answer
