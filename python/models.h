// chakra_et.Models: models of a simulation that are written in Python.
#pragma once

#include "watch.h"

namespace chakra::python {

/// Calls the methods of a chakra_et.Models, with Python's lock held during a call only. An exception of a method, and a
/// value of the wrong type, end the simulation: `raised` then has the exception.
class PythonModels : public Models {
 public:
  /// Throws TypeError for an object that is not a chakra_et.Models.
  PythonModels(nb::object models, Raised& raised);
  bool rank_independent() const override { return rank_independent_; }
  Result<void> prices(const Trace& trace, int64_t rank, std::span<int64_t> inout) override;
  Result<std::optional<int64_t>> collective(const Meeting& meeting) override;

 private:
  nb::object models_, base_;
  bool rank_independent_;
  Raised& raised_;
};

}  // namespace chakra::python
