// Custom calls of libraries against counts by hand, and what a program says of calls that it does not know.
#include "chakra/xla/library.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "chakra/base/testing/testing.h"
#include "chakra/xla/nodes.h"
#include "chakra/xla/work.h"

namespace chakra::xla {
namespace {

Result<ImportedProgram> import_bytes(const std::string& bytes, Findings& findings) {
  CHAKRA_ASSIGN(ByteSource source, ByteSource::from_memory(bytes));
  return import_program(std::move(source), findings);
}

/// The work of the only custom call of a program of GPUs.
Work of_call(const std::string& operands, const std::string& result, const std::string& attributes) {
  const auto program = parse_text(
      std::make_shared<const std::string>("HloModule m, is_scheduled=true, num_partitions=1\n\nENTRY %main {\n" +
                                          operands + "  ROOT %call = " + result + " custom-call(" +
                                          (operands.find("%c =") != std::string::npos ? "%a, %b, %c" : "%a, %b") +
                                          "), " + attributes + "\n}\n"),
      "test");
  EXPECT_TRUE(program) << (program ? "" : program.error().message());
  if (!program) return {};
  const ProgramWork work(*program);
  return work.of(program->entry, static_cast<uint32_t>(program->computations[program->entry].root));
}
std::string operands(const std::vector<std::string>& shapes) {
  std::string text;
  for (size_t n = 0; n < shapes.size(); ++n)
    text += fmt::format("  %{} = {} parameter({})\n", static_cast<char>('a' + n), shapes[n], n);
  return text;
}

TEST(CustomCalls, OfProducts) {
  const auto gemm = [](const char* a, const char* b, const char* result, const char* target,
                       const std::string& numbers) {
    const std::string config =
        numbers.empty() ? ""
                        : R"(, backend_config={"gemm_backend_config":{"dot_dimension_numbers":{)" + numbers + "}}}";
    return of_call(operands({a, b}), result, fmt::format("custom_call_target=\"{}\"{}", target, config));
  };
  const std::string plain = R"("lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"])";
  // The workspace (s8) moves nothing.
  const char* const result = "(bf16[8192,8192]{1,0}, s8[4194304]{0})";
  for (const std::string& numbers : {plain, std::string()}) {
    const Work work = gemm("bf16[8192,4096]", "bf16[4096,8192]", result, "__cublas$gemm", numbers);
    EXPECT_EQ(work.flops, 2ULL * 8192 * 8192 * 4096);
    EXPECT_EQ(work.bytes, 2U * (2 * 8192 * 4096 + 8192 * 8192));
    EXPECT_EQ(work.type, trace::DType::bf16);
    EXPECT_EQ(work.unknown, 0U);
  }
  const std::string batched = R"("lhs_contracting_dimensions":["2"],"rhs_contracting_dimensions":["1"],)"
                              R"("lhs_batch_dimensions":["0"],"rhs_batch_dimensions":["0"])";
  EXPECT_EQ(gemm("f32[3,5,7]", "f32[3,7,11]", "f32[3,5,11]", "__cublas$lt$matmul", batched).flops, 2U * 3 * 5 * 7 * 11);
  EXPECT_EQ(gemm("f32[3,5,7]", "f32[3,7,11]", "f32[3,5,11]", "__cublas$lt$matmul", "").unknown, 1U);  // which is which?
  const Work narrow = gemm("f8e4m3fn[16,32]", "f8e4m3fn[24,32]", "(bf16[16,24], s8[64])", "__cublas$lt$matmul$f8",
                           R"("lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["1"])");
  EXPECT_EQ(narrow.flops, 2U * 16 * 24 * 32);
  EXPECT_EQ(narrow.type, trace::DType::f8);
  // Configurations that contradict the shapes, and numbers as older versions write them: in a text in quotes.
  EXPECT_EQ(
      gemm("f32[5,7]", "f32[7,11]", "f32[5,11]", "__cublas$gemm", R"("lhs_contracting_dimensions":["0"])").unknown, 1U);
  EXPECT_EQ(of_call(operands({"f32[7,5]", "f32[7,11]"}), "f32[5,11]",
                    R"x(custom_call_target="__cublas$gemm", backend_config="{\"dot_dimension_numbers\":)x"
                    R"x({\"lhs_contracting_dimensions\":[0]}}")x")
                .flops,
            2U * 7 * 5 * 11);
  const Work other = gemm("f32[5,7]", "f32[7,11]", "f32[5,11]", "triton_kernel_call", "");
  EXPECT_EQ(other.flops + other.bytes, 0U);
  EXPECT_EQ(other.unknown, 1U);
}

TEST(CustomCalls, OfConvolutions) {
  // Input 4 x 3 x 10 x 12, 5 kernels of 3 x 3, without padding: 8 x 10 places.
  const std::string input = "f16[4,3,10,12]", kernel = "f16[5,3,3,3]", output = "f16[4,5,8,10]";
  const uint64_t flops = 2ULL * 4 * 5 * 8 * 10 * 3 * 3 * 3;
  const auto conv = [](const std::string& a, const std::string& b, const std::string& result, const char* target) {
    return of_call(operands({a, b}), "(" + result + ", u8[100]{0})",
                   fmt::format("window={{size=3x3}}, dim_labels=bf01_oi01->bf01, custom_call_target=\"{}\"", target));
  };
  const Work forward = conv(input, kernel, output, "__cudnn$convForward");
  EXPECT_EQ(forward.flops, flops);
  EXPECT_EQ(forward.bytes, 2U * (4 * 3 * 10 * 12 + 5 * 3 * 3 * 3 + 4 * 5 * 8 * 10));
  EXPECT_EQ(conv(output, kernel, input, "__cudnn$convBackwardInput").flops, flops);
  EXPECT_EQ(conv(input, output, kernel, "__cudnn$convBackwardFilter").flops, flops);
  EXPECT_EQ(of_call(operands({input, kernel}), output, "custom_call_target=\"__cudnn$convForward\"").unknown, 1U);
  // Features in groups of four: the labels do not name the last dimension.
  EXPECT_EQ(conv("s8[4,3,10,12,4]", "s8[5,3,3,3,4]", "s8[4,5,8,10,4]", "__cudnn$convForward").unknown, 1U);
}

TEST(CustomCalls, OfAttention) {
  const std::string config = R"(, backend_config={"cudnn_fmha_backend_config":{"intermediate_tensor_shape":)"
                             R"({"dimensions":["2","6","32","48"]}}})";
  const auto attention = [&](const std::string& values, const char* target) {
    return of_call(operands({"bf16[2,32,6,16]", "bf16[2,48,3,16]", values}), "(bf16[2,6,32,16], u8[0]{0})",
                   fmt::format("custom_call_target=\"{}\"{}", target, config));
  };
  const uint64_t product = 2ULL * 2 * 6 * 32 * 48 * 16;
  EXPECT_EQ(attention("bf16[2,48,3,16]", "__cudnn$fmhaSoftmax").flops, 2 * product);
  EXPECT_EQ(attention("bf16[2,48,3,16]", "__cudnn$fmhaSoftmaxBackward").flops, 5 * product);
  EXPECT_EQ(attention("bf16[2,48,3,32]", "__cudnn$fmhaSoftmax").flops, 3 * product);
  EXPECT_EQ(attention("bf16[2,48,3,17]", "__cudnn$fmhaSoftmax").flops, product + product * 17 / 16);
  EXPECT_EQ(attention("bf16[2,7]", "__cudnn$fmhaSoftmax").unknown, 1U);
}

/// Per node: FLOPs, bytes and the attribute of unknown work, of the first device; and the tags of warnings.
TEST(CustomCalls, OfUnknownWorkAreSaid) {
  Findings findings;
  const auto job = import_bytes(R"(HloModule m, is_scheduled=true, num_partitions=1

%fused (p: f32[8]) -> f32[8] {
  %p = f32[8] parameter(0)
  %more = f32[8] add(%p, %p)
  ROOT %inside = f32[8] custom-call(%more), custom_call_target="other_kernel"
}

ENTRY %main (a: f32[8]) -> f32[8] {
  %a = f32[8] parameter(0)
  %call = f32[8] custom-call(%a), custom_call_target="triton_kernel_call"
  %fusion = f32[8] fusion(%call), kind=kCustom, calls=%fused
  %mark = f32[8] custom-call(%fusion), custom_call_target="Sharding"
  ROOT %add = f32[8] add(%mark, %a)
}
)",
                                findings);
  ASSERT_TRUE(job) << job.error().message();
  const trace::Trace& t = job->job.classes[0];
  std::vector<std::string> nodes;
  for (const trace::NodeId n : t.nodes()) {
    std::string unknown = "-";
    for (const trace::Attr& attr : t.attrs_of(n))
      if (t.strings[attr.name] == kUnknownWork) unknown = fmt::format("{}", *attr.integer());
    nodes.push_back(fmt::format("{} {} {} {}", t.name_of(n), t.num_ops[n], t.tensor_bytes[n], unknown));
  }
  EXPECT_EQ(nodes, (std::vector<std::string>{"call 0 0 1", "fusion 8 64 1", "mark 0 0 -", "add 8 96 -"}));
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [](const Finding& finding) { return finding.tag == "xla.custom_call.unknown"; });
  ASSERT_NE(found, findings.end());
  EXPECT_EQ(found->severity, Severity::warning);
  EXPECT_NE(found->text.find("2 custom calls"), std::string::npos) << found->text;
  EXPECT_NE(found->text.find("'other_kernel' (1), 'triton_kernel_call' (1)"), std::string::npos) << found->text;
}

TEST(Collectives, RaggedOnesCountTheirInput) {
  Findings findings;
  const auto job = import_bytes(R"(HloModule m, is_scheduled=true, replica_count=2

ENTRY %main (a: bf16[128,64], b: bf16[256,64], o: s32[2]) -> bf16[256,64] {
  %a = bf16[128,64] parameter(0)
  %b = bf16[256,64] parameter(1)
  %o = s32[2] parameter(2)
  ROOT %r = bf16[256,64] ragged-all-to-all(%a, %b, %o, %o, %o, %o), replica_groups={{0,1}}
}
)",
                                findings);
  ASSERT_TRUE(job) << job.error().message();
  const trace::Comm* const comm = job->job.classes[0].comm(trace::NodeId(0));
  ASSERT_TRUE(comm);
  EXPECT_EQ(comm->bytes, 128U * 64 * 2);
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(),
                          [](const Finding& finding) { return finding.tag == "xla.ragged"; }));
}

}  // namespace
}  // namespace chakra::xla
