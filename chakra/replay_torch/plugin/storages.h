// The memory of tensors in a run, by the plan's numbers
// for the lives of recorded storages. Inside the plugin.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "chakra/replay_torch/torch_abi.h"

namespace chakra_torch {

/// Reason why an operator cannot run, as text for the user.
struct Unable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline std::vector<int64_t> sizes_of(const chakra_torch_tensor& t) { return {t.sizes, t.sizes + t.dims}; }

/// Return the element type of a recorded tensor. Throws Unable if this libtorch does not have the type.
at::ScalarType element_type(const chakra_torch_tensor& recorded);

class Storages {
 public:
  /// Return the recorded tensor; create and fill its memory if missing.
  at::Tensor view(const chakra_torch_tensor& recorded);
  /// Take an output for a recorded tensor: keep its memory under the recorded storage, unless that one exists already.
  void keep(const chakra_torch_tensor& recorded, at::Tensor given);
  bool has(uint32_t storage) const { return held_.count(storage) > 0; }
  void release(uint32_t storage) { held_.erase(storage); }

 private:
  struct Layout {
    std::vector<int64_t> sizes, strides;
  };
  struct Held {
    c10::Storage storage;
    int64_t shift_bytes = 0;                      ///< position of the recorded offset 0
    std::unordered_map<int64_t, Layout> layouts;  ///< by recorded tensor id: for tensors without recorded strides
  };
  std::vector<int64_t> strides_of(const chakra_torch_tensor& recorded, const std::vector<int64_t>& sizes) const;

  std::unordered_map<uint32_t, Held> held_;
  std::unordered_map<int64_t, at::Tensor> without_storage_;  ///< by recorded tensor id
};

}  // namespace chakra_torch
