// A BLAS library that is opened on demand, and FLOPs as matrix multiplications. Inside replay.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::replay {

struct Blas {
  /// cblas_sgemm: c (m x n) = alpha a (m x k) b (k x n) + beta c.
  using Sgemm = void(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float* a,
                     int lda, const float* b, int ldb, float beta, float* c, int ldc);
  Sgemm* sgemm = nullptr;
  std::string library;
  bool sets_threads = false;  ///< the library runs with the requested number of threads

  /// Compute c = a b, stored by rows.
  void multiply(int m, int n, int k, const float* a, const float* b, float* c) const;
};

/// Open `library` (empty: the first of Debian's that can be opened) and test it with a
/// small multiplication. `threads`: of all its callers. Errors: replay.work.library.
Result<Blas> open_blas(const std::string& library, std::optional<int64_t> threads);

struct Product {
  uint64_t count = 0;
  int m = 0, n = 0, k = 0;
  /// Return the FLOPs of one multiplication.
  uint64_t operations() const {
    return 2 * static_cast<uint64_t>(m) * static_cast<uint64_t>(n) * static_cast<uint64_t>(k);
  }
};
/// Split FLOPs into at most four shapes of multiplications: cubes of `size`, then smaller ones for the
/// rest. The FLOPs add up to `operations`, plus one if `operations` is odd, since a multiply-add counts
/// 2. n and k are at most `size`, m at most `size` + kExtraRows. Requires size >= 16. Cost: O(1).
inline constexpr int kExtraRows = 8;
std::vector<Product> products_of(uint64_t operations, int size);

}  // namespace chakra::replay
