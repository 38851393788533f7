#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "chakra/base/testing/testing.h"
#include "chakra/calibrate/network_fit.h"

namespace chakra::calibrate {
namespace {

using chakra::testing::data_folder;
using chakra::testing::TemporaryFolder;

// ---- what made the times is found again ---------------------------------------------------------------------------

TEST(LeastSquares, FindsWhatMadeTheNumbersAndNothingNegative) {
  Gram exact, falling;
  for (const double n : {2.0, 4.0, 8.0})
    for (const double bytes : {1e3, 1e6, 1e9}) {
      const Features f{1, n - 1, (n - 1) / n * bytes, bytes / n};
      exact.add(f, 7 * f[0] + 3 * f[1] + 0.5 * f[2] + 0.25 * f[3]);
      falling.add(f, 0.5 * f[2] - 1);  // would need a negative constant
    }
  const Solution s = least_squares(exact);
  const Features truth{7, 3, 0.5, 0.25};
  for (size_t p = 0; p < kParameters; ++p) EXPECT_NEAR(s.value[p], truth[p], 1e-6 * truth[p]);
  EXPECT_LT(s.residual, 1e-9);
  for (const double value : least_squares(falling).value) EXPECT_GE(value, 0);
}

TEST(LeastSquares, OfOneNumberOfRanksTellsNoStepsFromTheRest) {
  Gram gram;
  for (const double bytes : {1e3, 1e6, 1e9}) gram.add({1, 7, 7.0 / 8 * bytes, bytes / 8}, 10 + bytes);
  const Solution s = least_squares(gram);
  EXPECT_NEAR(s.value[0], 10, 1e-6);
  EXPECT_EQ(s.value[1], 0);
  EXPECT_NEAR(s.value[2], 8.0 / 7, 1e-9);
  EXPECT_EQ(s.value[3], 0);
}

/// An operation of two protocols, the first one up to `limit` bytes, or both by least time where that is 0.
net::CollectiveFit truth(const char* operation, const char* algorithm, uint64_t limit) {
  net::CollectiveFit fit;
  fit.form = net::find_collective_form(operation, algorithm);
  fit.ranks = {2, 4, 8};
  fit.protocols = {{"small", 8000, 1000, 20, 10, {}}, {"large", 25000, 6000, 200, 400, {}}};
  if (limit) {
    fit.protocols[0].up_to_bytes.assign(3, limit);
    fit.protocols[1].up_to_bytes.assign(3, net::ProtocolFit::kAnySize);
  }
  return fit;
}
std::vector<CollectiveSample> times_of(const net::CollectiveFit& fit) {
  std::vector<CollectiveSample> samples;
  for (const int64_t n : fit.ranks)
    for (uint64_t bytes = 512; bytes <= uint64_t{1} << 29; bytes *= 2)
      samples.push_back({std::string(fit.form->operation), n, bytes,
                         net::fitted_time({&fit, 1}, fit.form->operation, {0, n}, bytes)->ns});
  return samples;
}

TEST(FitCollectives, FindsTheParametersThatMadeTheTimes) {
  Findings none;
  // Without a limit; with one up to which the small protocol is the slower one; with one beyond which it would be
  // faster.
  for (const uint64_t limit : {uint64_t{0}, uint64_t{3} << 20, uint64_t{3} << 14}) {
    const net::CollectiveFit made_by = truth("all_gather", "ring", limit);
    const std::vector<CollectiveSample> samples = times_of(made_by);
    const std::vector<FittedOperation> found = fit_collectives(samples, none);
    ASSERT_EQ(found.size(), 1u);
    ASSERT_EQ(found[0].fit.protocols.size(), 2u) << limit;
    for (size_t k = 0; k < 2; ++k) {
      const net::ProtocolFit &is = found[0].fit.protocols[k], &was = made_by.protocols[k];
      EXPECT_NEAR(is.op_ns, was.op_ns, 1e-4 * was.op_ns);
      EXPECT_NEAR(is.step_ns, was.step_ns, 1e-4 * was.step_ns);
      EXPECT_NEAR(is.wire_gib_per_s, was.wire_gib_per_s, 1e-4 * was.wire_gib_per_s);
      EXPECT_NEAR(is.local_gib_per_s, was.local_gib_per_s, 1e-4 * was.local_gib_per_s);
      EXPECT_TRUE(found[0].parameters[k].step_ns.determined);
    }
    EXPECT_LT(judge({found[0].fit}, samples).worst, 1e-4) << limit;
    EXPECT_EQ(found[0].fit.from_bytes, 512u);
    EXPECT_EQ(found[0].fit.to_bytes, uint64_t{1} << 29);
  }
}

TEST(FitCollectives, TellsSwitchesThatReduceFromARing) {
  Findings none;
  std::vector<CollectiveSample> samples;
  for (const int64_t n : {4, 8})
    for (uint64_t bytes = 1 << 20; bytes <= 1 << 30; bytes *= 2) {
      const double others = static_cast<double>(n - 1) / static_cast<double>(n), s = static_cast<double>(bytes);
      samples.push_back({"all_gather", n, bytes, 1e4 + s * others / 350});
      samples.push_back({"all_reduce", n, bytes, n == 4 ? 1e4 + 2 * s * others / 350 : 2e4 + s / 275});
    }
  const std::vector<FittedOperation> found = fit_collectives(samples, none);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].fit.form->algorithm, "ring");
  EXPECT_EQ(found[0].fit.ranks, std::vector<int64_t>{4});
  EXPECT_EQ(found[1].fit.form->algorithm, "nvls");
  EXPECT_EQ(found[1].fit.ranks, std::vector<int64_t>{8});
  EXPECT_NEAR(found[1].fit.protocols[0].wire_gib_per_s, 275e9 / 1073741824, 0.01);
}

TEST(FitCollectives, TakesFewSamples) {
  Findings none;
  const std::vector<FittedOperation> one = fit_collectives({{"all_gather", 8, 1024, 9000}}, none);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].fit.error_percent, -1);  // nothing could be kept out
  EXPECT_FALSE(one[0].parameters[0].op_ns.determined);
  EXPECT_NEAR(net::fitted_time({&one[0].fit, 1}, "all_gather", {0, 8}, 1024)->ns, 9000, 1e-6);
  EXPECT_TRUE(fit_collectives({}, none).empty());
  EXPECT_TRUE(none.empty());
}

TEST(FitCollectives, ASingleSizeDoesNotDecideForTheOthers) {
  std::vector<CollectiveSample> samples = times_of(truth("all_gather", "ring", 0));
  Findings findings;
  const std::vector<FittedOperation> before = fit_collectives(samples, findings);
  EXPECT_TRUE(findings.empty());
  samples.push_back({"all_gather", 3, 1024, 1.6e6});
  const std::vector<FittedOperation> after = fit_collectives(samples, findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].tag, "calibrate.network.skipped");
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(after[0].fit.ranks, before[0].fit.ranks);
  EXPECT_EQ(after[0].held_out.points, before[0].held_out.points);
  EXPECT_EQ(after[0].fit.protocols.size(), before[0].fit.protocols.size());
}

TEST(Outlying, SizesAreNamedAndLeftOut) {
  const net::CollectiveFit made_by = truth("all_gather", "ring", uint64_t{3} << 14);  // it jumps there
  const std::vector<CollectiveSample> samples = times_of(made_by);
  Findings findings;
  EXPECT_EQ(without_outlying(samples, findings), samples);
  EXPECT_TRUE(findings.empty());
  for (size_t at = 0; at < samples.size(); ++at)
    for (const double times : {8.0, 1.0 / 8}) {
      // Right before a jump, the lines of the other side fall as low.
      if (samples[at].ranks == 2 && samples[at].bytes == 16384 && times < 1) continue;
      std::vector<CollectiveSample> wrong = samples, right = samples;
      wrong[at].ns *= times;
      right.erase(right.begin() + static_cast<ptrdiff_t>(at));
      findings.clear();
      EXPECT_EQ(without_outlying(wrong, findings), right) << samples[at].ranks << " ranks, " << samples[at].bytes;
      ASSERT_EQ(findings.size(), 1u) << samples[at].bytes;
      EXPECT_EQ(findings[0].tag, "calibrate.network.outlying");
    }
}

/// What a law takes: 15 us, 2 us a step inside a node, `between_ns` a step between nodes, wires of 200, rails of 40 and
/// copies of 600 GB/s of 2^30 bytes.
double law_ns(const net::CollectiveForm& form, net::Members m, double bytes, double between_ns) {
  const net::ProtocolFit p{"", 15000, 2000, 200, 600, {}};
  net::ProtocolFit all = p;
  all.node_step_ns = between_ns;
  all.rail_gib_per_s = 40;
  return all.time_ns(form, m, bytes);
}

// All-to-alls across nodes and rings on one node: what rings across nodes take is not less than on one node, and about
// that of the law.
TEST(FromParts, RingsAcrossNodesAreNotFasterThanOnOneNode) {
  for (const std::vector<int64_t>& ranks : {std::vector<int64_t>{3, 6}, std::vector<int64_t>{6}})
    for (const double between_ns : {2700.0, 11000.0}) {
      Findings none;
      std::vector<CollectiveSample> samples;
      for (double bytes = 1 << 10; bytes <= 1 << 30; bytes *= 2) {
        for (const char* operation : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"}) {
          const bool direct = operation == std::string("all_to_all");
          const net::CollectiveForm& form = *net::find_collective_form(operation, direct ? "direct" : "ring");
          for (const int64_t n : ranks)
            for (const int64_t nodes : direct ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1})
              samples.push_back({operation, n * nodes, static_cast<uint64_t>(bytes),
                                 law_ns(form, {static_cast<double>(n), static_cast<double>(nodes)}, bytes, between_ns),
                                 nodes});
        }
      }
      const std::vector<FittedOperation> one_node = fit_collectives(samples, none);
      std::vector<net::CollectiveFit> fits;
      for (const FittedOperation& o : one_node) fits.push_back(o.fit);
      for (const FittedOperation& o : fit_across(samples, one_node).operations) fits.push_back(o.fit);
      for (const char* operation : {"all_reduce", "all_gather", "reduce_scatter"})
        for (double bytes = 1 << 10; bytes <= 1 << 30; bytes *= 4) {
          const net::CollectiveForm& form = *net::find_collective_form(operation, "ring");
          const auto ns = [&](int64_t per_node, int64_t nodes) {
            return net::fitted_time(fits, operation, {0, per_node, nodes, nodes > 1}, static_cast<uint64_t>(bytes))->ns;
          };
          EXPECT_GE(ns(3, 2) * 1.001, ns(6, 1)) << operation << " " << bytes;
          // Of one number of ranks nothing tells the steps inside a node; an all-reduce also has a tree to take.
          if (ranks.size() == 1 || operation == std::string("all_reduce")) continue;
          for (const auto& [per_node, nodes] : {std::pair{3, 2}, std::pair{6, 2}, std::pair{6, 4}}) {
            const net::Members m{static_cast<double>(per_node), static_cast<double>(nodes)};
            EXPECT_NEAR(std::log(ns(per_node, nodes) / law_ns(form, m, bytes, between_ns)), 0, 0.45)
                << operation << " " << bytes << " " << per_node << " x " << nodes;
          }
        }
    }
}

// ---- files ----------------------------------------------------------------------------------------------------------

TEST(FitNetwork, WritesAFileThatSaysTheSame) {
  const TemporaryFolder folder;
  std::string table = "collective,ranks,size_bytes,time_us\n";
  const net::CollectiveFit made_by = truth("all_gather", "ring", uint64_t{3} << 14);
  for (const CollectiveSample& s : times_of(made_by))
    table += "all_gather," + std::to_string(s.ranks) + "," + std::to_string(s.bytes) + "," +
             std::to_string(s.ns / 1000) + "\n";
  NetworkOptions options;
  options.files = {folder.write("t.csv", table)};
  options.npus = {16};
  const auto fitted = fit_network(options);
  ASSERT_TRUE(fitted) << fitted.error().message();
  const auto fabric = net::load_fabric(folder.write("net.yml", fitted->text));
  ASSERT_TRUE(fabric) << fabric.error().message();
  EXPECT_EQ(fabric->size(), 16);
  EXPECT_LT(judge(fabric->fits, times_of(made_by)).worst, 1e-3);
}

TEST(FitNetwork, NamesTimesThatNoNetworkHas) {
  const TemporaryFolder folder;
  const auto found = [&](double unit) {
    std::string table = "collective,ranks,size_bytes,time_us\n";
    for (const CollectiveSample& s : times_of(truth("all_gather", "ring", uint64_t{3} << 14)))
      table += fmt::format("all_gather,{},{},{}\n", s.ranks, s.bytes, s.ns * unit);
    NetworkOptions options;
    options.files = {folder.write("t.csv", table)};
    const auto fitted = fit_network(options);
    EXPECT_TRUE(fitted);
    return std::any_of(fitted->findings.begin(), fitted->findings.end(),
                       [](const Finding& f) { return f.tag == "calibrate.network.above"; });
  };
  EXPECT_FALSE(found(1e-3));
  EXPECT_TRUE(found(1e-6));  // milliseconds
}

// ---- measured machines
// ------------------------------------------------------------------------------------------------

/// The rows of a table that `keep` wants, by the values of their columns.
using Row = std::map<std::string, std::string>;
std::string rows_of(const std::string& file, const std::function<bool(const Row&)>& keep) {
  const std::string text = chakra::testing::must_read(data_folder() + "/measured/" + file);
  const auto cells_of = [](const std::string& line) {
    std::vector<std::string> cells(1);
    for (const char c : line)
      if (c == ',') cells.emplace_back();
      else cells.back() += c;
    return cells;
  };
  std::string out, line;
  std::vector<std::string> header;
  for (const char c : text) {
    if (c != '\n') {
      if (c != '\r') line += c;
      continue;
    }
    const std::vector<std::string> cells = cells_of(line);
    if (header.empty()) header = cells;
    Row row;
    for (size_t i = 0; i < std::min(cells.size(), header.size()); ++i) row[header[i]] = cells[i];
    if (cells == header || keep(row)) out += line + "\n";
    line.clear();
  }
  return out;
}

using Wanted = std::function<bool(const Row&)>;

/// What a network file says that was written from the rows that `learn` wants.
std::vector<net::CollectiveFit> fits_of(const TemporaryFolder& folder,
                                        const std::vector<std::pair<std::string, Wanted>>& learn) {
  NetworkOptions options;
  for (const auto& [file, wanted] : learn)
    options.files.push_back(
        folder.write("learn" + std::to_string(options.files.size()) + ".csv", rows_of(file, wanted)));
  const auto fitted = fit_network(options);
  EXPECT_TRUE(fitted) << (fitted ? "" : fitted.error().message());
  const auto fabric = net::load_fabric(folder.write("net.yml", fitted->text));
  EXPECT_TRUE(fabric) << (fabric ? "" : fabric.error().message());
  return fabric->fits;
}

struct ErrorOn : FitError {
  double most_of_95 = 0;  ///< what 95 % of the points do not exceed
};
/// How far off it is on the rows that `test` wants.
ErrorOn error_on(const std::vector<net::CollectiveFit>& fits, const std::string& file, const Wanted& test) {
  const TemporaryFolder folder;
  NetworkOptions tested;
  tested.files = {folder.write("test.csv", rows_of(file, test))};
  Findings findings;
  const std::vector<CollectiveSample> samples = *read_collectives(tested, findings);
  ErrorOn error{judge(fits, samples)};
  std::vector<double> off = offs(fits, samples);
  std::sort(off.begin(), off.end());
  if (!off.empty()) error.most_of_95 = std::expm1(off[(off.size() - 1) * 95 / 100]);
  printf("%s: %.2f %% over %lld points, 95 %% of them at most %.1f %%, worst %.1f %%\n", file.c_str(), 100 * error.mean,
         static_cast<long long>(error.points), 100 * error.most_of_95, 100 * error.worst);
  return error;
}
/// Fits to the rows that `learn` wants, and says how far off that is on those that `test` wants.
ErrorOn error_on(const std::string& file, const Wanted& learn, const Wanted& test) {
  const TemporaryFolder folder;
  return error_on(fits_of(folder, {{file, learn}}), file, test);
}

/// How often 2 goes into the size of a row.
int power(const Row& row, const char* column) { return std::ilogb(std::stod(row.at(column))); }

TEST(Measured, OneNodeOfH100) {
  CHAKRA_NEEDS_DATA();
  // Half of the nodes, cnode3-002 ... , and every second size; judged on the other nodes and sizes.
  const auto part = [](int which) {
    return [which](const Row& row) {
      const std::string& source = row.at("source");
      const int node = std::stoi(source.substr(source.rfind("cnode3-") + 7, 3));
      return node % 2 == which && power(row, "size_bytes") % 2 == which && row.at("collective") != "sendrecv";
    };
  };
  for (const int learn : {0, 1}) {
    const ErrorOn error = error_on("nccl_tests_h100_single_node.csv.gz", part(learn), part(1 - learn));
    EXPECT_EQ(error.points, 40);
    EXPECT_LT(error.mean, 0.015);
    EXPECT_LT(error.worst, 0.07);
  }
}

TEST(Measured, EightA100From32BytesOn) {
  CHAKRA_NEEDS_DATA();
  const auto part = [](int which) {
    return [which](const Row& row) { return power(row, "size_bytes") >= 5 && power(row, "size_bytes") % 2 == which; };
  };
  for (const int learn : {0, 1}) {
    const ErrorOn error = error_on("nccl_tests_a100_8gpu_superbench.csv", part(learn), part(1 - learn));
    EXPECT_LT(error.mean, 0.03);
    EXPECT_LT(error.worst, 0.20);
  }
}

TEST(Measured, TwoToEightA100) {
  CHAKRA_NEEDS_DATA();
  const auto of = [](const char* element) {
    return [element](const Row& row) { return row.at("nccl_dtype") == element; };
  };
  for (const auto& [learn, test] : {std::pair("half", "int8"), std::pair("int8", "half")}) {
    const ErrorOn error = error_on("aic_nccl_a100_sxm.csv.gz", of(learn), of(test));
    EXPECT_LT(error.mean, 0.035);
    EXPECT_LT(error.most_of_95, 0.12);
    // The same all-to-all of 8 takes 12.6 or 16.3 us: the largest errors are the data's own.
    EXPECT_LT(error.worst, 0.26);
  }
  // Every second size. What is 50 % off and more lies between two sizes among which NCCL changes protocols: half of
  // the sizes do not say where.
  const auto part = [](int which) {
    return [which](const Row& row) {
      return (power(row, "message_size") + (row.at("nccl_dtype") == "half" ? 1 : 0)) % 2 == which;
    };
  };
  EXPECT_LT(error_on("aic_nccl_a100_sxm.csv.gz", part(0), part(1)).mean, 0.05);
  EXPECT_LT(error_on("aic_nccl_a100_sxm.csv.gz", part(1), part(0)).mean, 0.05);
}

TEST(Measured, ManySizesOfH100) {
  CHAKRA_NEEDS_DATA();
  // An eighth of the sizes, which are 8 or 32 KiB apart, scattered.
  const auto part = [](bool kept_out) {
    return [kept_out](const Row& row) {
      return row.at("sku") == "h100_dgx" && row.at("collective") == "all_reduce" &&
             ((std::stoull(row.at("size_as_recorded")) / 2048 * 2654435761U >> 16U) % 8 == 3) == kept_out;
    };
  };
  const ErrorOn error = error_on("vidur_network_h100.csv.gz", part(false), part(true));
  EXPECT_GT(error.points, 200);
  EXPECT_LT(error.mean, 0.04);
  EXPECT_LT(error.most_of_95, 0.24);  // that of a size against the line between its neighbours: 21.7 %
}

TEST(Measured, PairsOfNodes) {
  CHAKRA_NEEDS_DATA();
  const auto part = [](int which) {
    return [which](const Row& row) {
      const std::string& source = row.at("source");
      return std::stoi(source.substr(source.find(".log") - 3, 3)) % 2 == which && row.at("collective") == "alltoall";
    };
  };
  for (const int learn : {0, 1}) {
    const ErrorOn error = error_on("nccl_tests_cluster00_2node_pairwise.csv.gz", part(learn), part(1 - learn));
    // The data's own spread is 25.0 % (each row against the median of its equals), all of it with eight GPUs a node,
    // where half of the pairs are up to 4.6 times as slow as the other half.
    EXPECT_EQ(error.points, 30);
    EXPECT_LT(error.mean, 0.19);
  }
}

TEST(Measured, OneGpuANodePredictsMore) {
  CHAKRA_NEEDS_DATA();
  const TemporaryFolder folder;
  const auto all = [](const Row&) { return true; };
  const auto with = [](bool one) { return [one](const Row& row) { return (row.at("gpus_per_node") == "1") == one; }; };
  const std::string pairs = "nccl_tests_h100_2node_pairwise.csv.gz", node = "nccl_tests_h100_single_node.csv.gz";
  const auto one = fits_of(folder, {{node, all}, {pairs, with(true)}});
  const ErrorOn all_to_all = error_on(one, pairs, with(false));
  EXPECT_EQ(all_to_all.points, 9);
  EXPECT_LT(all_to_all.mean, 0.21);
  // All that was measured, messages among it, as the program says it.
  NetworkOptions options;
  options.files = {data_folder() + "/measured/" + node, data_folder() + "/measured/" + pairs};
  options.npus = {8, 10};
  const auto fitted = fit_network(options);
  ASSERT_TRUE(fitted) << fitted.error().message();
  printf("scale: %.2f %% over %lld points, worst %.1f %%\n", 100 * fitted->scale.mean,
         static_cast<long long>(fitted->scale.points), 100 * fitted->scale.worst);
  EXPECT_EQ(fitted->scale.points, 18);
  EXPECT_LT(fitted->scale.mean, 0.12);
}

TEST(Measured, TenNodesAreNotFasterThanTheirRails) {
  CHAKRA_NEEDS_DATA();
  const TemporaryFolder folder;
  const auto all = [](const Row&) { return true; };
  const auto fits =
      fits_of(folder, {{"nccl_tests_h100_single_node.csv.gz", all}, {"nccl_tests_h100_2node_pairwise.csv.gz", all}});
  const double rail = 50;  // GB/s: the data sheet's 400 Gb/s of a network card
  for (const char* operation : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"})
    for (const int64_t per_node : {1, 2, 4, 8}) {
      double last = 0;
      for (const int64_t nodes : {2, 3, 4, 10, 32})
        for (const uint64_t bytes : {uint64_t{1} << 25, uint64_t{1} << 34}) {
          const auto time = net::fitted_time(fits, operation, {0, per_node, nodes, true}, bytes);
          ASSERT_TRUE(time) << operation << " " << per_node << " x " << nodes;
          const net::Members m{static_cast<double>(per_node), static_cast<double>(nodes)};
          EXPECT_GE(time->ns, time->fit->form->rail(m) * static_cast<double>(bytes) / rail);
          if (bytes < 1U << 30) continue;
          EXPECT_GE(time->ns * 1.02, last) << operation << " " << per_node << " x " << nodes;
          last = time->ns;
        }
    }
}

}  // namespace
}  // namespace chakra::calibrate
