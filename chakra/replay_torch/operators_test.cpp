// The plan of a rank's operators, without torch: which nodes run, what they are given, and how long memory lives.
#include "chakra/replay_torch/operators.h"

#include <gtest/gtest.h>

#include "chakra/replay_torch/recorded_values.h"

namespace chakra::replay_torch {
namespace {

using trace::NodeId;
using trace::NodeType;
using Part = replay::Computer::Part;

/// A trace of operators; texts are as in files.
class Recording {
 public:
  NodeId node(std::string_view name, NodeId caller = trace::kNoNode, std::string_view schema = {},
              NodeType type = NodeType::comp) {
    trace::Trace& t = builder_.trace;
    const NodeId n = builder_.add(++id_, t.strings.intern(name), type);
    if (!schema.empty()) builder_.attr({t.strings.intern("op_schema"), schema});
    if (caller != trace::kNoNode) builder_.ctrl(n, caller);
    return n;
  }
  void tensors(NodeId n, std::string_view values, std::string_view shapes, std::string_view types,
               std::string_view outputs, std::string_view output_shapes) {
    trace::Trace& t = builder_.trace;
    trace::Io io;
    io.inputs = {values, t.strings.intern(shapes), t.strings.intern(types), 0};
    io.outputs = {outputs, t.strings.intern(output_shapes), t.strings.intern("['Tensor(float)']"), 0};
    t.io_row.edit(n) = static_cast<uint32_t>(t.ios.size());
    t.ios.push_back(trace::PackedIo(io, t.texts));
  }
  trace::Trace finish() && { return std::move(builder_).finish(); }

 private:
  trace::Builder builder_;
  uint64_t id_ = 0;
};

constexpr std::string_view kRelu = "aten::relu(Tensor self) -> Tensor";

bool knows_aten(const char* name, const char*) { return std::string_view(name).starts_with("aten::"); }

TEST(Operators, ReadsSchemas) {
  const OperatorSchema add = parse_schema(
      "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1, int[2] to=[0, 1]) -> (Tensor, Tensor)");
  EXPECT_EQ(add.name, "aten::add");
  EXPECT_EQ(add.overload, "Tensor");
  EXPECT_EQ(add.arguments, (std::vector<std::string_view>{"self", "other", "alpha", "to"}));
  const OperatorSchema write =
      parse_schema("aten::add_(Tensor(a!) self, Tensor? b=None, str c=\"a,b)\") -> Tensor(a!)");
  EXPECT_EQ(write.overload, "");
  EXPECT_EQ(write.arguments, (std::vector<std::string_view>{"self", "b", "c"}));
  EXPECT_TRUE(parse_schema("no schema").arguments.empty());
}

TEST(Operators, ReadsValues) {
  trace::Trace t;
  trace::Tensors tensors;
  tensors.values =
      "[[5, 6, 2, 12, 4, 'cuda:0'], [[5, 6, 2, 12, 4, 'cuda:0'], '<None>'], 3, 1.5, True, 'none', [1, -1], '<Stream>', "
      "[1, 0, 0, 0, 0, '']]";
  tensors.types = t.strings.intern(
      "['Tensor(float)', 'GenericList[Tensor(float),None]', 'Int', 'Double', 'Bool', 'String', 'GenericList[Int,Int]', "
      "'Stream', 'Tensor(nullptr (uninitialized))']");
  tensors.shapes = t.strings.intern("[[3, 4], [[3, 4], []], [], [], [], [], [[], []], [], []]");
  tensors.strides = t.strings.intern("[[1, 3], [[4, 1], []], [], [], [], [], [[], []], [], []]");
  OperatorPlan plan;
  std::vector<int64_t> seen;
  const auto values =
      read_values(t, tensors, plan, [&](chakra_torch_tensor&, int64_t storage) { seen.push_back(storage); });
  ASSERT_EQ(values.size(), 9u);
  ASSERT_EQ(values[0].kind, CHAKRA_TORCH_TENSOR);
  const chakra_torch_tensor& tensor = *values[0].tensor;
  EXPECT_EQ(tensor.id, 5);
  EXPECT_EQ(tensor.offset, 2);
  EXPECT_EQ(tensor.dims, 2u);
  EXPECT_EQ(tensor.sizes[1], 4);
  ASSERT_NE(tensor.strides, nullptr);
  EXPECT_EQ(tensor.strides[1], 3);
  EXPECT_STREQ(tensor.dtype, "float");
  ASSERT_EQ(values[1].kind, CHAKRA_TORCH_LIST);
  ASSERT_EQ(values[1].integer, 2);
  EXPECT_EQ(values[1].items[0].tensor->strides[0], 4);
  EXPECT_EQ(values[1].items[1].kind, CHAKRA_TORCH_NONE);
  EXPECT_EQ(values[2].integer, 3);
  EXPECT_EQ(values[3].real, 1.5);
  EXPECT_EQ(values[4].kind, CHAKRA_TORCH_BOOLEAN);
  EXPECT_STREQ(values[5].text, "none");
  EXPECT_EQ(values[6].items[1].integer, -1);
  EXPECT_EQ(values[7].kind, CHAKRA_TORCH_UNKNOWN);
  EXPECT_EQ(values[8].kind, CHAKRA_TORCH_NONE);
  EXPECT_EQ(seen, (std::vector<int64_t>{6, 6}));
}

TEST(Operators, RefusesTensorsThatCannotBe) {
  trace::Trace t;
  for (const auto& [value, shape] :
       std::vector<std::pair<const char*, const char*>>{{"[[5, 6, -1, 12, 4, 'cpu']]", "[[3, 4]]"},
                                                        {"[[5, 6, 0, 13, 4, 'cpu']]", "[[3, 4]]"},
                                                        {"[[5, 6, 0, 12, 0, 'cpu']]", "[[3, 4]]"},
                                                        {"[[5, 6, 0, 0, 0, 'cpu']]", "[[3, 4]]"},
                                                        {"[[5, 6]]", "[[3, 4]]"},
                                                        {"[[5, 6, 0, 12, 4, 'cpu']]", "[[-3, -4]]"},
                                                        {"[[5, 6, 0, 0, 4, 'cpu']]", "[[4294967296, 4294967296]]"}}) {
    OperatorPlan plan;
    const trace::Tensors tensors{value, t.strings.intern(shape), t.strings.intern("['Tensor(float)']"), 0};
    const auto values = read_values(t, tensors, plan, [](auto&, int64_t) { FAIL(); });
    ASSERT_EQ(values.size(), 1u);
    EXPECT_EQ(values[0].kind, CHAKRA_TORCH_UNKNOWN) << value;
  }
  // However deep lists are, reading them ends.
  OperatorPlan plan;
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  read_values(t, {deep, 0, 0, 0}, plan, [](auto&, int64_t) {});
}

TEST(Operators, RunsWhatNoOperatorCalled) {
  Recording r;
  const NodeId step = r.node("ProfilerStep#1");
  const NodeId outer = r.node("aten::linear", step, kRelu), inner = r.node("aten::addmm", outer, kRelu);
  const NodeId newer = r.node("new::op", step, "new::op(Tensor self) -> Tensor");
  const NodeId of_newer = r.node("aten::mul", newer, kRelu);
  const NodeId alone = r.node("new::leaf", step, "new::leaf(Tensor self) -> Tensor");
  const NodeId wrapper = r.node("aten::wrapper", step, kRelu);
  const NodeId in_wrapper = r.node("aten::relu", wrapper, kRelu);
  r.node("all_reduce", wrapper, {}, NodeType::coll);
  const NodeId call = r.node("c10d::allreduce_", step, "c10d::allreduce_(Tensor self) -> Tensor");
  const trace::Trace t = std::move(r).finish();
  const OperatorPlan plan = plan_operators(t, knows_aten, {});
  EXPECT_EQ(plan.part[step], Part::timed);
  EXPECT_EQ(plan.part[outer], Part::runs);
  EXPECT_EQ(plan.part[inner], Part::covered);
  EXPECT_EQ(plan.part[newer], Part::timed);
  EXPECT_EQ(plan.part[of_newer], Part::runs);
  EXPECT_EQ(plan.part[alone], Part::timed);
  EXPECT_EQ(plan.part[wrapper], Part::timed);
  EXPECT_EQ(plan.part[in_wrapper], Part::runs);
  EXPECT_EQ(plan.part[call], Part::timed);
  EXPECT_EQ(plan.counts.operators, 5);  // with those that are not known here
  ASSERT_EQ(plan.counts.not_run.size(), 2u);
  EXPECT_EQ(plan.counts.not_run.begin()->first.first, "new::leaf");
  EXPECT_EQ(plan.counts.not_run.rbegin()->first.first, "new::op");

  std::vector<bool> selected(t.size(), true);
  selected[outer] = false;
  const OperatorPlan part = plan_operators(t, knows_aten, selected);
  EXPECT_EQ(part.part[outer], Part::timed);
  EXPECT_EQ(part.operators.size(), 2u);
}

TEST(Operators, KnowsTensorsWithoutStorageByTheirIds) {
  Recording r;
  r.tensors(r.node("aten::coalesce", trace::kNoNode, kRelu), "[[7, 0, 0, 0, 0, '']]", "[[50, 50]]", "['Tensor(float)']",
            "[[8, 0, 0, 0, 0, '']]", "[[50, 50]]");
  const trace::Trace t = std::move(r).finish();
  const OperatorPlan plan = plan_operators(t, knows_aten, {});
  ASSERT_EQ(plan.operators.size(), 1u);
  EXPECT_EQ(plan.operators[0].call.input[0].tensor->storage, CHAKRA_TORCH_NO_STORAGE);
  EXPECT_EQ(plan.operators[0].call.output[0].tensor->id, 8);
  EXPECT_TRUE(plan.operators[0].storages.empty());
}

TEST(Operators, BeginsALifeWhereNumbersAreOfAnotherKind) {
  Recording r;
  const NodeId a = r.node("aten::relu", trace::kNoNode, kRelu), b = r.node("aten::relu", trace::kNoNode, kRelu);
  r.tensors(a, "[[1, 10, 0, 8, 4, 'cpu']]", "[[8]]", "['Tensor(float)']", "[[2, 20, 0, 8, 4, 'cpu']]", "[[8]]");
  r.tensors(b, "[[1, 10, 0, 8, 4, 'cpu'], [2, 20, 0, 4, 8, 'cpu']]", "[[8], [4]]",
            "['Tensor(float)', 'Tensor(long int)']", "[[3, 30, 0, 8, 4, 'cpu']]", "[[8]]");
  const trace::Trace t = std::move(r).finish();
  const OperatorPlan plan = plan_operators(t, knows_aten, {});
  EXPECT_EQ(plan.operators[0].call.input[0].tensor->storage, plan.operators[1].call.input[0].tensor->storage);
  EXPECT_NE(plan.operators[0].call.output[0].tensor->storage, plan.operators[1].call.input[1].tensor->storage);
}

TEST(Operators, GivesStoragesTheirLives) {
  constexpr std::string_view kTypes = "['Tensor(float)']";
  Recording r;
  std::vector<NodeId> n;
  for (int i = 0; i < 4; ++i) n.push_back(r.node("aten::relu", trace::kNoNode, kRelu));
  r.tensors(n[0], "[[1, 10, 0, 100, 4, 'cpu']]", "[[100]]", kTypes, "[[2, 20, 0, 50, 4, 'cpu']]", "[[50]]");
  r.tensors(n[1], "[[2, 20, 0, 50, 4, 'cpu']]", "[[50]]", kTypes, "[[3, 20, 10, 40, 4, 'cpu']]", "[[40]]");   // a view
  r.tensors(n[2], "[[1, 10, 0, 100, 4, 'cpu']]", "[[100]]", kTypes, "[[4, 20, 0, 70, 4, 'cpu']]", "[[70]]");  // another
  r.tensors(n[3], "[[4, 20, 60, 20, 4, 'cpu']]", "[[20]]", kTypes, "[[5, 50, 0, 20, 4, 'cpu']]", "[[20]]");
  const trace::Trace t = std::move(r).finish();
  const OperatorPlan plan = plan_operators(t, knows_aten, {});
  ASSERT_EQ(plan.operators.size(), 4u);
  EXPECT_EQ(plan.uses, (std::vector<uint32_t>{2, 2, 2, 1}));
  const auto in = [&](size_t i) { return plan.operators[i].call.input[0].tensor; };
  const auto out = [&](size_t i) { return plan.operators[i].call.output[0].tensor; };
  EXPECT_EQ(in(0)->storage, in(2)->storage);
  EXPECT_EQ(out(0)->storage, out(1)->storage);
  EXPECT_NE(out(1)->storage, out(2)->storage);
  EXPECT_EQ(out(0)->storage_bytes, 200u);
  EXPECT_EQ(out(2)->storage_bytes, 320u);  // as far as the last needs it
  EXPECT_EQ(plan.counts.live_bytes, 400u + 320u);
  EXPECT_STREQ(plan.operators[0].call.input_names[0], "self");
}

}  // namespace
}  // namespace chakra::replay_torch
