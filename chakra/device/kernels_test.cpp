#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "chakra/base/spec_json.h"
#include "chakra/base/testing/testing.h"
#include "chakra/device/device.h"

namespace chakra::device {
namespace {

const Device kPlain = plain("plain", 1e14, 1e12);

TEST(Kernels, PartsOfTheRooflineFollowFromShapes) {
  const RooflineParts parts = roofline_parts(kPlain, *find_kernel_kind("gemm"), DType::bf16, {8, 4, 16});
  EXPECT_DOUBLE_EQ(parts.ops_s, 1024 / 1e14);
  EXPECT_DOUBLE_EQ(parts.bytes_s(), 448 / 1e12);
}

const KernelConstants kConstants{2, {3, 3, 3}, 5e-6};

/// 2 x ops / peak + 3 x bytes / bandwidth + 5 us, times `factor` of the sizes.
template <class Factor>
std::vector<MeasuredKernel> made(const Factor& factor) {
  std::vector<MeasuredKernel> measured;
  for (double m = 64; m <= 4096; m *= 2)
    for (double n = 64; n <= 4096; n *= 2)
      for (double k = 64; k <= 4096; k *= 2) {
        const Sizes sizes{m, n, k};
        const RooflineParts parts = roofline_parts(kPlain, *find_kernel_kind("gemm"), DType::bf16, sizes);
        measured.push_back({sizes, (2 * parts.ops_s + 3 * parts.bytes_s() + 5e-6) * factor(sizes)});
      }
  return measured;
}
double law(const Sizes& sizes) {
  const RooflineParts parts = roofline_parts(kPlain, *find_kernel_kind("gemm"), DType::bf16, sizes);
  return 2 * parts.ops_s + 3 * parts.bytes_s() + 5e-6;
}

// Shapes about a plane to which they do not keep have a spread; what is stated is a multiple of it, by where a shape
// is.
TEST(Kernels, ErrorsFollowTheSpreadAroundAShape) {
  KernelTable smooth(kPlain, "gemm", DType::bf16, kConstants, made([](const Sizes&) { return 1; }));
  KernelTable rough(kPlain, "gemm", DType::bf16, kConstants, made([](const Sizes& s) {
                      return std::fmod(std::log2(s[0]) + std::log2(s[1]), 2) == 0 ? 1.2 : 1 / 1.2;
                    }));
  const Sizes inside{300, 300, 300}, beyond{300, 300, 32768};
  EXPECT_EQ(smooth.error_of(smooth.predict(inside)), 0);  // nothing was kept out
  for (KernelTable* const table : {&smooth, &rough}) {
    table->error.emplace();
    table->error->random = 0.05;
    table->error->block = 0.1;
    EXPECT_EQ(table->error_of(table->predict(inside)), 0.1);  // in a gap of an octave
    EXPECT_EQ(table->error_of(table->predict({256, 256, 256})), 0.05);
    table->error->spread = 0.01;
    table->error->near = 1, table->error->far = 2, table->error->beyond = 3;
  }
  EXPECT_NEAR(smooth.error_of(smooth.predict(inside)), std::expm1(0.02), 1e-9);
  EXPECT_NEAR(smooth.error_of(smooth.predict(beyond)), std::expm1(0.03), 1e-9);
  EXPECT_NEAR(smooth.error_of(smooth.predict({256, 256, 256})), std::expm1(0.01), 1e-9);
  const KernelTable::Prediction predicted = rough.predict(inside);
  EXPECT_GT(predicted.spread, 0.1);
  EXPECT_LT(predicted.spread, 0.3);
  EXPECT_NEAR(rough.error_of(predicted), std::expm1(2 * std::hypot(predicted.spread, 0.01)), 1e-9);
  EXPECT_FALSE(predicted.beyond);
  EXPECT_TRUE(rough.predict(beyond).beyond);
}

TEST(Kernels, TheBaseIsExactEverywhere) {
  const KernelTable table(kPlain, "gemm", DType::bf16, kConstants, made([](const Sizes&) { return 1; }));
  for (const Sizes& sizes : {Sizes{64, 64, 64}, Sizes{100, 3000, 777}, Sizes{1, 1, 1}, Sizes{1e5, 1e5, 1e5}})
    EXPECT_NEAR(table.predict(sizes).seconds / law(sizes), 1, 1e-12);
}

TEST(Kernels, EachTensorHasItsTime) {
  const KernelBase base(kPlain, find_kernel_kind("gemm"), DType::bf16, {0, {20, 1, 3}, 0});
  EXPECT_DOUBLE_EQ(base.seconds({8, 4, 16}), (20 * 128 + 64 + 3 * 32) * 2 / 1e12);
}

TEST(Kernels, AFactorOverTheBaseIsKept) {  // the slowness of a device, the same for all shapes
  const KernelTable table(kPlain, "gemm", DType::bf16, kConstants, made([](const Sizes&) { return 1.7; }));
  EXPECT_NEAR(table.predict({300, 300, 300}).seconds / law({300, 300, 300}), 1.7, 1e-9);
  EXPECT_NEAR(table.predict({1e6, 1e6, 1e6}).seconds / law({1e6, 1e6, 1e6}), 1.7, 1e-9);
}

TEST(Kernels, RowsThatAreNotWholePiecesTakeLonger) {  // of 16 bytes: 8 elements of bf16
  Device slow = kPlain;
  slow.unaligned_time = 3;
  std::vector<MeasuredKernel> measured = made([](const Sizes&) { return 1; });
  const KernelTable whole(slow, "gemm", DType::bf16, kConstants, measured);
  const auto ratio = [](const KernelTable& table, const Sizes& sizes) {
    return table.predict(sizes).seconds / law(sizes);
  };
  for (const Sizes& sizes : {Sizes{64, 64, 64}, Sizes{999, 2000, 1000}}) EXPECT_NEAR(ratio(whole, sizes), 1, 1e-12);
  for (const Sizes& sizes : {Sizes{1000, 2001, 1000}, Sizes{1000, 1000, 2004}}) {
    EXPECT_NEAR(ratio(whole, sizes), 3, 1e-12);
    EXPECT_TRUE(whole.predict(sizes).extrapolated);
  }
  measured.push_back({{64, 2001, 64}, law({64, 2001, 64})});  // such rows were measured, too
  const KernelTable both(slow, "gemm", DType::bf16, kConstants, measured);
  EXPECT_NEAR(ratio(both, {1000, 2001, 1000}), 1, 1e-9);
  // Four bytes an element: four of them are a piece.
  const KernelTable wide(slow, "gemm", DType::f32, kConstants, made([](const Sizes&) { return 1; }));
  EXPECT_LT(wide.predict({1000, 1004, 1000}).seconds, wide.predict({1000, 1002, 1000}).seconds / 2.9);
}

TEST(Kernels, MeasuredShapesGiveTheirOwnTime) {
  const auto wild = [](const Sizes& s) { return 1 + 0.5 * std::sin(s[0] + 3 * s[1] + 7 * s[2]); };
  const std::vector<MeasuredKernel> measured = made(wild);
  const KernelTable table(kPlain, "gemm", DType::bf16, kConstants, measured);
  for (const MeasuredKernel& m : measured) EXPECT_NEAR(table.predict(m.sizes).seconds / m.seconds, 1, 1e-4);
}

TEST(Kernels, TheOrderOfShapesAndThreadsDoNotMatter) {
  const auto wild = [](const Sizes& s) { return 1 + 0.5 * std::sin(s[0] + 3 * s[1] + 7 * s[2]); };
  std::vector<MeasuredKernel> measured = made(wild);
  const KernelTable table(kPlain, "gemm", DType::bf16, kConstants, measured);
  Prng random(2);
  for (size_t i = measured.size(); i > 1; --i) std::swap(measured[i - 1], measured[random.below(i)]);
  const KernelTable mixed(kPlain, "gemm", DType::bf16, kConstants, measured), copy = mixed;
  std::vector<Sizes> shapes;
  while (shapes.size() < 100)
    shapes.push_back({1.0 + static_cast<double>(random.below(9000)), 77, 1.0 + static_cast<double>(random.below(200))});
  std::vector<double> by_thread(shapes.size());
  std::thread other([&] {  // each of the two may be the first to predict
    for (size_t i = 0; i < shapes.size(); ++i) by_thread[i] = copy.predict(shapes[i]).seconds;
  });
  for (const Sizes& sizes : shapes) {
    const KernelTable::Prediction one = table.predict(sizes), two = mixed.predict(sizes);
    EXPECT_NEAR(one.seconds / two.seconds, 1, 1e-9) << sizes[0] << " x 77 x " << sizes[2];
    EXPECT_EQ(one.extrapolated, two.extrapolated);
  }
  other.join();
  for (size_t i = 0; i < shapes.size(); ++i) EXPECT_EQ(by_thread[i], mixed.predict(shapes[i]).seconds);
  const auto [least, most] = mixed.range();
  EXPECT_EQ(least, (Sizes{64, 64, 64}));
  EXPECT_EQ(most, (Sizes{4096, 4096, 4096}));
}

TEST(Kernels, APowerLawIsInterpolated) {  // ln of the factor is a plane; the flattening leaves part of its slope
  const auto power = [](const Sizes& s) { return std::pow(s[0] / 512, 0.1) * std::pow(s[2] / 512, -0.2); };
  const KernelTable table(kPlain, "gemm", DType::bf16, kConstants, made(power));
  for (const Sizes& sizes : {Sizes{300, 200, 700}, Sizes{1500, 90, 3000}, Sizes{512, 512, 600}})
    EXPECT_NEAR(table.predict(sizes).seconds / (law(sizes) * power(sizes)), 1, 0.03);
}

// The last shapes are close together, and each step of rows makes them a little faster: 21 % in all. Octaves away, the
// plane through them would say a small part of the roofline.
TEST(Kernels, NoPlaneLeadsOutOfWhatWasMeasured) {
  const KernelConstants constants{1, {2, 1, 1}, 2.5e-6, 0, true};
  const KernelBase base(kPlain, find_kernel_kind("rope"), DType::bf16, constants);
  std::vector<MeasuredKernel> measured;
  for (const double width : {1024, 2048, 4096, 8192})
    for (double rows = 8; rows <= 4096; rows += rows < 512 ? 8 : 32)
      measured.push_back({{rows, width}, base.seconds({rows, width}) * std::pow(std::max(rows / 3500, 1.0), -1.5)});
  const KernelTable table(kPlain, "rope", DType::bf16, constants, measured);
  for (const double width : {32, 64, 512, 1024, 65536}) {
    double last = 0;
    for (double rows = 1; rows <= 1 << 22; rows *= 2) {
      const double seconds = table.predict({rows, width}).seconds;
      EXPECT_NEAR(std::log(seconds / base.seconds({rows, width})), 0, 0.4) << rows << " x " << width;
      EXPECT_GE(seconds, base.roofline({rows, width})) << rows << " x " << width;
      EXPECT_GE(seconds, last * 0.85) << rows << " x " << width;
      last = seconds;
    }
  }
}

TEST(Kernels, NoTimeIsBelowTheRooflineUnlessMeasuredOnesAre) {
  const KernelConstants constants{1, {1e-9, 1, 1}, 2.5e-6};  // small shapes say nothing of bytes
  const auto table = [&](double most_rows, const auto& seconds) {
    std::vector<MeasuredKernel> measured;
    for (double rows = 1; rows <= most_rows; rows *= 2)
      for (double width = 64; width <= 1024; width *= 2) measured.push_back({{rows, width}, seconds({rows, width})});
    return KernelTable(kPlain, "add", DType::bf16, constants, measured);
  };
  const KernelBase base(kPlain, find_kernel_kind("add"), DType::bf16, constants);
  const Sizes large{1 << 20, 1024};
  EXPECT_DOUBLE_EQ(table(16, [](const Sizes&) { return 2.5e-6; }).predict(large).seconds, base.roofline(large));
  const KernelTable cached = table(65536, [&](const Sizes& s) { return std::max(2.5e-6, base.roofline(s) / 2); });
  for (const double rows : {4096, 5000, 65536})
    EXPECT_NEAR(cached.predict({rows, 1024}).seconds / base.roofline({rows, 1024}), 0.5, 0.03) << rows;
  EXPECT_NEAR(cached.predict(large).seconds / base.roofline(large), 0.5, 0.01);
}

TEST(Kernels, ExtrapolationIsMarked) {
  const KernelTable table(kPlain, "gemm", DType::bf16, kConstants, made([](const Sizes&) { return 1; }));
  EXPECT_FALSE(table.predict({64, 64, 4096}).extrapolated);
  EXPECT_TRUE(table.predict({90, 64, 4096}).extrapolated);  // in a gap of an octave
  EXPECT_TRUE(table.predict({64, 64, 4097}).extrapolated);  // beyond the measured sizes
  EXPECT_TRUE(table.predict({63, 64, 64}).extrapolated);
  std::vector<MeasuredKernel> diagonal;  // dense in each size, but not in both
  for (double size = 64; size <= 4096; size *= 1.2) diagonal.push_back({{size, size}, 1e-6});
  KernelTable norms(kPlain, "norm", DType::bf16, {1, 1, 1e-6}, diagonal);
  EXPECT_FALSE(norms.predict({100, 100}).extrapolated);
  EXPECT_FALSE(norms.predict({100, 100}).apart);
  const KernelTable::Prediction apart = norms.predict({100, 200}), gap = table.predict({90, 64, 4096});
  EXPECT_TRUE(apart.extrapolated);  // 0.7 octaves from the nearest
  EXPECT_TRUE(apart.apart);
  EXPECT_FALSE(gap.apart);
  norms.error.emplace().spread = 0.01;
  norms.error->near = 1, norms.error->far = 3;
  EXPECT_NEAR(norms.error_of(apart), std::expm1(3 * std::hypot(apart.spread, 0.01)), 1e-12);
  norms.error->apart = 2;
  EXPECT_NEAR(norms.error_of(apart), std::expm1(2 * std::hypot(apart.spread, 0.01)), 1e-12);
}

TEST(Kernels, AllOfAValueThatIsKeptOutIsMarked) {  // of a grid in steps of a fifth of an octave
  for (double kept_out = 64; kept_out <= 1024; kept_out *= std::exp2(0.21)) {
    std::vector<MeasuredKernel> rest;
    for (double rows = 64; rows <= 1024; rows *= std::exp2(0.21))
      for (double width = 64; width <= 1024; width *= std::exp2(0.21))
        if (rows != kept_out) rest.push_back({{rows, width}, 1e-6});
    const KernelTable table(kPlain, "norm", DType::bf16, {1, 1, 1e-6}, rest);
    for (double width = 64; width <= 1024; width *= std::exp2(0.21))
      EXPECT_TRUE(table.predict({kept_out, width}).extrapolated) << kept_out << " x " << width;
  }
}

TEST(Kernels, HalfPrecisionStandsForTheOther) {
  Device device = kPlain;
  device.kernels.emplace_back(kPlain, "norm", DType::f16, KernelConstants{},
                              std::vector<MeasuredKernel>{{{8, 8}, 1e-6}});
  EXPECT_EQ(find_table(device, "norm", DType::bf16), &device.kernels[0]);
  EXPECT_EQ(find_table(device, "norm", DType::f32), nullptr);
  EXPECT_EQ(find_table(device, "add", DType::f16), nullptr);
  device.kernels.emplace_back(kPlain, "norm", DType::bf16, KernelConstants{},
                              std::vector<MeasuredKernel>{{{8, 8}, 1e-6}});
  EXPECT_EQ(find_table(device, "norm", DType::bf16), &device.kernels[1]);
}

TEST(KernelFile, IsReadAndRefused) {
  const testing::TemporaryFolder folder;
  const auto load_text = [&](const std::string& kernels) {
    return load(folder.write(
        "d.json", R"({"name": "d", "peaks": {"f16": 100}, "memory-bandwidth": 1000, "kernels": [)" + kernels + "]}"));
  };
  const auto good = load_text(
      R"({"kernel": "norm", "type": "f16", "ops-time": 1, "bytes-time": 2, "fixed-us": 3, "source": "s",
          "error": {"random": 0.05, "worst-of": "rows = 1"}, "sizes": ["rows", "width", "us"],
          "measured": [[16, 64, 3.5], [32, 64, 4]]})");
  ASSERT_TRUE(good) << good.error().message();
  const KernelTable& table = good->kernels.at(0);
  EXPECT_EQ(table.constants().bytes_time, (Tensors{2, 2, 2}));
  EXPECT_DOUBLE_EQ(table.constants().fixed_s, 3e-6);
  EXPECT_EQ(table.error->random, 0.05);
  EXPECT_EQ(table.error->worst_of, "rows = 1");
  EXPECT_NEAR(table.predict({16, 64}).seconds, 3.5e-6, 1e-10);
  const auto steps = load_text(
      R"({"kernel": "gemm", "type": "f16", "ops-time": 0, "bytes-time": 1e-9, "fixed-us": 8, "step-ns": 4,
          "overlap": true, "measured": [[1, 1, 2000, 12]]})");
  ASSERT_TRUE(steps) << steps.error().message();  // 8 us and 4 ns x 2000, by ^1.5: 2^(2/3) x 8 us = 12.699; 12 measured
  EXPECT_NEAR(steps->kernels.at(0).predict({1, 1, 2000}).seconds, 12e-6, 1e-10);
  const double parts_us[] = {std::pow(8, 1.5), std::pow(32, 1.5)};  // at four times the steps
  EXPECT_NEAR(steps->kernels.at(0).predict({1, 1, 8000}).seconds,
              12e-6 * std::pow((parts_us[0] + parts_us[1]) / (2 * parts_us[0]), 2.0 / 3), 1e-9);
  const std::string value = "device.file.value", key = "device.file.key";
  for (const auto& [text, tag] : std::vector<std::pair<std::string, std::string>>{
           {R"({"kernel": "gem", "type": "f16", "measured": [[1, 1, 1]]})", value},
           {R"({"kernel": "norm", "type": "f17", "measured": [[1, 1, 1]]})", value},
           {R"({"kernel": "norm", "type": "f16", "measured": []})", value},
           {R"({"kernel": "norm", "type": "f16", "measured": [[1, 1]]})", value},
           {R"({"kernel": "norm", "type": "f16", "measured": [[0, 1, 1]]})", value},
           {R"({"kernel": "norm", "type": "f16", "measured": [[1, 1, 0]]})", value},
           {R"({"kernel": "norm", "type": "f16", "measured": [[1, 007, 1]]})", "base.spec.type"},
           {R"({"kernel": "norm", "type": "f16", "bytes-time": 0, "measured": [[1, 1, 1]]})", value},
           {R"({"kernel": "norm", "type": "f16", "step-ns": 1, "measured": [[1, 1, 1]]})", value},
           {R"({"kernel": "norm", "type": "f16", "overlap": 2, "measured": [[1, 1, 1]]})", "base.spec.type"},
           {R"({"kernel": "norm", "type": "f16"})", key},
           {R"({"kernel": "norm", "type": "f16", "slope": 1, "measured": [[1, 1, 1]]})", key},
           {R"({"kernel": "norm", "type": "f16", "error": {"mean": 1}, "measured": [[1, 1, 1]]})", key}}) {
    const auto loaded = load_text(text);
    ASSERT_FALSE(loaded) << text;
    EXPECT_EQ(loaded.error().tag, tag) << text;
  }
}

// A table whose checksum is right stays text until it is used, and then says what it says without one. One that was
// edited since is read at once, so that load() refuses a wrong number in it.
TEST(KernelFile, TablesWithChecksumAreReadLater) {
  const testing::TemporaryFolder folder;
  const auto load_table = [&](const std::string& name, const std::string& checksum, const std::string& rows) {
    return load(folder.write("d.json", R"({"name": "d", "peaks": {"f16": 100}, "memory-bandwidth": 1000, "kernels": [
{"kernel": ")" + name + R"(", "type": "f16", )" +
                                           checksum + "\"measured\": " + rows + "}]}"));
  };
  std::string rows;
  for (int i = 0; i < 200; ++i)
    rows += fmt::format("{}\n  [{}, {}, {:.6g}]", i ? "," : "[", 16 << i / 20, 64 * (1 + i % 20), 3 + std::sqrt(i) / 7);
  rows += "]";
  const std::string sum = fmt::format("\"checksum\": \"{}\",\n", text_checksum(rows));
  const auto later = load_table("norm", sum, rows), at_once = load_table("norm", "", rows);
  ASSERT_TRUE(later && at_once);
  const KernelTable copy = later->kernels.at(0);
  for (const Sizes& sizes : {Sizes{16, 64}, Sizes{100, 1000}, Sizes{1 << 20, 7}})
    EXPECT_EQ(copy.predict(sizes).seconds, at_once->kernels.at(0).predict(sizes).seconds);
  EXPECT_EQ(later->kernels.at(0).row_count(), 200u);
  EXPECT_EQ(copy.range(), at_once->kernels.at(0).range());
  EXPECT_EQ(later->prices->memory.times, at_once->prices->memory.times);
  std::string longer = rows, damaged = rows;
  longer.insert(1, "[8, 64, 2.5],");
  const auto edited = load_table("norm", sum, longer);
  ASSERT_TRUE(edited);
  EXPECT_EQ(edited->kernels.at(0).row_count(), 201u);
  const auto error = [](const Result<Device>& loaded) {
    return loaded ? "none" : fmt::format("{}:{}", loaded.error().tag, loaded.error().place.line);
  };
  damaged.replace(damaged.find(", 128,"), 6, ", 0,");
  EXPECT_EQ(error(load_table("norm", sum, damaged)), "device.file.value:5");
  EXPECT_EQ(error(load_table("gemm", sum, rows)), "device.file.value:4");  // with other sizes than the table
  const std::string lie = fmt::format("\"checksum\": \"{}\",\n", text_checksum(damaged));
  const auto lies = load_table("norm", lie, damaged);  // only its constants are left
  ASSERT_TRUE(lies);
  const KernelTable::Prediction without = lies->kernels.at(0).predict({100, 1000});
  EXPECT_TRUE(std::isfinite(without.seconds) && without.seconds > 0);
  EXPECT_EQ(lies->kernels.at(0).error_of(without), 0);  // not known
  const auto cut = load_table("norm", sum, rows.substr(0, rows.size() / 2) + "]");
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().tag, "base.spec.syntax");
}

}  // namespace
}  // namespace chakra::device
