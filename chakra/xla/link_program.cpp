#include "chakra/xla/link_program.h"

#include <fmt/core.h>

#include <algorithm>

namespace chakra::xla {
namespace {

class Links {
 public:
  Links(Program& program, const Ids& ids, const Place& place) : p_(program), ids_(ids), place_(place) {}

  /// Ids -> rows.
  Result<void> run(int64_t entry, const Schedule& schedule) {
    if (p_.computations.empty())
      return fail(Code::bad_input, "xla.program.empty", "the program has no computations", place_);
    absl::flat_hash_map<int64_t, uint32_t> computation_of;
    for (size_t c = 0; c < p_.computations.size(); ++c)
      if (!computation_of.emplace(p_.computations[c].id, static_cast<uint32_t>(c)).second)
        return wrong("two computations have the same id");
    p_.links.assign(ids_.all.size(), 0);
    absl::flat_hash_map<int64_t, uint32_t> row_of;
    for (size_t c = 0; c < p_.computations.size(); ++c) {
      Computation& of = p_.computations[c];
      row_of.clear();
      for (size_t row = 0; row < of.instructions.size(); ++row) {
        const Instruction& i = of.instructions[row];
        for (const Range range : {i.operands, i.controls})
          for (uint32_t at = range.begin; at < range.end; ++at) {
            const auto found = row_of.find(ids_.all[at]);
            if (found == row_of.end()) return dangling(of, "an instruction that does not precede it", i.name);
            p_.links[at] = found->second;
          }
        for (uint32_t at = i.called.begin; at < i.called.end; ++at) {
          const auto found = computation_of.find(ids_.all[at]);
          if (found == computation_of.end() || found->second >= c)
            return dangling(of, "a computation that does not precede its own", i.name);
          p_.links[at] = found->second;
        }
        if (!row_of.emplace(i.id, static_cast<uint32_t>(row)).second) return dangling(of, "an id used twice", i.name);
      }
      const auto root = row_of.find(of.root_id);
      if (root == row_of.end()) return dangling(of, "no instruction as its root", of.name);
      of.root = root->second;
      CHAKRA_TRY(number_parameters(of));
      if (const auto found = schedule.find(of.id); found != schedule.end())
        CHAKRA_TRY(order(of, found->second, row_of));
    }
    const auto found = computation_of.find(entry);
    if (found == computation_of.end()) return wrong("the entry computation is missing");
    p_.entry = found->second;
    return {};
  }

 private:
  Failure wrong(std::string text) const {
    return fail(Code::bad_input, "xla.program.reference", std::move(text), place_);
  }
  Failure dangling(const Computation& c, std::string_view kind, std::string_view name) const {
    return wrong(fmt::format("{} in computation {} refers to {}", quote(name), quote(c.name), kind));
  }

  Result<void> number_parameters(const Computation& c) const {
    const auto is_parameter = [](const Instruction& i) { return i.opcode == "parameter"; };
    const auto count = std::count_if(c.instructions.begin(), c.instructions.end(), is_parameter);
    for (const Instruction& i : c.instructions)
      if (is_parameter(i) && (i.number < 0 || i.number >= count))
        return dangling(c, fmt::format("parameter {} of {}", i.number, count), i.name);
    return {};
  }

  Result<void> order(Computation& c, const std::vector<int64_t>& ids,
                     const absl::flat_hash_map<int64_t, uint32_t>& row_of) {
    std::vector<uint8_t> done(c.instructions.size(), 0);
    for (const int64_t id : ids) {
      const auto found = row_of.find(id);
      if (found == row_of.end() || done[found->second]) return dangling(c, "a schedule that is not an order", c.name);
      const Instruction& i = c.instructions[found->second];
      for (const Range range : {i.operands, i.controls})
        for (const uint32_t before : p_.linked(range))
          if (!done[before]) return dangling(c, "a schedule in which operands come late", i.name);
      done[found->second] = 1;
      c.order.push_back(found->second);
    }
    if (c.order.size() != c.instructions.size()) return dangling(c, "a schedule that is not complete", c.name);
    return {};
  }

  Program& p_;
  const Ids& ids_;
  const Place& place_;
};

}  // namespace

Result<void> order_computations(Program& p, const Ids& ids) {
  absl::flat_hash_map<int64_t, uint32_t> of;
  for (uint32_t c = 0; c < p.computations.size(); ++c) of[p.computations[c].id] = c;
  std::vector<uint8_t> state(p.computations.size(), 0);  // 1: open, 2: done
  std::vector<Computation> sorted;
  for (uint32_t first = 0; first < state.size(); ++first) {
    std::vector<uint32_t> stack{first};
    while (!stack.empty()) {
      const uint32_t c = stack.back();
      if (state[c] == 0) {
        state[c] = 1;
        for (const Instruction& i : p.computations[c].instructions)
          for (uint32_t at = i.called.begin; at < i.called.end; ++at) {
            const auto callee = of.find(ids.all[at]);
            if (callee == of.end())
              return fail(Code::bad_input, "xla.program.reference",
                          fmt::format("{} calls a computation that the text does not have", quote(i.name)), {p.file});
            if (state[callee->second] == 1)
              return fail(Code::bad_input, "xla.program.reference",
                          fmt::format("{} calls its own computation", quote(i.name)), {p.file});
            if (state[callee->second] == 0) stack.push_back(callee->second);
          }
        continue;
      }
      stack.pop_back();
      if (state[c] == 1) sorted.push_back(std::move(p.computations[c]));
      state[c] = 2;
    }
  }
  p.computations = std::move(sorted);
  return {};
}

Result<void> link_program(Program& program, const Ids& ids, int64_t entry, const Schedule& schedule,
                          const Place& place) {
  return Links(program, ids, place).run(entry, schedule);
}

}  // namespace chakra::xla
