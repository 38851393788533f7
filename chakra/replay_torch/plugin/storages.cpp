#include "chakra/replay_torch/plugin/storages.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace chakra_torch {
namespace {

struct NamedType {
  std::string_view name;
  at::ScalarType type;
};
constexpr NamedType kTypes[] = {
    {"float", at::kFloat},
    {"double", at::kDouble},
    {"int", at::kInt},
    {"long int", at::kLong},
    {"long", at::kLong},
    {"bool", at::kBool},
    {"unsigned char", at::kByte},
    {"signed char", at::kChar},
    {"short int", at::kShort},
    {"short", at::kShort},
    {"c10::Half", at::kHalf},
    {"c10::BFloat16", at::kBFloat16},
    {"c10::complex<float>", at::kComplexFloat},
    {"c10::complex<double>", at::kComplexDouble},
};

constexpr int64_t kPattern = 4096;

/// Values from 0 to 1 that are the same in every run.
at::Tensor pattern() {
  at::Tensor values = at::empty({kPattern}, at::kFloat);
  float* const at = values.data_ptr<float>();
  uint32_t state = 1;
  for (int64_t i = 0; i < kPattern; ++i) {
    state = state * 1664525 + 1013904223;
    at[i] = static_cast<float>(state >> 8) / 16777216.0f;
  }
  return values;
}

/// Recordings have no values. Whole numbers are 1, since they divide, and ranges are kept when they index. Others are
/// small and not negative; those of a matrix are such that a multiplication by it keeps the size of the numbers.
void fill(at::Tensor flat, const chakra_torch_tensor& recorded) {
  if (!at::isFloatingType(flat.scalar_type())) {
    flat.fill_(1);
    return;
  }
  double scale = 1;
  if (recorded.dims >= 2 && recorded.sizes[0] > 0) {
    const double columns = static_cast<double>(recorded.elements) / static_cast<double>(recorded.sizes[0]);
    scale = 2 / std::max(2.0, columns);
  }
  const at::Tensor values = pattern().mul_(scale).to(flat.scalar_type());
  const int64_t whole = flat.numel() / kPattern;
  flat.narrow(0, 0, whole * kPattern).view({whole, kPattern}).copy_(values.expand({whole, kPattern}));
  const int64_t rest = flat.numel() - whole * kPattern;
  flat.narrow(0, whole * kPattern, rest).copy_(values.narrow(0, 0, rest));
}

/// Elements from the first to behind the last that a view reaches.
int64_t extent(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  int64_t last = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    last += (sizes[d] - 1) * strides[d];
  }
  return last;
}

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * std::max<int64_t>(1, sizes[d]);
  return strides;
}

}  // namespace

at::ScalarType element_type(const chakra_torch_tensor& recorded) {
  const auto row =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const NamedType& r) { return r.name == recorded.dtype; });
  if (row == std::end(kTypes)) throw Unable(std::string("elements of type ") + recorded.dtype + " are not known here");
  return row->type;
}

std::vector<int64_t> Storages::strides_of(const chakra_torch_tensor& recorded,
                                          const std::vector<int64_t>& sizes) const {
  if (recorded.strides) return {recorded.strides, recorded.strides + recorded.dims};
  if (const auto held = held_.find(recorded.storage); held != held_.end()) {
    const auto layout = held->second.layouts.find(recorded.id);
    if (layout != held->second.layouts.end() && layout->second.sizes == sizes) return layout->second.strides;
  }
  return contiguous_strides(sizes);
}

at::Tensor Storages::view(const chakra_torch_tensor& recorded) {
  if (recorded.storage == CHAKRA_TORCH_NO_STORAGE) {
    const auto found = without_storage_.find(recorded.id);
    if (found == without_storage_.end())
      throw Unable("no operator before it gave a tensor without storage that it needs");
    return found->second;
  }
  const at::ScalarType type = element_type(recorded);
  const auto item = static_cast<int64_t>(at::elementSize(type));
  const std::vector<int64_t> sizes = sizes_of(recorded), strides = strides_of(recorded, sizes);
  Held& held = held_[recorded.storage];
  const int64_t offset = std::max<int64_t>(0, recorded.offset + held.shift_bytes / item);
  const int64_t needed = (offset + extent(sizes, strides)) * item;
  const int64_t there = held.storage ? static_cast<int64_t>(held.storage.nbytes()) : 0;
  if (!held.storage || there < needed) {
    const int64_t wanted = std::max<int64_t>(needed, static_cast<int64_t>(recorded.storage_bytes));
    at::Tensor flat = at::empty({(wanted + item - 1) / item}, type);
    fill(flat, recorded);
    if (there > 0) std::memcpy(flat.data_ptr(), held.storage.data(), static_cast<size_t>(there));
    held.storage = flat.storage();
  }
  return at::empty({0}, type).set_(held.storage, offset, sizes, strides);
}

void Storages::keep(const chakra_torch_tensor& recorded, at::Tensor given) {
  if (recorded.storage == CHAKRA_TORCH_NO_STORAGE) {
    without_storage_[recorded.id] = std::move(given);
    return;
  }
  if (!given.defined() || !given.has_storage()) return;
  if (!has(recorded.storage)) {
    const at::ScalarType type = element_type(recorded);
    if (given.scalar_type() != type) given = given.to(type);
    const int64_t shift = (given.storage_offset() - recorded.offset) * recorded.item_bytes;
    held_[recorded.storage] = {given.storage(), shift, {}};
  }
  Held& held = held_[recorded.storage];
  if (held.storage.unsafeGetStorageImpl() != given.storage().unsafeGetStorageImpl()) return;
  if (given.sizes().vec() == sizes_of(recorded))
    held.layouts[recorded.id] = {given.sizes().vec(), given.strides().vec()};
}

}  // namespace chakra_torch
