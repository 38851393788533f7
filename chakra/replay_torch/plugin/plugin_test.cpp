// The plugin through its interface, without a word of torch: operators, memory, ranges, and what cannot run.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "chakra/replay_torch/torch_abi.h"

namespace {

const chakra_torch_interface_table& table() {
  static const auto* const loaded = [] {
    void* const file = dlopen(CHAKRA_TORCH_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!file) throw std::runtime_error(dlerror());
    return reinterpret_cast<decltype(&chakra_torch_interface)>(dlsym(file, "chakra_torch_interface"))();
  }();
  return *loaded;
}

/// Calls as a plan has them.
class Replay {
 public:
  Replay() : session_(table().open()) {}
  ~Replay() { table().close(session_); }

  chakra_torch_value tensor(uint32_t storage, std::vector<int64_t> sizes, const char* dtype = "float", int64_t item = 4,
                            int64_t offset = 0) {
    chakra_torch_tensor t{};
    t.id = next_id_++;
    t.storage = storage;
    t.dims = static_cast<uint32_t>(sizes.size());
    t.elements = 1;
    for (const int64_t size : sizes) t.elements *= size;
    t.item_bytes = item;
    t.offset = offset;
    t.storage_bytes = static_cast<uint64_t>((offset + t.elements) * item);
    t.sizes = numbers_.emplace_back(std::move(sizes)).data();
    t.dtype = dtype;
    chakra_torch_value value{};
    value.kind = CHAKRA_TORCH_TENSOR;
    value.tensor = &tensors_.emplace_back(t);
    return value;
  }
  static chakra_torch_value integer(int64_t number) {
    chakra_torch_value value{};
    value.kind = CHAKRA_TORCH_INTEGER;
    value.integer = number;
    return value;
  }
  static chakra_torch_value unknown() {
    chakra_torch_value value{};
    value.kind = CHAKRA_TORCH_UNKNOWN;
    value.text = "Stream";
    return value;
  }

  bool run(const char* name, const char* overload, std::vector<chakra_torch_value> in,
           std::vector<chakra_torch_value> out, std::vector<const char*> names = {}) {
    const chakra_torch_operator op{
        name,      overload,   static_cast<uint32_t>(in.size()),      static_cast<uint32_t>(out.size()),
        in.data(), out.data(), names.empty() ? nullptr : names.data()};
    return table().run(session_, &op, &result) != 0;
  }
  void release(uint32_t storage) { table().release(session_, storage); }

  chakra_torch_result result{};

 private:
  chakra_torch_session* session_;
  int64_t next_id_ = 1;
  std::deque<std::vector<int64_t>> numbers_;
  std::deque<chakra_torch_tensor> tensors_;
};

TEST(Plugin, SaysItsVersion) {
  EXPECT_EQ(table().abi, static_cast<uint32_t>(CHAKRA_TORCH_ABI));
  EXPECT_NE(std::strchr(table().torch_version, '.'), nullptr);
  EXPECT_TRUE(table().knows("aten::relu", ""));
  EXPECT_TRUE(table().knows("aten::add", "Tensor"));
  EXPECT_TRUE(table().knows("aten::cudnn_batch_norm_backward", ""));
  EXPECT_FALSE(table().knows("aten::no_such_operator", ""));
  EXPECT_NE(table().load_library("/no/such/library.so"), nullptr);
}

TEST(Plugin, ComparesShapes) {
  Replay r;
  EXPECT_TRUE(r.run("aten::mm", "", {r.tensor(0, {3, 4}), r.tensor(1, {4, 5})}, {r.tensor(2, {3, 5})}));
  EXPECT_TRUE(r.result.same_shapes);
  EXPECT_TRUE(r.run("aten::mm", "", {r.tensor(0, {3, 4}), r.tensor(1, {4, 5})}, {r.tensor(3, {5, 3})}));
  EXPECT_FALSE(r.result.same_shapes);
  EXPECT_NE(std::string(r.result.message).find("[3, 5]"), std::string::npos) << r.result.message;
  EXPECT_TRUE(r.run("aten::relu", "", {r.tensor(0, {3, 4})}, {r.tensor(4, {3, 4}), r.tensor(5, {1})}));
  EXPECT_FALSE(r.result.same_shapes);
}

TEST(Plugin, SaysWhyItCannot) {
  Replay r;
  EXPECT_FALSE(r.run("aten::mm", "", {r.tensor(0, {3, 4}), r.tensor(1, {5, 4})}, {r.tensor(2, {3, 5})}));
  EXPECT_GT(std::strlen(r.result.message), 0u);
  EXPECT_EQ(std::strchr(r.result.message, '\n'), nullptr);
  EXPECT_FALSE(r.run("aten::relu", "", {r.tensor(3, {3}, "c10::Float8_e4m3fn", 1)}, {}));
  EXPECT_NE(std::string(r.result.message).find("Float8"), std::string::npos) << r.result.message;
  EXPECT_FALSE(r.run("aten::relu", "", {}, {}));
  EXPECT_FALSE(r.run("aten::relu", "", {r.unknown()}, {}));
  EXPECT_FALSE(r.run("aten::no_such_operator", "", {}, {}));
  // More than any machine has.
  EXPECT_FALSE(r.run("aten::relu", "", {r.tensor(4, {int64_t{1} << 40, 1 << 20})}, {}));
  EXPECT_TRUE(r.run("aten::relu", "", {r.tensor(5, {3})}, {r.tensor(6, {3})}));  // the session goes on
}

TEST(Plugin, FindsArgumentsByTheirNames) {
  Replay r;
  // A newer schema: an argument in front and one that is not here.
  EXPECT_TRUE(r.run("aten::sum", "dim_IntList", {r.integer(7), r.integer(0), r.tensor(0, {3, 4})}, {r.tensor(1, {4})},
                    {"newer", "dim", "self"}));
  EXPECT_TRUE(r.result.same_shapes) << r.result.message;
  EXPECT_EQ(r.result.unknown_inputs, 1u);
  // What is missing takes its default.
  EXPECT_TRUE(r.run("aten::softmax", "int", {r.tensor(0, {3, 4}), r.integer(1)}, {r.tensor(2, {3, 4})}));
  EXPECT_EQ(r.result.unknown_inputs, 0u);
}

TEST(Plugin, KeepsMemoryOfStorages) {
  Replay r;
  // Whole numbers begin as 1, and repeat_interleave makes as many rows as its argument says: so sums are seen.
  // A storage of ones, written through a view of its second half, read as a whole mask: six are left.
  EXPECT_TRUE(r.run("aten::zero_", "", {r.tensor(20, {6}, "bool", 1, 6)}, {r.tensor(20, {6}, "bool", 1, 6)}));
  EXPECT_TRUE(r.run("aten::sum", "", {r.tensor(20, {12}, "bool", 1)}, {r.tensor(21, {}, "long int", 8)}));
  EXPECT_TRUE(r.run("aten::repeat_interleave", "Tensor", {r.tensor(21, {1}, "long int", 8)},
                    {r.tensor(22, {6}, "long int", 8)}));
  EXPECT_TRUE(r.result.same_shapes) << r.result.message;
  // After its release it is made again, of ones.
  r.release(20);
  EXPECT_TRUE(r.run("aten::sum", "", {r.tensor(20, {12}, "bool", 1)}, {r.tensor(23, {}, "long int", 8)}));
  EXPECT_TRUE(r.run("aten::repeat_interleave", "Tensor", {r.tensor(23, {1}, "long int", 8)},
                    {r.tensor(24, {12}, "long int", 8)}));
  EXPECT_TRUE(r.result.same_shapes) << r.result.message;
}

TEST(Plugin, BringsIndicesIntoRange) {
  Replay r;
  // Ones are out of range here.
  EXPECT_TRUE(
      r.run("aten::embedding", "", {r.tensor(0, {1, 8}), r.tensor(1, {5}, "long int", 8)}, {r.tensor(2, {5, 8})}))
      << r.result.message;
  EXPECT_TRUE(r.run("aten::index_select", "", {r.tensor(0, {1, 8}), r.integer(0), r.tensor(3, {5}, "int", 4)},
                    {r.tensor(4, {5, 8})}))
      << r.result.message;
  // The recorded number of elements that are not zero.
  EXPECT_TRUE(r.run("aten::nonzero", "", {r.tensor(5, {4, 4}, "bool", 1)}, {r.tensor(6, {7, 2}, "long int", 8)}));
  EXPECT_TRUE(r.result.same_shapes) << r.result.message;
}

TEST(Plugin, WidensWhatHasNoKernel) {
  Replay r;
  const auto half = [&](uint32_t storage, std::vector<int64_t> sizes) {
    return r.tensor(storage, sizes, "c10::Half", 2);
  };
  EXPECT_TRUE(r.run("aten::mm", "", {half(0, {3, 4}), half(1, {4, 5})}, {half(2, {3, 5})})) << r.result.message;
  EXPECT_TRUE(r.result.same_shapes);
  EXPECT_TRUE(r.run("aten::mm", "", {half(2, {3, 5}), half(3, {5, 2})}, {half(4, {3, 2})})) << r.result.message;
}

TEST(Plugin, Substitutes) {
  Replay r;
  EXPECT_TRUE(r.run("aten::record_stream", "", {r.tensor(0, {3}), r.unknown()}, {}));
  EXPECT_TRUE(r.result.substituted);
  EXPECT_TRUE(r.run("aten::_scaled_dot_product_flash_attention", "",
                    {r.tensor(1, {2, 4, 8, 16}), r.tensor(2, {2, 2, 8, 16}), r.tensor(3, {2, 2, 8, 16})},
                    {r.tensor(4, {2, 4, 8, 16}), r.tensor(5, {2, 4, 8}), r.tensor(6, {2}, "long int", 8)},
                    {"query", "key", "value"}));
  EXPECT_TRUE(r.result.same_shapes) << r.result.message;
  EXPECT_TRUE(r.run(
      "aten::_scaled_dot_product_flash_attention_backward", "",
      {r.tensor(4, {2, 4, 8, 16}), r.tensor(1, {2, 4, 8, 16}), r.tensor(2, {2, 2, 8, 16}), r.tensor(3, {2, 2, 8, 16})},
      {r.tensor(7, {2, 4, 8, 16}), r.tensor(8, {2, 2, 8, 16}), r.tensor(9, {2, 2, 8, 16})},
      {"grad_out", "query", "key", "value"}));
  EXPECT_TRUE(r.result.same_shapes) << r.result.message;
}

TEST(Plugin, RecordsWhatItRuns) {
  const std::string file = testing::TempDir() + "/chakra_torch_record.json";
  ASSERT_EQ(table().record(file.c_str()), nullptr);
  EXPECT_NE(table().record(file.c_str()), nullptr);
  {
    Replay r;
    EXPECT_TRUE(r.run("aten::mm", "", {r.tensor(0, {3, 4}), r.tensor(1, {4, 5})}, {r.tensor(2, {3, 5})}));
  }
  ASSERT_EQ(table().record(nullptr), nullptr);
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(text.find("aten::mm"), std::string::npos);
}

}  // namespace
