// The memory of a replay's tensors, by the numbers that the plan gave to the lives of recorded storages. Inside the
// plugin.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "chakra/replay/torch/torch_abi.h"

namespace chakra_torch {

/// Why an operator cannot run, for people.
struct Unable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline std::vector<int64_t> sizes_of(const chakra_torch_tensor& t) { return {t.sizes, t.sizes + t.dims}; }

/// Of a recorded name of an element type. Throws Unable for one that this libtorch does not have.
at::ScalarType element_type(const chakra_torch_tensor& recorded);

class Storages {
 public:
  /// The recorded tensor, over memory that is made and filled when it is not there.
  at::Tensor view(const chakra_torch_tensor& recorded);
  /// What an operator gave for a recorded tensor: its memory is kept under the recorded storage, unless that is there.
  void keep(const chakra_torch_tensor& recorded, at::Tensor given);
  bool has(uint32_t storage) const { return held_.count(storage) > 0; }
  void release(uint32_t storage) { held_.erase(storage); }

 private:
  struct Layout {
    std::vector<int64_t> sizes, strides;
  };
  struct Held {
    c10::Storage storage;
    int64_t shift_bytes = 0;                      ///< of what the recording calls 0
    std::unordered_map<int64_t, Layout> layouts;  ///< by recorded tensor id: where it does not say strides
  };
  std::vector<int64_t> strides_of(const chakra_torch_tensor& recorded, const std::vector<int64_t>& sizes) const;

  std::unordered_map<uint32_t, Held> held_;
  std::unordered_map<int64_t, at::Tensor> without_storage_;  ///< by recorded tensor id
};

}  // namespace chakra_torch
