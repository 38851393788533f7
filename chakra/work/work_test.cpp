// Work against counts by hand, and shapes that cannot be.
#include "chakra/work/work.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <set>

#include "chakra/base/base.h"
#include "chakra/base/testing/testing.h"

namespace chakra::work {
namespace {

struct Recorded {
  std::string name, shapes, types;
  std::string values = {}, out_shapes = {}, out_types = {}, strides = {};
  bool alone = false;
};

std::optional<Work> work(const Recorded& r) {
  Arguments arguments;
  arguments.impossible = !parse_arguments(r.shapes, r.types, r.values, arguments.inputs, r.strides) ||
                         !parse_arguments(r.out_shapes, r.out_types, {}, arguments.outputs);
  arguments.alone = r.alone;
  const WorkRow* row = find_work_row(r.name);
  Work work;
  return row && work_of(*row, r.name, arguments, work) ? std::optional(work) : std::nullopt;
}

void expect(const Recorded& r, uint64_t operations, uint64_t bytes, trace::DType type) {
  const auto found = work(r);
  ASSERT_TRUE(found) << r.name;
  EXPECT_EQ(found->operations.value(), operations) << r.name;
  EXPECT_EQ(found->bytes.value(), bytes) << r.name;
  EXPECT_EQ(found->dtype, type) << r.name;
}

TEST(Work, OfProducts) {
  using trace::DType;
  // 2 * 3 * 5 * 7; (3*5 + 5*7 + 3*7) * 4 bytes.
  expect({"aten::mm", "[[3, 5], [5, 7]]", R"(["float", "float"])"}, 210, 284, DType::f32);
  expect({"aten::mm", "[[3, 5], [5, 7]]", "['Tensor(float)', 'Tensor(float)']", "[[1, 2, 0, 15, 4, 'cuda:0'], [3]]",
          "[[3, 7]]", "['Tensor(float)']"},
         210, 284, DType::f32);
  expect({"aten::addmm", "[[7], [3, 5], [5, 7], [], []]",
          R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"])"},
         210, 2 * (7 + 15 + 35 + 21), DType::bf16);
  expect({"aten::bmm", "[[2, 3, 5], [2, 5, 7]]", R"(["double", "double"])"}, 420, 2 * 71 * 8, DType::f64);
  expect({"aten::linear", "[[2, 3, 5], [7, 5], [7]]", R"(["c10::Half", "c10::Half", "c10::Half"])"}, 420,
         2 * (30 + 35 + 7 + 42), DType::f16);
  using Product = std::array<uint64_t, 3>;  // m, n, k of one product
  EXPECT_EQ(work({"aten::mm", "[[3, 5], [5, 7]]", R"(["float", "float"])"})->product, (Product{3, 7, 5}));
  EXPECT_EQ(work({"aten::bmm", "[[2, 3, 5], [2, 5, 7]]", R"(["double", "double"])"})->product, Product{});
  EXPECT_EQ(work({"aten::linear", "[[2, 3, 5], [7, 5], [7]]", R"(["c10::Half", "c10::Half", "c10::Half"])"})->product,
            (Product{6, 7, 5}));
  EXPECT_FALSE(work({"aten::mm", "[[3, 5], [4, 7]]", R"(["float", "float"])"}));
  EXPECT_FALSE(work({"aten::mm", "[[], []]", R"(["float", "float"])"}));
  EXPECT_FALSE(work({"aten::mm", "[[3, 5]]", R"(["float"])"}));
}

TEST(Work, OfGroupedProducts) {
  using trace::DType;
  const std::string types = R"(["c10::BFloat16", "c10::BFloat16", "int", "", ""])";
  const auto grouped = [&](const char* a, const char* b, uint64_t flops, uint64_t numbers) {
    expect({"aten::_grouped_mm", fmt::format("[{}, {}, [4], [], []]", a, b), types}, flops, 2 * numbers, DType::bf16);
  };
  grouped("[10, 3]", "[4, 3, 7]", 2 * 10 * 3 * 7, 10 * 3 + 4 * 3 * 7 + 10 * 7);        // rows of a in groups
  grouped("[4, 5, 3]", "[3, 11]", 2 * 5 * 3 * 11, 4 * 5 * 3 + 3 * 11 + 5 * 11);        // columns of b
  grouped("[5, 12]", "[12, 7]", 2 * 5 * 12 * 7, 5 * 12 + 12 * 7 + 4 * 5 * 7);          // parts of k: four results
  grouped("[4, 5, 3]", "[4, 3, 7]", 4 * 2 * 5 * 3 * 7, 4 * (5 * 3 + 3 * 7 + 5 * 7));   // one product each
  EXPECT_FALSE(work({"aten::_grouped_mm", "[[5, 12], [12, 7], [], [], []]", types}));  // in how many parts?
  EXPECT_FALSE(work({"aten::_grouped_mm", "[[4, 5, 3], [4, 11], [4], [], []]", types}));
  expect({"aten::_scaled_grouped_mm", "[[5, 12], [12, 7], [5], [7], [4], [], [], [], []]",
          R"(["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "int", "", "", "Scalar", "Scalar"])"},
         2 * 5 * 12 * 7, 5 * 12 + 12 * 7 + 2 * 4 * 5 * 7, DType::f8);
}

TEST(Work, OfLosses) {
  using trace::DType;
  const uint64_t n = 7 * 11;
  const std::string numbers = R"(["float", "float", "float", "Scalar"])";
  expect({"aten::mse_loss", "[[7, 11], [7, 11], []]", R"(["float", "float", "Scalar"])"}, 3 * n, 3 * n * 4, DType::f32);
  // The gradient of a mean is one number; dx has the shape of x.
  expect({"aten::mse_loss_backward", "[[], [7, 11], [7, 11], []]", numbers}, 3 * n, 4 + 3 * n * 4, DType::f32);
  expect({"aten::mse_loss_backward", "[[], [7, 11], [7, 11], [], [7, 11]]",
          R"(["float", "float", "float", "Scalar", "float"])"},
         3 * n, 4 + 3 * n * 4, DType::f32);
  expect({"aten::binary_cross_entropy_backward", "[[], [7, 11], [7, 11], [7, 11], []]",
          R"(["float", "float", "float", "float", "Scalar"])"},
         3 * n, 4 + 4 * n * 4, DType::f32);
  expect({"aten::huber_loss_backward", "[[7, 11], [7, 11], [7, 11], [], []]", numbers}, 3 * n, 4 * n * 4, DType::f32);
  // One number of a row is read, and one is written backwards: the zeros are another operator's.
  const std::string classes = R"(["float", "long int", "", "Scalar", "Scalar"])";
  expect({"aten::nll_loss_forward", "[[7, 11], [7], [], [], []]", classes, R"(["", "", "", "1", "-100"])"}, 7,
         7 * (8 + 4) + 2 * 4, DType::f32);
  expect({"aten::nll_loss_forward", "[[7, 11], [7], [], [], []]", classes, R"(["", "", "", "0", "-100"])"}, 7,
         7 * (8 + 4) + 8 * 4, DType::f32);
  expect({"aten::nll_loss_backward", "[[], [7, 11], [7], [], [], [], []]",
          R"(["float", "float", "long int", "", "Scalar", "Scalar", "float"])"},
         0, 4 + 7 * (8 + 4), DType::f32);
}

TEST(Work, OutputsOfOtherTypes) {
  using trace::DType;
  const uint64_t n = 7 * 11;
  expect({"aten::_int_mm", "[[3, 5], [5, 7]]", R"(["signed char", "signed char"])"}, 210, 15 + 35 + 4 * 21, DType::i8);
  expect({"aten::_scaled_mm", "[[3, 5], [5, 7]]", R"(["c10::Float8_e4m3fn", "c10::Float8_e4m3fn"])"}, 210,
         15 + 35 + 2 * 21, DType::f8);
  const auto soft = [&](const char* to_float, uint64_t bytes) {
    expect({"aten::_softmax", "[[7, 11], [], []]", R"(["c10::Half", "Scalar", "Scalar"])",
            fmt::format(R"(["", "-1", "{}"])", to_float)},
           5 * n, bytes, DType::f16);
  };
  soft("False", n * (2 + 2)), soft("True", n * (2 + 4));
  const auto backward = [&](const char* type, uint64_t bytes) {
    expect({"aten::_log_softmax_backward_data", "[[7, 11], [7, 11], [], []]",
            R"(["float", "float", "Scalar", "Scalar"])", fmt::format(R"(["", "", "-1", "{}"])", type)},
           4 * n, bytes, DType::f32);
  };
  backward("6", n * (4 + 4 + 4)), backward("5", n * (4 + 4 + 2)), backward("15", n * (4 + 4 + 2));
  expect(
      {"aten::native_dropout", "[[7, 11], [], []]", R"(["c10::Half", "Scalar", "Scalar"])", R"(["", "0.1", "True"])"},
      2 * n, n * (2 + 2 + 1), DType::f16);
  expect({"aten::sqrt", "[[7, 11]]", R"(["long int"])"}, n, n * (8 + 4), DType::i64);
  expect({"aten::sqrt", "[[7, 11]]", R"(["double"])"}, n, n * (8 + 8), DType::f64);
  expect({"aten::cumsum", "[[7, 11], [], []]", R"(["bool", "Scalar", ""])", R"(["", "1", ""])"}, n, n * (1 + 8),
         DType::boolean);
  expect({"aten::cumsum", "[[7, 11], [], []]", R"(["c10::Half", "Scalar", ""])", R"(["", "1", ""])"}, n, n * (2 + 2),
         DType::f16);
  const std::string row = R"(["", "1", "False"])", types = R"(["float", "Scalar", "Scalar"])";
  expect({"aten::argmax", "[[7, 11], [], []]", types, row}, n, n * 4 + 7 * 8, DType::f32);
  expect({"aten::max", "[[7, 11], [], []]", types, row}, n, n * 4 + 7 * (4 + 8), DType::f32);
  expect({"aten::max", "[[7, 11]]", R"(["float"])"}, n, n * 4 + 4, DType::f32);
  expect({"aten::sum", "[[7, 11], []]", R"(["bool", ""])"}, n, n + 8, DType::boolean);
  expect({"aten::any", "[[7, 11], [], []]", types, row}, n, n * 4 + 7, DType::f32);
  expect({"aten::var_mean", "[[7, 11], [], []]", types, row}, 3 * n, n * 4 + 2 * 7 * 4, DType::f32);
}

TEST(Work, OfConvolutions) {
  // (8 + 2*1 - 2 - 1) / 2 + 1 = 4 each way: 2 * 4 * 4 outputs * 6 filters of 3 * 3 * 3 weights.
  const std::string shapes = "[[2, 3, 8, 8], [6, 3, 3, 3], [], [], [], [], [], [], []]";
  const std::string types =
      R"(["float", "float", "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "Scalar", "Scalar"])";
  const uint64_t out = 2 * 6 * 4 * 4, operations = out * 27 * 2, bytes = 4 * (2 * 3 * 64 + 6 * 27 + out);
  expect({"aten::miopen_convolution", shapes, types,
          R"(["", "", "", "[1, 1]", "[2, 2]", "[1, 1]", "1", "False", "False"])"},
         operations, bytes, trace::DType::f32);
  expect({"aten::convolution", shapes, types, R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"])"},
         operations, bytes, trace::DType::f32);
  EXPECT_FALSE(work({"aten::convolution", shapes, types, ""}));  // the stride is not recorded
  const std::string gradients = "[[2, 6, 4, 4], [2, 3, 8, 8], [6, 3, 3, 3], [], [], [], [], [], [], [], []]";
  const std::string gradient_types =
      R"(["float", "float", "float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", )"
      R"("Scalar", "ScalarList"])";
  const auto backward = [&](const char* mask) {
    return work({"aten::convolution_backward", gradients, gradient_types,
                 fmt::format(R"(["","","","[0]","[2, 2]","[1, 1]","[1, 1]","False","[0, 0]","1","{}"])", mask)});
  };
  EXPECT_EQ(backward("[True, True, False]")->operations.value(), 2 * operations);
  EXPECT_EQ(backward("[False, True, False]")->operations.value(), operations);
  EXPECT_EQ(backward("[False, False, True]")->operations.value(), 0u);
  EXPECT_FALSE(backward("[True, True, False]")->estimated);
  EXPECT_TRUE(backward("")->estimated);
}

TEST(Work, OfAttention) {
  // Two GEMMs of 5 by 7 positions and 8 numbers, of 2 * 3 heads; backwards five.
  const std::string q = "[2, 3, 5, 8]", k = "[2, 3, 7, 8]";
  const std::string types = R"(["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar"])";
  const uint64_t product = 2 * 2 * 3 * 5 * 7 * 8;
  expect({"aten::_scaled_dot_product_flash_attention", fmt::format("[{}, {}, {}, [], []]", q, k, k), types,
          R"(["", "", "", "0.", "True"])"},
         2 * product, 2 * (2 * 240 + 2 * 336), trace::DType::f16);
  EXPECT_EQ(work({"aten::_scaled_dot_product_flash_attention_backward",
                  fmt::format("[{}, {}, {}, {}, {}]", q, q, k, k, q), R"(["float","float","float","float","float"])"})
                ->operations.value(),
            5 * product);
  // The same with the heads behind the positions.
  EXPECT_EQ(work({"aten::_flash_attention_forward", "[[2, 5, 3, 8], [2, 7, 3, 8], [2, 7, 3, 8], [], [], [], []]",
                  R"(["float", "float", "float", "", "", "Scalar", "Scalar"])"})
                ->operations.value(),
            2 * product);
  // Two sequences of 5 packed; nothing says where they end but how many there are.
  const auto packed = work({"aten::_flash_attention_forward", "[[10, 3, 8], [10, 3, 8], [10, 3, 8], [3], [3], [], []]",
                            R"(["float", "float", "float", "int", "int", "Scalar", "Scalar"])"});
  ASSERT_TRUE(packed);
  EXPECT_EQ(packed->operations.value(), 2u * 2 * 2 * 3 * 5 * 5 * 8);
  EXPECT_TRUE(packed->estimated);
}

TEST(Work, OfOthers) {
  using trace::DType;
  expect({"aten::add", "[[4, 1, 8], [3, 8], []]", R"(["float", "c10::Half", "Scalar"])"}, 96, 4 * 32 + 2 * 24 + 4 * 96,
         DType::f32);
  expect({"aten::add_", "[[4, 8], [8]]", R"(["c10::Half", "float"])"}, 32, 2 * 32 + 4 * 8 + 2 * 32, DType::f16);
  expect({"aten::eq", "[[4, 8], []]", R"(["long int", "Scalar"])"}, 32, 8 * 32 + 32, DType::i64);
  expect(
      {"aten::sum", "[[4, 8], [], [], []]", R"(["float", "ScalarList", "Scalar", ""])", R"(["", "[-1]", "True", ""])"},
      32, 4 * (32 + 4), DType::f32);
  expect({"aten::copy_", "[[4, 8], [4, 8], []]", R"(["c10::Half", "float", "Scalar"])"}, 0, 32 * 6, DType::f16);
  expect({"aten::cat", "[[[2, 3], [4, 3]], []]", "['GenericList[Tensor(float),Tensor(float)]', 'Int']"}, 0, 2 * 4 * 18,
         DType::f32);
  expect({"aten::fill_", "[[4, 8], []]", R"(["float", "Scalar"])"}, 0, 128, DType::f32);
  expect({"aten::embedding", "[[1000, 8], [2, 3]]", R"(["float", "long int"])"}, 0, 6 * 8 + 2 * 6 * 8 * 4, DType::f32);
  expect({"aten::_fused_adam_", "[[[5]], [[5]], [[5]], [[5]], [], [[]]]",
          "['GenericList[Tensor(float)]','GenericList[Tensor(float)]','GenericList[Tensor(float)]',"
          "'GenericList[Tensor(float)]','GenericList[]','GenericList[Tensor(float)]']"},
         60, 7 * 5 * 4, DType::f32);
  expect({"triton_poi_fused_mul_silu_2", "[[4, 8], [32], []]", R"(["c10::BFloat16", "c10::BFloat16", "Scalar"])",
          R"(["", "", "32"])"},
         32, 128, DType::bf16);
  // Rows of a table: each of 16 indices touches one number of it.
  expect({"triton_poi_fused_embedding_0", "[[2], [1000, 8], [2, 8], []]", R"(["long int", "float", "float", "Scalar"])",
          R"(["", "", "", "16"])"},
         16, 2 * 8 + 16 * 4 + 16 * 4, DType::f32);
  // Rows of 100 numbers: 7 comparisons each; columns of 5: 3. One of a single number needs none.
  const std::string numbers = R"(["float", "Scalar", "Scalar"])";
  expect({"aten::sort", "[[5, 100], [], []]", numbers, R"(["", "-1", "False"])"}, 500 * 7, 500 * 16, DType::f32);
  expect({"aten::sort", "[[5, 100], [], []]", numbers, R"(["", "0", "False"])"}, 500 * 3, 500 * 16, DType::f32);
  expect(
      {"aten::sort", "[[5, 100], [], [], []]", R"(["float", "", "Scalar", "Scalar"])", R"(["", "True", "0", "False"])"},
      500 * 3, 500 * 16, DType::f32);
  expect({"aten::sort", "[[], [], []]", numbers, R"(["", "-1", "False"])"}, 0, 16, DType::f32);
  EXPECT_FALSE(work({"aten::sort", "[[5, 100], [], []]", numbers, R"(["", "2", "False"])"}));
  expect({"aten::topk", "[[5, 100], [], []]", numbers, R"(["", "3", "-1"])"}, 500, 500 * 4 + 15 * 12, DType::f32);
  expect({"aten::topk", "[[5, 100], [], []]", numbers, R"(["", "3", "0"])"}, 500, 500 * 4 + 300 * 12, DType::f32);
  EXPECT_FALSE(work({"aten::topk", "[[5, 100], [], []]", numbers, R"(["", "", "-1"])"}));
  expect({"fsdp::chunk_cat", "[[[2, 3], [4, 3]], [], [], [18]]",
          "['GenericList[Tensor(float),Tensor(float)]', 'Int', 'Int', 'float']"},
         0, 2 * 4 * 18, DType::f32);
  EXPECT_FALSE(work({"aten::_foreach_add_", "[[], [], []]", R"(["TensorList", "TensorList", "Scalar"])"}));
  EXPECT_EQ(find_work_row("aten::view"), nullptr);
  EXPECT_EQ(find_work_row("triton_tem_fused_mm_0"), nullptr);
}

TEST(Work, ReadsExpandedTensorsOnce) {
  using trace::DType;
  const auto of = [](const std::string& name, const std::string& shapes, const std::string& types,
                     const std::string& strides) { return Recorded{name, shapes, types, {}, {}, {}, strides}; };
  expect(of("aten::clone", "[[1024, 1024], []]", "['float', 'Int']", "[[0, 1], []]"), 0, 4 * (1024 + 1024 * 1024),
         DType::f32);
  expect(of("aten::copy_", "[[512, 256], [512, 256], []]", "['float', 'float', '']", "[[256, 1], [0, 1], []]"), 0,
         4 * (512 * 256 + 256), DType::f32);
  expect(of("aten::bmm", "[[8, 4, 16], [8, 16, 32]]", "['float', 'float']", "[[64, 16, 1], [0, 32, 1]]"),
         2 * 8 * 4 * 16 * 32, 4 * (8 * 4 * 16 + 16 * 32 + 8 * 4 * 32), DType::f32);
  expect(of("aten::mul", "[[6], [6]]", "['float', 'float']", "[[1], [2]]"), 6, 4 * 18, DType::f32);  // every second
  expect(of("aten::relu", "[[3, 4]]", "['float']", "[[1, 1]]"), 12, 4 * (6 + 12), DType::f32);       // overlap
  expect(of("aten::relu", "[[3, 4]]", "['float']", "[[1]]"), 12, 4 * 24, DType::f32);  // strides of another tensor
  expect(of("aten::cat", "[[[2, 3], [2, 3]], []]", "['GenericList[Tensor(float),Tensor(float)]', 'Int']",
            "[[[3, 1], [0, 0]], []]"),
         0, 4 * (6 + 1 + 12), DType::f32);
  EXPECT_EQ(span_of("[3, 4]", "[4, 1]"), 12U);
  EXPECT_EQ(span_of("[3, 4]", "[8, 1]"), 20U);
  EXPECT_EQ(span_of("[1000000, 1024]", "[0, 1]"), 1024U);
  EXPECT_EQ(span_of("[3, 0]", "[4, 1]"), 0U);
  EXPECT_EQ(span_of("[]", "[]"), 1U);
  EXPECT_EQ(span_of("[3, 4]", ""), 12U);
  EXPECT_EQ(span_of("[-1]", "[1]"), std::nullopt);
}

TEST(Work, ProgramsFillAndCopyTheWholeOutput) {
  using trace::DType;
  const auto both = [](Recorded r, uint64_t operations, uint64_t recorded, uint64_t alone) {
    expect(r, operations, recorded, DType::f32);
    r.alone = true;
    expect(r, operations, alone, DType::f32);
  };
  both({"aten::nll_loss_backward", "[[], [8, 100], [8], []]", "['float', 'float', 'long', '']"}, 0, 4 + 64 + 32,
       4 + 64 + 3200);
  both({"aten::embedding_dense_backward", "[[4, 16], [4]]", "['float', 'long']", "", "[[1000, 16]]", "['float']"}, 64,
       32 + 256 * 3, 32 + 256 + 64000);
  both({"aten::index_put", "[[50, 4], [[10]], [10, 4], []]", "['float', 'GenericList[Tensor(long)]', 'float', 'Bool']",
        "['', '', '', 'False']"},
       0, 80 + 160 * 2, 80 + 160 + 800 * 2);
  both({"aten::scatter_add", "[[50, 4], [], [10, 4], [10, 4]]", "['float', 'Int', 'long', 'float']"}, 40, 320 + 160 * 3,
       320 + 160 + 800 * 2);
  both({"aten::scatter_add_", "[[50, 4], [], [10, 4], [10, 4]]", "['float', 'Int', 'long', 'float']"}, 40,
       320 + 160 * 3, 320 + 160 * 3);
}

TEST(Work, ReadsATableAtMostOnce) {
  using trace::DType;
  expect({"aten::embedding", "[[10, 64], [4096]]", "['float', 'long']"}, 0, 4096 * 8 + 2560 + 4096 * 256, DType::f32);
  expect({"aten::gather", "[[2, 3], [], [2, 9]]", "['float', 'Int', 'long']"}, 0, 144 + 24 + 72, DType::f32);
}

TEST(Work, AdamKeepsTheLargestMomentsWithAmsgrad) {
  const std::string list = "GenericList[Tensor(float)]";
  const auto adam = [&](const std::string& most) {
    const std::string types = "['" + list + "', '" + list + "', '" + list + "', '" + list + "', '" +
                              (most.empty() ? "GenericList[]" : list) + "', '" + list + "']";
    return Recorded{"aten::_fused_adam_", "[[[192]], [[192]], [[192]], [[192]], [" + most + "], [[]]]", types};
  };
  expect(adam(""), 12 * 192, 7 * 768, trace::DType::f32);
  expect(adam("[192]"), 12 * 192, 9 * 768, trace::DType::f32);
}

TEST(Work, ShapesThatCannotBe) {
  const std::string types = R"(["float", "float"])";
  for (const char* shapes :
       {"[[-3, 5], [5, 7]]", "[[3, \"five\"], [5, 7]]", "[[3, 5.5], [5, 7]]", "[[9223372036854775807, 9], [9, 7]]",
        "[[99999999999999999999, 5], [5, 7]]", "[[3, [5]], [5, 7]]", "[\"x\", [5, 7]]", "[null, [5, 7]]"}) {
    Arguments arguments;
    EXPECT_FALSE(parse_arguments(shapes, types, {}, arguments.inputs)) << shapes;
  }
  // As large as can be said: counts stay where they are.
  const auto large = work({"aten::mm", "[[1073741824, 16777216], [16777216, 1073741824]]", types});
  ASSERT_TRUE(large);
  EXPECT_EQ(large->operations.value(), Count::kMost);
  EXPECT_EQ(work({"aten::mm", "[[0, 5], [5, 7]]", types})->operations.value(), 0u);
}

/// No text makes a formula crash, and none counts more than fits.
TEST(Work, AnyTextIsReadOrRefused) {
  Prng random(7);
  const std::vector<std::string> pieces{"[",
                                        "]",
                                        ",",
                                        "[]",
                                        "[2, 3]",
                                        "[[4]]",
                                        "-1",
                                        "0",
                                        "7",
                                        "'float'",
                                        "\"int\"",
                                        "'",
                                        "\"",
                                        "\\",
                                        "True",
                                        "None",
                                        "'TensorList'",
                                        "'Scalar'",
                                        "[1073741824, 1073741824]",
                                        "9223372036854775807",
                                        "(",
                                        ")",
                                        " "};
  const auto text = [&] {
    std::string list = "[";
    for (uint64_t i = random.below(14); i > 0; --i) list += pieces[random.below(pieces.size())] + ",";
    return list + "]";
  };
  for (int i = 0; i < 20'000; ++i) {
    const WorkRow& row = kWorkRows[random.below(kWorkRows.size())];
    const std::string name(row.names.substr(0, row.names.find(' ')));
    (void)work({name, text(), text(), text(), text(), text(), text(), random.chance(0.5)});
    Arguments arguments;
    const std::string shapes = "[[2,3,4,5],[3,3,4,5],[3,3,4,5],[2,3],[4],[4],[4],[4],[4],[4],[4],[4],[4]]";
    const std::string values = text();
    parse_arguments(shapes, "['float','float','float','float','int','int','int','Scalar','Scalar','Scalar','Scalar']",
                    values, arguments.inputs);
    Work found;
    (void)work_of(row, name, arguments, found);
  }
}

TEST(Work, EveryOperatorHasOneRow) {
  std::set<std::string_view> seen;
  for (const WorkRow& row : kWorkRows)
    for (std::string_view left = row.names; !left.empty();) {
      const size_t end = std::min(left.find(' '), left.size());
      const std::string_view name = left.substr(0, end);
      EXPECT_TRUE(seen.insert(name).second) << name;
      if (!name.ends_with('*')) EXPECT_EQ(find_work_row(name), &row) << name;
      left.remove_prefix(std::min(end + 1, left.size()));
    }
}

}  // namespace
}  // namespace chakra::work
