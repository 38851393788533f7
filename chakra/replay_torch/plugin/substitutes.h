// Substitutes for operators that this libtorch does not have, or that do not run on a CPU. Inside the plugin.
#pragma once

#include <string_view>

#include "chakra/replay_torch/plugin/arguments.h"

namespace chakra_torch {

/// A call of a recorded operator, with its arguments by name.
class Recorded {
 public:
  Recorded(const chakra_torch_operator& op, std::string_view names, Storages& storages)
      : op_(op), names_(names), storages_(storages) {}

  bool has(std::string_view name) const;
  at::Tensor tensor(std::string_view name) const;  ///< undefined if not recorded
  double real(std::string_view name, double otherwise) const;
  bool flag(std::string_view name, bool otherwise) const;
  c10::IValue argument(std::string_view name, const c10::TypePtr& type) const;  ///< None if not recorded

 private:
  const chakra_torch_value* find(std::string_view name) const;

  const chakra_torch_operator& op_;
  std::string_view names_;  ///< in order, separated by blanks: used if the recording has no names
  Storages& storages_;
};

struct Substitute {
  std::string_view name;       ///< of the recorded operator; with ".overload" to match only that overload
  std::string_view arguments;  ///< their names, in order
  /// Return the outputs; match_outputs() corrects their number.
  std::vector<at::Tensor> (*run)(const Recorded&);
  bool always = false;  ///< even if this libtorch has the operator, since that one does not run on a CPU
};
/// Return the substitute, or null.
const Substitute* find_substitute(const char* name, const char* overload);

/// Match the number of recorded outputs: a missing output becomes memory of the recorded shape.
void match_outputs(const chakra_torch_operator& op, Values& given);

}  // namespace chakra_torch
