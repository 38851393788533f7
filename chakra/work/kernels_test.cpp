// Work of kernels against counts by hand; the text of nodes.
#include <gtest/gtest.h>

#include <set>

#include "chakra/work/work.h"

namespace chakra::work {
namespace {

TEST(Kernels, ShapesAreReadAsNodesHaveThem) {
  const auto gemm = parse_kernel("gemm:4096,12288,1024");
  ASSERT_TRUE(gemm);
  EXPECT_EQ(gemm->kind->name, "gemm");
  EXPECT_EQ(gemm->sizes, (Sizes{4096, 12288, 1024}));
  EXPECT_EQ(parse_kernel("gemm.fp8_block:1,2,3")->kind->name, "gemm");
  for (const char* wrong : {"", "gemm", "gemm:", "gemm:1,2", "gemm:1,2,3,4", "gemm:1,0,3", "gemm:1,2,3,", "gemm:1,,3",
                            "gemm:-1,2,3", "gemm:1,2,x", "gemm:1, 2,3", "conv:1,2,3", "gemm:1,2,99999999999999999999"})
    EXPECT_FALSE(parse_kernel(wrong)) << wrong;
}

// By hand: 2 x 8 x 4 x 16 operations, 8 x 16 + 4 x 16 + 8 x 4 elements; 2 queries' heads of width 8 over 16 tokens.
TEST(Kernels, WorkFollowsFromShapes) {
  const KernelKind &gemm = *find_kernel_kind("gemm"), &attention = *find_kernel_kind("attention");
  EXPECT_EQ(gemm.ops({8, 4, 16}), 1024);
  EXPECT_EQ(gemm.elements({8, 4, 16}), (Tensors{128, 64, 32}));
  // Of each token and head, 16 / 2 keys on average, times 8 for the score and 8 for the sum, 2 operations each.
  EXPECT_EQ(attention.ops({3, 16, 2, 1, 8}), 3 * 16 * 2 * (16 / 2) * (8 + 8) * 2);
  EXPECT_EQ(sum_of(attention.elements({3, 16, 2, 1, 8})),
            3 * 16 * (2 + 2 * 1 + 2) * 8);  // queries, keys and values, results
}

// By hand. Decode reads 16 keys and values of 8 numbers for 3 sequences and 1 head of keys; 2 heads of queries.
TEST(Kernels, WorkOfServingKernels) {
  const auto ops = [](const char* name, const Sizes& s) { return find_kernel_kind(name)->ops(s); };
  const auto elements = [](const char* name, const Sizes& s) { return find_kernel_kind(name)->elements(s); };
  EXPECT_EQ(ops("decode_attention", {3, 64, 2, 1, 8, 16}), 3 * 2 * 16 * (8 + 8) * 2);
  EXPECT_EQ(sum_of(elements("decode_attention", {3, 64, 2, 1, 8, 16})), 3 * (2 * 2 * 8 + 2 * 16 * 8));
  EXPECT_EQ(ops("latent_attention", {3, 16, 2}), 3 * 16 * 2 * (16 / 2) * (192 + 128) * 2);
  EXPECT_EQ(ops("latent_decode", {3, 16, 2}), 3 * 16 * 2 * (576 + 512) * 2);
  // 4 of 8 ranks' 64 choices each, three GEMMs of 32 x 16; all of this rank's 2 experts are read.
  EXPECT_EQ(ops("experts", {512, 32, 16, 8, 4, 4}), 512 * 3 * 32 * 16 * 2);
  EXPECT_NEAR(elements("experts", {512, 32, 16, 8, 4, 4})[2], 2 * 3 * 32 * 16, 1e-6);
  // One token that takes one of 8 experts reads one of them: a quarter of one on each of 4 ranks.
  EXPECT_NEAR(elements("experts", {1, 32, 16, 8, 1, 4})[2], 3 * 32 * 16 / 4, 1e-6);
  EXPECT_EQ(ops("conv1d", {2, 16, 32}), 2 * 16 * 32 * 4 * 2);
}

TEST(Kernels, EachHasAKindOfWork) {
  std::set<std::string_view> names;
  for (const KernelKind& kernel : kKernelKinds) {
    EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
    EXPECT_EQ(find_kernel_kind(kernel.name), &kernel);
    EXPECT_NE(kernel.work, WorkKind::other) << kernel.name;
    Sizes sizes;
    sizes.fill(64);
    EXPECT_GT(sum_of(kernel.elements(sizes)), 0) << kernel.name;
    EXPECT_EQ(kernel.ops(sizes) > 0, kernel.work == WorkKind::matrix || kernel.work == WorkKind::attention ||
                                         kernel.name.starts_with("conv1d"))
        << kernel.name;
  }
  EXPECT_EQ(find_kernel_kind("latent_decode.kv_f8")->work, WorkKind::attention);
  EXPECT_EQ(find_kernel_kind("unheard_of"), nullptr);
}

}  // namespace
}  // namespace chakra::work
