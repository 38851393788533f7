#include "chakra/replay/work/blas.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <array>
#include <cmath>

namespace chakra::replay {
namespace {

constexpr int kRowMajor = 101, kNoTranspose = 111;  // of the C interface of BLAS
constexpr std::array<const char*, 3> kLibraries{"libopenblas.so.0", "libblas.so.3", "libcblas.so.3"};
/// OpenBLAS, MKL, BLIS.
constexpr std::array<const char*, 3> kThreadSetters{"openblas_set_num_threads", "MKL_Set_Num_Threads",
                                                    "bli_thread_set_num_threads"};

/// GEMMs of small whole numbers are exact. Integers of another width, or another order, give other results.
bool multiplies(const Blas& blas) {
  constexpr int kM = 3, kN = 5, kK = 7;
  std::array<float, kM * kK> a{};
  std::array<float, kK * kN> b{};
  std::array<float, kM * kN> c{};
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * i % 11);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * i % 13);
  blas.multiply(kM, kN, kK, a.data(), b.data(), c.data());
  for (size_t row = 0; row < kM; ++row)
    for (size_t column = 0; column < kN; ++column) {
      float sum = 0;
      for (size_t i = 0; i < kK; ++i) sum += a[row * kK + i] * b[i * kN + column];
      if (c[row * kN + column] != sum) return false;
    }
  return true;
}

/// Or why not.
Result<Blas> open_one(const std::string& file) {
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* problem = library ? nullptr : ::dlerror();
  Blas blas;
  blas.library = file;
  if (library) blas.sgemm = reinterpret_cast<Blas::Sgemm*>(::dlsym(library, "cblas_sgemm"));
  if (library && !blas.sgemm) problem = "it lacks cblas_sgemm";
  if (blas.sgemm && !multiplies(blas)) problem = "its cblas_sgemm gives wrong results";
  if (problem) return fail(Code::usage, "replay.work.library", problem);
  return blas;
}

void set_threads(Blas& blas, int64_t threads) {
  void* const library = ::dlopen(blas.library.c_str(), RTLD_NOW | RTLD_LOCAL);  // it is open
  for (const char* name : kThreadSetters) {
    auto* const setter = library ? reinterpret_cast<void (*)(int)>(::dlsym(library, name)) : nullptr;
    if (!setter) continue;
    setter(static_cast<int>(threads));
    blas.sets_threads = true;
    return;
  }
}

}  // namespace

void Blas::multiply(int m, int n, int k, const float* a, const float* b, float* c) const {
  sgemm(kRowMajor, kNoTranspose, kNoTranspose, m, n, k, 1, a, k, b, n, 0, c, n);
}

// `replay.work.library` (2): `--compute work` finds no BLAS, or one that it cannot use.
Result<Blas> open_blas(const std::string& library, std::optional<int64_t> threads) {
  std::string why;
  for (const char* const known : kLibraries) {
    const std::string file = library.empty() ? known : library;
    Result<Blas> blas = open_one(file);
    if (blas) {
      if (threads) set_threads(*blas, *threads);
      return blas;
    }
    why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", file, blas.error().text);
    if (!library.empty()) break;
  }
  return fail(Code::usage, "replay.work.library",
              fmt::format("no BLAS can be used ({}): install Debian's libopenblas0-pthread, or name one with "
                          "--compute-option library=FILE",
                          why));
}

std::vector<Product> products_of(uint64_t operations, int size) {
  CHAKRA_ASSERT(size >= 16);
  std::vector<Product> products;
  const auto take = [&](uint64_t count, int m, int n, int k) {
    if (count == 0 || m == 0 || n == 0 || k == 0) return;
    products.push_back({count, m, n, k});
    operations -= count * products.back().operations();
  };
  const Product cube{1, size, size, size};
  take(operations / cube.operations(), size, size, size);
  operations += operations % 2;
  auto edge = static_cast<int>(std::cbrt(static_cast<double>(operations / 2)));
  const auto fits = [&](int e) { return Product{1, e, e, e}.operations() <= operations; };
  while (edge > 0 && !fits(edge)) --edge;
  while (fits(edge + 1)) ++edge;
  if (edge > 0) {
    const auto rows = static_cast<int>(operations / Product{1, 1, edge, edge}.operations());
    take(1, rows, edge, edge);
    take(1, 1, edge, static_cast<int>(operations / Product{1, 1, edge, 1}.operations()));
  }
  take(1, 1, 1, static_cast<int>(operations / 2));
  CHAKRA_ASSERT(operations == 0);
  return products;
}

}  // namespace chakra::replay
