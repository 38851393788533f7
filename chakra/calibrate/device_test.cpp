// Fits to known laws, and to public measurements with a part held out.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "chakra/base/testing/testing.h"
#include "chakra/calibrate/calibrate.h"
#include "chakra/calibrate/device_fit.h"
#include "chakra/calibrate/device_rows.h"

namespace chakra::calibrate {
namespace {

using device::DType;
using device::KernelTable;
using work::Sizes;

std::string measured(const std::string& name) { return testing::data_folder() + "/measured/" + name; }

KernelData made_gemms(const device::Device& device, const std::vector<double>& ns) {
  KernelData data{&device, "gemm", DType::bf16, {}};
  for (double m = 1; m <= 16384; m *= 4)
    for (const double n : ns)
      for (double k = 64; k <= 16384; k *= 2)
        data.measured.push_back(
            {{m, n, k}, 1.5 * 2 * m * n * k / 312e12 + 1.2 * 2 * (m * k + n * k + m * n) / 2.039e12 + 6e-6});
  return data;
}

// 20 ops / 156e12 and so on: the law's constants over those of the data sheet come back.
TEST(Fit, FindsTheConstantsOfALaw) {
  const device::Device a100 = device::device(*device::find("A100-SXM-80GB"));
  KernelData data = made_gemms(a100, {256, 2048, 4096});
  data.measured.push_back({{4096, 4096, 4096}, 1});  // an outlier of a second
  const FittedConstants fitted = fit_constants(data);
  EXPECT_NEAR(fitted.constants.ops_time, 1.5, 0.03);
  for (const double time : fitted.constants.bytes_time) EXPECT_NEAR(time, 1.2, 0.03);
  EXPECT_NEAR(fitted.constants.fixed_s, 6e-6, 0.1e-6);
  data.measured.pop_back();
  const FittedConstants exact = fit_constants(data);
  EXPECT_NEAR(exact.constants.ops_time, 1.5, 1e-4);
  EXPECT_NEAR(exact.constants.fixed_s, 6e-6, 1e-10);
  EXPECT_LT(exact.errors.ops_time, 0.01);
}

TEST(Fit, NamesRowsThatAreFasterThanTheDevice) {
  const testing::TemporaryFolder folder;
  const auto found = [&](double unit, const char* type) {
    std::string rows = "kernel,type,m,n,k,time_us,device\n";
    for (const KernelData& data = made_gemms(device::device(*device::find("A100-SXM-80GB")), {256, 2048, 4096});
         const device::MeasuredKernel& m : data.measured)
      rows += fmt::format("gemm,{},{},{},{},{},NVIDIA A100-SXM4-80GB\n", type, m.sizes[0], m.sizes[1], m.sizes[2],
                          m.seconds * unit);
    const auto fitted = fit_device({{folder.write("rows.csv", rows)}, ""});
    EXPECT_TRUE(fitted);
    return std::any_of(fitted->findings.begin(), fitted->findings.end(),
                       [](const Finding& f) { return f.tag == "calibrate.device.above"; });
  };
  EXPECT_FALSE(found(1e6, "bf16"));
  EXPECT_TRUE(found(1e3, "bf16"));  // milliseconds
  EXPECT_TRUE(found(1e6, "f32"));   // 19.5 TFLOP/s
}

// Where n never changes, operations and the first matrix grow in proportion: the fit takes equal times for all tensors.
TEST(Fit, TensorsThatShapesDoNotTellApartAreAlike) {
  const device::Device a100 = device::device(*device::find("A100-SXM-80GB"));
  const FittedConstants fitted = fit_constants(made_gemms(a100, {2048}));
  EXPECT_NEAR(fitted.constants.ops_time, 1.5, 1e-3);
  for (const double time : fitted.constants.bytes_time) EXPECT_NEAR(time, 1.2, 1e-3);
  EXPECT_GT(fitted.errors.ops_time, 0.5);
  EXPECT_GT(fitted.errors.bytes_time[0], 0.5);
  EXPECT_LT(fitted.errors.bytes_time[1], 0.05);
}

// Times by either law: it is found out which, and shapes four times as deep as all that were measured follow it.
TEST(Fit, ChoosesTheBaseThatHoldsBeyondTheShapes) {
  const device::Device a100 = device::device(*device::find("A100-SXM-80GB"));
  const work::KernelKind& kind = *work::find_kernel_kind("gemm");
  for (const bool overlap : {false, true}) {
    const auto seconds = [&](const Sizes& s) {
      const device::RooflineParts parts = device::roofline_parts(a100, kind, DType::bf16, s);
      const work::Tensors& bytes = parts.tensors_s;
      return device::join_parts(
          {1.5 * parts.ops_s, 8 * bytes[0], 1.2 * bytes[1], 2 * bytes[2], 6e-6, overlap ? s[2] * 2e-9 : 0}, overlap);
    };
    KernelData data{&a100, "gemm", DType::bf16, {}};
    for (double m = 1; m <= 4096; m *= 4)
      for (double n = 64; n <= 4096; n *= 4)
        for (double k = 64; k <= 8192; k *= 2) data.measured.push_back({{m, n, k}, seconds({m, n, k})});
    EXPECT_EQ(parts_overlap(data), overlap);
    const FittedConstants fitted = fit_constants(data);
    EXPECT_EQ(fitted.constants.overlap, overlap);
    EXPECT_NEAR(fitted.constants.ops_time, 1.5, 1e-3);
    EXPECT_NEAR(fitted.constants.bytes_time[0], 8, 0.1);
    EXPECT_NEAR(fitted.constants.step_s, overlap ? 2e-9 : 0, 1e-12);
    const KernelTable table = make_table(data);
    for (const Sizes& sizes : {Sizes{1, 64, 32768}, Sizes{256, 64, 32768}, Sizes{4096, 4096, 32768}})
      EXPECT_NEAR(table.predict(sizes).seconds / seconds(sizes), 1, 0.01);
  }
}

/// What fit_constants minimises.
double sum_at(const KernelData& data, const device::KernelConstants& constants) {
  const device::KernelBase base(*data.device, work::find_kernel_kind(data.name), data.type, constants);
  const auto from_zero = [](double r, double s) { return 2 * (std::sqrt(1 + r * r / (s * s)) - 1); };
  double sum = 0, mean = 0;
  for (const device::MeasuredKernel& m : data.measured)
    sum += from_zero(std::log(base.seconds(m.sizes) / m.seconds), 0.1);
  for (const double time : constants.bytes_time) mean += std::log(time) / 3;
  for (const double time : constants.bytes_time)
    sum += static_cast<double>(data.measured.size()) * std::pow(0.03 * (std::log(time) - mean), 2);
  return sum;
}

TEST(Fit, ToAPartIsNotWorseThanTheFitToAll) {  // on that part
  const device::Device h100 = device::device(*device::find("H100-SXM"));
  MeasuredRows rows;
  ASSERT_TRUE(read_measured_kernels(measured("aic_gemm_h100_sglang.csv.gz"), rows));
  Prng random(5);
  for (const auto& [key, shapes] : rows.kernels.begin()->second)
    for (const bool overlap : {false, true}) {
      const KernelData all{&h100, key.first, key.second, medians(shapes)};
      const device::KernelConstants whole = fit_constants(all, overlap).constants;
      for (int part = 0; part < 100; ++part) {
        const size_t size = random.below(3);
        const double least = std::exp2(static_cast<double>(random.below(17))), share = random.chance(0.5) ? 0.3 : 1;
        KernelData data{&h100, key.first, key.second, {}};
        for (const device::MeasuredKernel& m : all.measured)
          if ((m.sizes[size] < least || m.sizes[size] > 4 * least) && random.chance(share)) data.measured.push_back(m);
        EXPECT_LE(sum_at(data, fit_constants(data, overlap).constants), sum_at(data, whole) * (1 + 1e-6))
            << key.first << (overlap ? ", overlap, " : ", ") << data.measured.size() << " shapes, part " << part;
      }
    }
}

TEST(Fit, SaysWhatIsNotDetermined) {  // all shapes take the fixed time alone
  const testing::TemporaryFolder folder;
  std::string csv = "kernel,type,rows,width,time_us\n";
  for (int rows = 1; rows < 9; ++rows) csv += "norm,bf16," + std::to_string(rows) + ",64,5\n";
  const auto fitted = fit_device({{folder.write("t.csv", csv)}, "A100-SXM-80GB"});
  ASSERT_TRUE(fitted) << fitted.error().message();
  std::string tags;
  for (const Finding& finding : fitted->findings) tags += finding.tag + std::string(" ");
  EXPECT_EQ(tags, "calibrate.device.undetermined calibrate.device.few ");
  EXPECT_FALSE(fitted->device.kernels[0].error);
  EXPECT_NEAR(fitted->device.kernels[0].predict({3, 64}).seconds, 5e-6, 1e-9);
}

TEST(Fit, TakesTheMedianOfAShape) {
  const auto one = medians({{{1, 2}, 9}, {{1, 2}, 1}, {{1, 2}, 2}, {{1, 1}, 4}, {{1, 1}, 6}});
  ASSERT_EQ(one.size(), 2U);
  EXPECT_EQ(one[0].seconds, 5);
  EXPECT_EQ(one[1].seconds, 2);
}

TEST(Outlying, ShapesAreNamedAndLeftOut) {
  const device::Device a100 = device::device(*device::find("A100-SXM-80GB"));
  KernelData data = made_gemms(a100, {256, 2048, 4096});
  Findings findings;
  EXPECT_EQ(without_outlying(data, fit_constants(data).constants, findings).measured.size(), data.measured.size());
  EXPECT_TRUE(findings.empty());
  Prng random(3);
  size_t right = 0;
  for (device::MeasuredKernel& m : data.measured) {
    const bool wrong = random.chance(0.05);
    m.seconds *=
        wrong ? (random.chance(0.5) ? 8 : 1.0 / 8) : 0.98 + 0.04 * static_cast<double>(random.below(100)) / 100;
    right += wrong ? 0 : 1;
  }
  const KernelData kept = without_outlying(data, fit_constants(data).constants, findings);
  EXPECT_EQ(kept.measured.size(), right);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].tag, "calibrate.device.outlying");
}

TEST(Rows, AreRefusedWithTheirLine) {
  const testing::TemporaryFolder folder;
  const auto tag_of = [&](const std::string& text, const std::string& device = "A100-SXM-80GB") {
    const auto fitted = fit_device({{folder.write("t.csv", text)}, device});
    return fitted ? "" : fitted.error().tag;
  };
  const std::string head = "kernel,type,rows,width,time_us\n";
  EXPECT_EQ(tag_of(""), "calibrate.csv.columns");
  EXPECT_EQ(tag_of("a,b\n1,2\n"), "calibrate.csv.columns");
  EXPECT_EQ(tag_of(head), "calibrate.device.rows");
  EXPECT_EQ(tag_of("kernel,type,rows,rows,width,time_us\nnorm,bf16,1,2,1,1\n"), "calibrate.csv.columns");
  EXPECT_EQ(tag_of("kernel,type,rows,,width,,time_us\nnorm,bf16,1,,1,,1\n"), "");
  EXPECT_EQ(tag_of(head + "norm,bf16,1,1\n"), "calibrate.csv.row");
  for (const char* row : {"norm,bf16,0,1,1", "norm,bf16,1,x,1", "norm,bf16,1,1,0", "norm,bf16,1,1,nan",
                          "norm,bf17,1,1,1", "norm,bf16,1.5,1,1", "gemm,bf16,1,1,1", "nrm,bf16,1,1,1"})
    EXPECT_EQ(tag_of(head + row + "\n"), "calibrate.csv.value") << row;
  EXPECT_EQ(tag_of(head + "norm,bf16,1,1,1\n", ""), "calibrate.device.unknown");
  EXPECT_EQ(tag_of("\xef\xbb\xbf" + head + "\"norm\",bf16,1,1,1\r\n"), "");
}

TEST(Rows, OfPublicCollections) {
  const testing::TemporaryFolder folder;
  const std::string neusight = folder.write(
      "n.csv",
      "op,target,meta,input_shapes,fw_latency,output_shape,dtype\n"
      "call_module,h.mlp,\"{'h': <class 'own.Block'>, 'h.mlp': <class 'torch.nn.modules.linear.Linear'>}\","
      "\"[[4, 8, 16]]\",0.5,\"(4, 8, 32)\",torch.float32\n"
      "call_function,<built-in method addmm of type object at 0x1>,,\"[[48], [2, 3], [3, 48]]\",0.25,\"(2, "
      "48)\",torch.float32\n"
      "call_module,ln,<class 'torch.nn.modules.normalization.LayerNorm'>,\"[[4, 8, 16]]\",0.1,\"(4, 8, "
      "16)\",torch.float32\n"
      "call_function,<built-in function add>,,\"[[4, 8, 16], [4, 8, 16]]\",0.2,\"(4, 8, 16)\",torch.float16\n"
      "call_function,<built-in function add>,,\"[[4, 8, 16], [16]]\",0.2,\"(4, 8, 16)\",torch.float16\n"
      "call_method,view,,\"[[4, 8, 16], [1]]\",0.01,\"(64, 8)\",\n");
  const std::string config = R"("{""M"": 2048, ""dtype"": ""torch.bfloat16""}")";
  const std::string liger = folder.write(
      "l.csv", std::string("kernel_name,kernel_provider,kernel_operation_mode,metric_name,x_name,x_value,y_value_50,") +
                   "extra_benchmark_config_str,gpu_name\n" + "rms_norm,huggingface,forward,speed,H,1024,0.3," + config +
                   ",NVIDIA A100-SXM4-80GB\n" + "rms_norm,liger,forward,speed,H,1024,0.1," + config +
                   ",NVIDIA H100 80GB HBM3\n" + "rms_norm,liger,backward,speed,H,1024,0.2," + config +
                   ",NVIDIA A100-SXM4-80GB\n");
  const auto fitted = fit_device({{neusight, liger}, "A100-SXM-80GB"});
  ASSERT_TRUE(fitted) << fitted.error().message();
  std::string rows;
  for (const KernelTable& table : fitted->device.kernels)
    for (const device::MeasuredKernel& m : table.measured()) {
      rows += table.name() + " " + std::string(trace::name(table.type()));
      for (size_t i = 0; i < table.kind().size(); ++i) rows += " " + std::to_string(std::lround(m.sizes[i]));
      rows += " " + std::to_string(std::lround(m.seconds * 1e6)) + "\n";
    }
  EXPECT_EQ(rows,
            "add f16 32 16 200\ngemm f32 2 48 3 250\ngemm f32 32 32 16 500\nnorm f32 32 16 100\n"
            "norm.huggingface bf16 2048 1024 300\n");
  std::string skipped;
  for (const Finding& finding : fitted->findings)
    if (finding.tag == std::string("calibrate.device.skipped")) skipped += finding.text + "\n";
  EXPECT_NE(skipped.find("1 rows are not used: measured on 'NVIDIA H100 80GB HBM3'"), std::string::npos) << skipped;
  EXPECT_NE(skipped.find("1 rows are not used: backward passes"), std::string::npos) << skipped;
}

TEST(Traces, GiveTheirMeasuredKernels) {
  trace::Builder builder;
  trace::Trace& t = builder.trace;
  t.file = "job/a.0.et";
  t.metadata.push_back({t.strings.intern("device_name"), t.texts.add("NVIDIA H100 80GB HBM3")});
  const auto add = [&](const char* kernel, uint64_t ops, Picoseconds time, uint8_t flags) {
    const trace::NodeId n = builder.add(t.size() + 1, t.strings.intern("k"), trace::NodeType::comp);
    builder.attr({t.strings.intern("kernel"), std::string_view(kernel)});
    t.flags.edit(n) = flags;
    t.dur_ps.edit(n) = time;
    t.lane.edit(n) = builder.lane({trace::Lane::Kind::stream, 0, 7});
    t.num_ops.resize(n + 1, ops);
    t.op_dtype.resize(n + 1, static_cast<uint8_t>(DType::bf16));
  };
  constexpr uint8_t kMeasured = trace::kSaysCpuOrNot | trace::kHasStart | trace::kHasDuration;
  add("gemm:64,32,16", 2 * 64 * 32 * 16, 5 * kPsPerUs, kMeasured);
  add("gemm:64,32,16", 2 * 64 * 32 * 16, 7 * kPsPerUs, kMeasured);
  add("gemm:64,32,16", 64 * 32 * 16, 2 * kPsPerUs, kMeasured);                        // half of it
  add("gemm:64,32,8", 2 * 64 * 32 * 8, 2 * kPsPerUs, kMeasured & ~trace::kHasStart);  // not measured
  DeviceOptions options;
  options.traces.push_back(std::move(builder).finish());
  const auto fitted = fit_device(options);
  ASSERT_TRUE(fitted) << fitted.error().message();
  EXPECT_EQ(fitted->device.name, "H100-SXM");
  ASSERT_EQ(fitted->device.kernels.size(), 1U);
  const auto measured = fitted->device.kernels[0].measured();
  ASSERT_EQ(measured.size(), 1U);
  EXPECT_NEAR(measured[0].seconds, 6e-6, 1e-12);
  EXPECT_EQ(fitted->device.kernels[0].source, "a.0.et");
  EXPECT_EQ(fitted->findings.back().text, "1 rows are not used: nodes that cover only a part of their kernel");
}

TEST(File, ComesBackAsItWas) {
  const testing::TemporaryFolder folder;
  std::string csv = "kernel,type,m,n,k,time_us\n";
  for (int m = 1; m < 600; m += 7)
    csv += "gemm,bf16," + std::to_string(m) + ",4096,1024," + std::to_string(5 + 0.01 * m) + "\n";
  auto fitted = fit_device({{folder.write("t \"x\".csv", csv)}, "H100-SXM"});
  ASSERT_TRUE(fitted) << fitted.error().message();
  fitted->device.unaligned_time = 2.5;
  fitted->device.sustained_time = 1.2;
  const auto loaded = device::load(folder.write("d.json", to_device_file(fitted->device)));
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->ops_per_s, fitted->device.ops_per_s);
  EXPECT_EQ(loaded->unaligned_time, 2.5);
  EXPECT_EQ(loaded->sustained_time, 1.2);
  EXPECT_EQ(loaded->recorded_as, fitted->device.recorded_as);
  const KernelTable &before = fitted->device.kernels[0], &after = loaded->kernels.at(0);
  EXPECT_EQ(after.source, "t \"x\".csv");
  EXPECT_EQ(after.error->worst_of, before.error->worst_of);
  for (const Sizes& sizes : {Sizes{50, 4096, 1024}, Sizes{5000, 512, 64}})
    EXPECT_NEAR(after.predict(sizes).seconds / before.predict(sizes).seconds, 1, 1e-4);
}

// The medians of classes are those that a reader of all rows finds, to the last digit, whatever the rates of the
// device.
TEST(File, StatesTheMediansOfItsRows) {
  const testing::TemporaryFolder folder;
  for (const device::DeviceRow& row : device::kDevices) {
    device::Device device = device::device(row);
    Prng random(5);
    for (const char* name : {"gemm", "add", "norm", "embedding", "gemm.int8_wo", "decode_attention"}) {
      std::vector<device::MeasuredKernel> measured;
      for (int i = 0; i < 60; ++i) {
        device::MeasuredKernel& m = measured.emplace_back();
        m.sizes.fill(std::exp2(i / 4));
        m.sizes[0] = 1 + static_cast<double>(random.below(1 << 14));
        m.seconds = static_cast<double>(1 + random.below(1 << 30)) / 1e12;
      }
      device.kernels.emplace_back(device, name, device::DType::f16, device::KernelConstants{}, measured);
    }
    const std::string text = to_device_file(device);
    std::string without = text;
    for (size_t at = 0; (at = without.find("\"classes\"", at)) != std::string::npos;)
      without.erase(at, without.find('\n', at) - at);
    const auto with = device::load(folder.write("d.json", text)), read = device::load(folder.write("e.json", without));
    ASSERT_TRUE(with && read) << text;
    for (size_t k = 0; k < with->kernels.size(); ++k) {
      EXPECT_EQ(with->kernels[k].classes.has_value(), k < 4) << row.name;
      EXPECT_FALSE(read->kernels[k].classes);
    }
    const auto all = [](const device::ClassPrices& p) {
      return std::array{p.compute.times, p.compute.error, p.memory.times, p.memory.error, p.fixed_s, p.fixed_error};
    };
    EXPECT_EQ(all(*with->prices), all(*read->prices)) << row.name;
  }
}

// ---- public measurements: docs/explanation/calibration.md has the table
// ----------------------------------------------

constexpr double kRandom = 0.08, kBlock = 0.15;

/// Fits a file and holds each kernel's errors against the limits; `worst`: blocks that are farther off, and how far.
void expect_judged(const std::string& file, const std::string& device,
                   const std::map<std::string, double>& worst = {}) {
  const auto fitted = fit_device({{measured(file)}, device});
  ASSERT_TRUE(fitted) << fitted.error().message();
  for (const KernelTable& table : fitted->device.kernels) {
    const device::KernelError& error = table.error.value();
    const std::string what = file + " " + table.name() + " " + std::string(trace::name(table.type())) + ", worst " +
                             error.worst_of + " " + std::to_string(error.worst);
    std::cout << what << ", random " << error.random << ", blocks " << error.block << "\n";
    EXPECT_LE(error.random, kRandom) << what;
    EXPECT_LE(error.block, kBlock) << what;
    EXPECT_LT(error.random, error.roofline) << what;
    const auto named = worst.find(table.name() + " " + std::string(trace::name(table.type())));
    EXPECT_LE(error.worst, named == worst.end() ? kBlock : named->second) << what;
  }
}

TEST(Measured, MatrixProductsOfAnA100) {
  CHAKRA_NEEDS_DATA();
  expect_judged("aic_gemm_a100_sxm.csv.gz", "");
}
TEST(Measured, AttentionOfAnA100) {
  CHAKRA_NEEDS_DATA();
  expect_judged("aic_attention_ctx_a100.csv.gz", "", {{"attention bf16", 0.35}});
}
TEST(Measured, MatrixProductsOfAnH100) {
  CHAKRA_NEEDS_DATA();
  expect_judged("aic_gemm_h100_sglang.csv.gz", "", {{"gemm f8", 0.20}, {"gemm.int8_wo bf16", 0.24}});
}
TEST(Measured, LayersOfAnA100) {
  CHAKRA_NEEDS_DATA();
  expect_judged("vidur_compute_a100.csv.gz", "A100-SXM-80GB",
                {{"activation f16", 0.35}, {"embedding f16", 0.45}, {"gemm f16", 0.42}, {"norm f16", 0.44}});
}
TEST(Measured, LayersOfAnH100) {
  CHAKRA_NEEDS_DATA();
  expect_judged("vidur_compute_h100.csv.gz", "H100-SXM",
                {{"activation f16", 0.22},
                 {"add f16", 0.29},
                 {"embedding f16", 0.45},
                 {"gemm f16", 0.22},
                 {"norm f16", 0.27},
                 {"rope f16", 0.30}});
}

TEST(Measured, ExpertsAndDecodeOfAnA100) {
  CHAKRA_NEEDS_DATA();
  expect_judged("aic_moe_a100.csv.gz", "",
                {{"experts.power_law_1.01 bf16", 0.45}, {"experts.power_law_1.2 bf16", 0.46}});
  expect_judged("aic_attention_gen_a100.csv.gz", "", {{"decode_attention bf16", 0.51}});
}
TEST(Measured, LatentAttentionOfAnH100) {
  CHAKRA_NEEDS_DATA();
  expect_judged("aic_mla_ctx_h100.csv.gz", "");
  expect_judged("aic_mla_gen_h100.csv.gz", "");
}
TEST(Measured, RecurrentLayersOfAnH100) {
  CHAKRA_NEEDS_DATA();
  expect_judged("aic_gdn_h100.csv.gz", "", {{"gated_delta bf16", 0.24}});
}

/// The lines of a table for which `keep` is true, and its first.
template <class Keep>
std::string lines_of(const std::string& text, const Keep& keep) {
  std::istringstream in(text);
  std::string line, kept;
  for (bool first = true; std::getline(in, line); first = false)
    if (first || keep(line)) kept += line + "\n";
  return kept;
}

// The files themselves are cut, so that nothing of the model that is judged can be in the fit.
TEST(Measured, OneModelPredictsTheOther) {
  CHAKRA_NEEDS_DATA();
  const testing::TemporaryFolder folder;
  const auto text = read_file(measured("vidur_compute_h100.csv.gz"));
  ASSERT_TRUE(text);
  const auto has = [](const char* model) {
    return [model](const std::string& line) { return line.find(model) != std::string::npos; };
  };
  const std::string llama = folder.write("llama.csv", lines_of(*text, has("Llama-2-7b")));
  const std::string code = folder.write("code.csv", lines_of(*text, has("CodeLlama-34b")));
  for (const auto& [from, to] : {std::pair(llama, code), std::pair(code, llama)}) {
    const auto fitted = fit_device({{from}, "H100-SXM"}), truth = fit_device({{to}, "H100-SXM"});
    ASSERT_TRUE(fitted && truth);
    for (const KernelTable& table : truth->device.kernels) {
      const KernelTable* by = device::find_table(fitted->device, table.name(), table.type());
      ASSERT_NE(by, nullptr);
      double sum = 0, marked = 0;
      for (const device::MeasuredKernel& m : table.measured()) {
        const KernelTable::Prediction predicted = by->predict(m.sizes);
        sum += std::abs(std::log(predicted.seconds / m.seconds));
        marked += predicted.extrapolated;
      }
      const auto count = static_cast<double>(table.measured().size());
      const double error = std::exp(sum / count) - 1;
      std::cout << from.substr(from.rfind('/') + 1) << " -> " << table.name() << ": " << error << ", marked "
                << marked / count << "\n";
      EXPECT_LE(error, kBlock) << table.name() << " from " << from;
    }
  }
}

}  // namespace
}  // namespace chakra::calibrate
