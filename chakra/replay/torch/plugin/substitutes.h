// Operators that this libtorch does not have, or that do not run on a CPU, done by others. Inside the plugin.
#pragma once

#include <string_view>

#include "chakra/replay/torch/plugin/arguments.h"

namespace chakra_torch {

/// A call of a recorded operator, with its arguments by name.
class Recorded {
 public:
  Recorded(const chakra_torch_operator& op, std::string_view names, Storages& storages)
      : op_(op), names_(names), storages_(storages) {}

  bool has(std::string_view name) const;
  at::Tensor tensor(std::string_view name) const;  ///< undefined where it was not recorded
  double real(std::string_view name, double otherwise) const;
  bool flag(std::string_view name, bool otherwise) const;
  c10::IValue argument(std::string_view name, const c10::TypePtr& type) const;  ///< None where it was not recorded

 private:
  const chakra_torch_value* find(std::string_view name) const;

  const chakra_torch_operator& op_;
  std::string_view names_;  ///< in order, with blanks between them: where the recording does not say
  Storages& storages_;
};

struct Substitute {
  std::string_view name;       ///< of the recorded operator; with ".overload" of that one
  std::string_view arguments;  ///< their names, in order
  /// The outputs; match_outputs() sees to their number.
  std::vector<at::Tensor> (*run)(const Recorded&);
  bool always = false;  ///< also where this libtorch has the operator, since it does not run on a CPU
};
/// Null where there is none.
const Substitute* find_substitute(const char* name, const char* overload);

/// As many outputs as were recorded: those that the substitute did not give are memory of the recorded shape.
void match_outputs(const chakra_torch_operator& op, Values& given);

}  // namespace chakra_torch
