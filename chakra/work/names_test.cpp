// Kinds and types by names alone, and the work of nodes.
#include <gtest/gtest.h>

#include <set>

#include "chakra/work/work.h"

namespace chakra::work {
namespace {

using trace::DType;

TEST(Names, EachKindHasOne) {
  std::set<std::string_view> names;
  for (const WorkKindRow& row : kWorkKinds) EXPECT_TRUE(names.insert(row.name).second) << row.name;
  EXPECT_EQ(name(WorkKind::matrix), "matrix");
  EXPECT_EQ(name(WorkKind::copy), "copy");
  EXPECT_EQ(name(WorkKind::other), "other");
  for (const WorkRow& row : kWorkRows) EXPECT_NE(row.kind, WorkKind::other) << row.names;
}

TEST(Names, OfElements) {
  EXPECT_EQ(element_bytes("Float"), 4);
  EXPECT_EQ(element_bytes("Tensor(c10::BFloat16)"), 2);
  EXPECT_EQ(element_bytes("long int"), 8);
  EXPECT_EQ(element_bytes("Float8_e4m3fn"), 1);
  EXPECT_EQ(element_bytes("unheard of"), 0);
  EXPECT_EQ(plain_dtype("Tensor(float)"), "Float");
  EXPECT_EQ(element_type("Tensor(c10::Float8_e4m3fn)").dtype, DType::f8);
  EXPECT_EQ(element_type("float8_e5m2").dtype, DType::f8);
  EXPECT_EQ(element_type("GenericList[Tensor(c10::Half),Tensor(c10::Half)]").dtype, DType::f16);
  EXPECT_EQ(element_type("c10::complex<double>").bytes, 16u);
  EXPECT_EQ(element_type("uint16").dtype, DType::unknown);
  EXPECT_EQ(element_type("uint16").bytes, 2u);
  EXPECT_EQ(element_type("Scalar").bytes, 0u);
  EXPECT_EQ(element_type_of_kernel("void f<c10::BFloat16, 4>(int)").dtype, DType::bf16);
  for (size_t type = 0; type < trace::kDTypeNames.size(); ++type) EXPECT_GT(bytes_of(static_cast<DType>(type)), 0);
  for (const char* name : {"float", "double", "half", "bfloat16", "int8", "int16", "int32", "int64", "bool",
                           "Float8_e4m3fn", "complex<float>"}) {
    const ElementType element = element_type(name);
    EXPECT_EQ(bytes_of(element.dtype), static_cast<double>(element.bytes)) << name;
  }
}

TEST(Names, OfCopies) {
  EXPECT_EQ(copy_route("Memcpy HtoD (Pageable -> Device)"), CopyRoute::host_to_device);
  EXPECT_EQ(copy_route("Memcpy DtoH (Device -> Pinned)"), CopyRoute::device_to_host);
  EXPECT_EQ(copy_route("Memcpy DtoD (Device -> Device)"), CopyRoute::within_device);
  EXPECT_EQ(copy_route("Memcpy PtoP (Device -> Device)"), CopyRoute::between_devices);
  EXPECT_EQ(copy_route("[CUDA memcpy HtoH]"), CopyRoute::within_host);
  EXPECT_EQ(copy_route("CopyHostToDevice"), CopyRoute::host_to_device);
  EXPECT_EQ(copy_route("CopyDeviceToDevice"), CopyRoute::within_device);
  EXPECT_EQ(copy_route("Memcpy Unknown"), CopyRoute::unknown);
  for (const char* other : {"aten::copy_", "Memset (Device)", "void copy_kernel<float>(int)", "HtoD", "", "gemm"})
    EXPECT_EQ(copy_route(other), CopyRoute::none) << other;
  EXPECT_TRUE(uses_link(CopyRoute::host_to_device));
  EXPECT_TRUE(uses_link(CopyRoute::unknown));
  EXPECT_FALSE(uses_link(CopyRoute::within_device));
  EXPECT_FALSE(uses_link(CopyRoute::none));
  EXPECT_TRUE(is_memset("Memset (Device)"));
}

TEST(Names, OnlyProductsOfFloatsAreComputedInTf32) {
  EXPECT_EQ(computed_in(WorkKind::matrix, DType::f32, "ampere_sgemm_tf32_128x64"), DType::tf32);
  EXPECT_EQ(computed_in(WorkKind::matrix, DType::f32, "ampere_sgemm_128x64"), DType::f32);
  EXPECT_EQ(computed_in(WorkKind::matrix, DType::f16, "h1688_tf32"), DType::f16);
  EXPECT_EQ(computed_in(WorkKind::elementwise, DType::f32, "tf32"), DType::f32);
}

TEST(Names, OfGeneratedNodes) {
  EXPECT_EQ(kind_of_generated("layer0.mlp.up.dgrad"), WorkKind::matrix);
  EXPECT_EQ(kind_of_generated("gradients.norm"), WorkKind::reduction);  // before "norm"
  EXPECT_EQ(kind_of_generated("layer0.mlp.norm"), WorkKind::normalization);
  EXPECT_EQ(kind_of_generated("head.loss.max"), WorkKind::reduction);
  EXPECT_EQ(kind_of_generated("layer0.mlp.up.cast"), WorkKind::copy);
  EXPECT_EQ(kind_of_generated("something else"), std::nullopt);
  std::string_view name = "layer0.attention.grad.again";
  EXPECT_TRUE(remove_backward(name));
  EXPECT_EQ(name, "layer0.attention.grad");
  EXPECT_TRUE(remove_backward(name));
  EXPECT_EQ(name, "layer0.attention");
  EXPECT_FALSE(remove_backward(name));
}

TEST(Names, WorkOfNodes) {
  trace::Builder b;
  const trace::NodeId with = b.add(1, b.trace.strings.intern("a"), trace::NodeType::comp);
  const trace::NodeId without = b.add(2, b.trace.strings.intern("b"), trace::NodeType::comp);
  b.trace.num_ops.resize(2, 0);
  b.trace.tensor_bytes.resize(2, 0);
  b.trace.num_ops.edit(with) = 12;
  b.trace.tensor_bytes.edit(with) = 34;
  const trace::Trace t = std::move(b).finish();
  EXPECT_EQ(work_of(t, with).ops, 12u);
  EXPECT_EQ(work_of(t, with).bytes, 34u);
  EXPECT_EQ(work_of(t, without).ops, 0u);
  WorkSum sum;
  sum.add(work_of(t, with));
  sum.add({UINT64_MAX, UINT64_MAX, DType::f16});
  sum.add({UINT64_MAX, 1, DType::f16});
  EXPECT_EQ(sum.all_ops(), UINT64_MAX);
  EXPECT_EQ(sum.bytes, UINT64_MAX);
}

}  // namespace
}  // namespace chakra::work
