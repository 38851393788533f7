#include "chakra/replay_torch/plugin/record.h"

#include <exception>
#include <string>

// The observer has another name, and stands elsewhere, in newer versions.
#if __has_include(<torch/csrc/profiler/execution_graph_observer.h>)
#include <torch/csrc/profiler/execution_graph_observer.h>
#define CHAKRA_OBSERVER(call) torch::profiler::impl::call##ExecutionGraphObserver
#elif __has_include(<torch/csrc/profiler/standalone/execution_trace_observer.h>)
#include <torch/csrc/profiler/standalone/execution_trace_observer.h>
#define CHAKRA_OBSERVER(call) torch::profiler::impl::call##ExecutionTraceObserver
#elif __has_include(<torch/csrc/profiler/execution_trace_observer.h>)
#include <torch/csrc/profiler/execution_trace_observer.h>
#define CHAKRA_OBSERVER(call) torch::profiler::impl::call##ExecutionTraceObserver
#endif

namespace chakra_torch {

const char* record(const char* file) {
#ifdef CHAKRA_OBSERVER
  static bool recording = false;
  try {
    if (!file) {
      if (recording) {
        CHAKRA_OBSERVER(disable)();
        CHAKRA_OBSERVER(remove)();
      }
      recording = false;
      return nullptr;
    }
    if (recording) return "this process is recording already";
    if (!CHAKRA_OBSERVER(add)(std::string(file))) return "the observer of this libtorch did not start";
    CHAKRA_OBSERVER(enable)();
    recording = true;
    return nullptr;
  } catch (const std::exception&) {
    return "the observer of this libtorch failed";
  }
#else
  return file ? "this libtorch has no observer of execution" : nullptr;
#endif
}

}  // namespace chakra_torch
