// A stand-in for a BLAS, for tests: three loops that count what they do. With CHAKRA_TEST_BLAS=wrong its results are
// wrong.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
std::atomic<uint64_t> all_operations{0};
std::atomic<int> all_threads{0};
}  // namespace

EXPORT void cblas_sgemm(int, int, int, int m, int n, int k, float alpha, const float* a, int lda, const float* b,
                        int ldb, float beta, float* c, int ldc) {
  const char* const mode = std::getenv("CHAKRA_TEST_BLAS");
  const float added = mode && std::string_view(mode) == "wrong" ? 1 : 0;
  for (int row = 0; row < m; ++row)
    for (int column = 0; column < n; ++column) {
      float sum = added;
      for (int i = 0; i < k; ++i) sum += a[ptrdiff_t{row} * lda + i] * b[ptrdiff_t{i} * ldb + column];
      float& to = c[ptrdiff_t{row} * ldc + column];
      to = alpha * sum + (beta == 0 ? 0 : beta * to);
    }
  all_operations += 2 * static_cast<uint64_t>(m) * static_cast<uint64_t>(n) * static_cast<uint64_t>(k);
}
EXPORT void openblas_set_num_threads(int threads) { all_threads = threads; }

/// What all calls did together.
EXPORT uint64_t blas_stand_in_operations() { return all_operations; }
EXPORT int blas_stand_in_threads() { return all_threads; }
