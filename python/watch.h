// A long call of the library, seen from Python.
#pragma once

#include "module.h"

namespace chakra::python {

using Raised = std::optional<nb::python_error>;  ///< an exception of a callback, until the call has ended

/// Let other threads of Python run during a call, report the progress to a function of Python, and stop at Ctrl-C.
class Watch {
 public:
  explicit Watch(std::optional<nb::object> progress) : progress_(std::move(progress)) {}
  template <class Run>
  auto run(const Run& run) {
    auto result = [&] {
      const nb::gil_scoped_release release;
      return run(Control{ask, this});
    }();
    if (raised_) throw nb::python_error(std::move(*raised_));
    return value(std::move(result));
  }
  /// Where callbacks of the call keep an exception, which run() then raises.
  Raised& raised() { return raised_; }

 private:
  static bool ask(void* user, double share) { return static_cast<Watch*>(user)->ask(share); }
  bool ask(double share) {
    const nb::gil_scoped_acquire acquire;
    if (raised_) return false;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      return !progress_ || !(*progress_)(share).is(nb::handle(Py_False));
    } catch (nb::python_error& error) {
      raised_.emplace(std::move(error));
      return false;
    }
  }
  std::optional<nb::object> progress_;
  Raised raised_;
};

}  // namespace chakra::python
