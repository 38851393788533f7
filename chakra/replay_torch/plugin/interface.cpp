// The plugin: operators of a recording through libtorch's dispatcher.
#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <c10/core/InferenceMode.h>
#include <dlfcn.h>
#include <malloc.h>
#include <torch/version.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "chakra/replay_torch/plugin/ranges.h"
#include "chakra/replay_torch/plugin/record.h"
#include "chakra/replay_torch/plugin/substitutes.h"

struct chakra_torch_session {
  chakra_torch::Storages storages;
};

namespace chakra_torch {
namespace {

c10::optional<c10::OperatorHandle> find_operator(const char* name, const char* overload) {
  return c10::Dispatcher::singleton().findSchema({name, overload});
}

/// A substitute, where it stands for the operator.
const Substitute* substitute_of(const chakra_torch_operator& op, bool known) {
  const Substitute* const substitute = find_substitute(op.name, op.overload);
  return substitute && (substitute->always || !known) ? substitute : nullptr;
}

bool is_half(const at::Tensor& t) {
  return t.defined() && (t.scalar_type() == at::kHalf || t.scalar_type() == at::kBFloat16);
}

/// The same arguments in float32, and which of them to write back.
Values in_float(const c10::FunctionSchema& schema, const Values& arguments,
                std::vector<std::pair<at::Tensor, at::Tensor>>& written) {
  Values wide;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::IValue& value = arguments[i];
    const c10::Argument& argument = schema.arguments()[i];
    const bool writes = argument.alias_info() && argument.alias_info()->isWrite();
    const auto widen = [&](const at::Tensor& t) {
      if (!is_half(t)) return t;
      at::Tensor more = t.to(at::kFloat);
      if (writes) written.emplace_back(t, more);
      return more;
    };
    const bool dtype =
        argument.name() == "dtype" && value.isInt() &&
        (value.toInt() == static_cast<int64_t>(at::kHalf) || value.toInt() == static_cast<int64_t>(at::kBFloat16));
    if (value.isTensor()) {
      wide.emplace_back(widen(value.toTensor()));
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& t : value.toTensorVector()) list.push_back(widen(t));
      wide.emplace_back(list);
    } else if (dtype) {
      wide.emplace_back(static_cast<int64_t>(at::kFloat));
    } else if (argument.name() == "half_to_float") {
      wide.emplace_back(false);
    } else {
      wide.push_back(value);
    }
  }
  return wide;
}

bool complains_of_half(const char* text) {
  for (const char* part : {"Half", "BFloat16", "bfloat16", "half", "dtype", "scalar type"})
    if (std::strstr(text, part)) return true;
  return false;
}

Values call(const c10::OperatorHandle& handle, Values arguments, chakra_torch_result& result) {
  bool halves = false;
  for (const c10::IValue& value : arguments) for_each_tensor(value, [&](const at::Tensor& t) { halves |= is_half(t); });
  const Values before = halves ? arguments : Values();
  try {
    const at::RecordFunctionGuard recorded(true);
    handle.callBoxed(&arguments);
    return arguments;
  } catch (const std::exception& error) {
    if (!halves || !complains_of_half(error.what())) throw;
  }
  std::vector<std::pair<at::Tensor, at::Tensor>> written;
  Values again = in_float(handle.schema(), before, written);
  {
    const at::RecordFunctionGuard recorded(true);
    handle.callBoxed(&again);
  }
  for (const auto& [narrow, wide] : written) narrow.copy_(wide);
  result.in_float = 1;
  return again;
}

void run_operator(chakra_torch_session& session, const chakra_torch_operator& op, chakra_torch_result& result) {
  const auto handle = find_operator(op.name, op.overload);
  Values given;
  if (const Substitute* const substitute = substitute_of(op, handle.has_value())) {
    const at::RecordFunctionGuard recorded(true);
    for (at::Tensor& t : substitute->run(Recorded(op, substitute->arguments, session.storages)))
      given.emplace_back(std::move(t));
    match_outputs(op, given);
    result.substituted = 1;
  } else if (handle) {
    Values arguments = bind(handle->schema(), op, session.storages, result.unknown_inputs);
    bring_into_range(op, handle->schema(), arguments);
    given = call(*handle, std::move(arguments), result);
  } else {
    throw Unable("not in this libtorch");
  }
  std::string message;
  result.same_shapes = keep_outputs(op, given, session.storages, message);
  std::strncpy(result.message, message.c_str(), sizeof result.message - 1);
}

/// The first line, without where in libtorch it was.
void say(chakra_torch_result& result, std::string text) {
  text = text.substr(0, text.find('\n'));
  std::strncpy(result.message, text.c_str(), sizeof result.message - 1);
}

// ---- the table -----------------------------------------------------------------------------------------------------

int32_t run(chakra_torch_session* session, const chakra_torch_operator* op, chakra_torch_result* result) {
  *result = {};
  const c10::InferenceMode no_gradients;
  const at::RecordFunctionGuard unrecorded(false);  // what stands around an operator is not part of the job
  try {
    run_operator(*session, *op, *result);
    return 1;
  } catch (const c10::Error& error) {
    say(*result, error.what_without_backtrace());
  } catch (const std::exception& error) {
    say(*result, error.what());
  } catch (...) {
    say(*result, "unknown C++ exception");
  }
  return 0;
}

int32_t knows(const char* name, const char* overload) {
  return find_operator(name, overload).has_value() || find_substitute(name, overload) != nullptr;
}

const char* load_library(const char* path) { return dlopen(path, RTLD_NOW | RTLD_GLOBAL) ? nullptr : dlerror(); }

void set_threads(int32_t threads) { at::set_num_threads(threads); }

chakra_torch_session* open() {
  // What is freed goes back to the system: a replay holds what is live, not what once was.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  mallopt(M_TRIM_THRESHOLD, 8 << 20);
  return new chakra_torch_session;
}

void close(chakra_torch_session* session) { delete session; }

void release(chakra_torch_session* session, uint32_t storage) { session->storages.release(storage); }

constexpr chakra_torch_interface_table kTable{
    CHAKRA_TORCH_ABI, TORCH_VERSION, load_library, set_threads, knows, open, close, run, release, record};

}  // namespace
}  // namespace chakra_torch

extern "C" __attribute__((visibility("default"))) const chakra_torch_interface_table* chakra_torch_interface(void) {
  return &chakra_torch::kTable;
}
