#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/calibrate/calibrate.h"

namespace chakra::calibrate {
namespace {

using chakra::testing::TemporaryFolder;

Result<std::vector<CollectiveSample>> read(const std::string& file, NetworkOptions options = {}) {
  Findings findings;
  options.files = {file};
  return read_collectives(options, findings);
}

TEST(ReadCollectives, TakesTheMedianOfEqualRows) {
  const TemporaryFolder folder;
  const std::string table = folder.write("t.csv",
                                         "collective,ranks,size_bytes,time_us,node\n"
                                         "AllGather,4,1024,10,a\nall_gather,4,1024,30,a\nallgather,4,1024,11,b\n"
                                         "scatter,4,1024,5,a\n");
  const auto all = read(table);
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(*all, (std::vector<CollectiveSample>{{"all_gather", 4, 1024, 11000}}));
  NetworkOptions of_a;
  of_a.where = {"node=a"};
  EXPECT_EQ(*read(table, of_a), (std::vector<CollectiveSample>{{"all_gather", 4, 1024, 20000}}));
  const std::string other = folder.write("u.csv", "collective,ranks,size_bytes,time_us,rack\nall_gather,4,2048,7,a\n");
  of_a.files = {table, other};  // a table without the column counts whole
  Findings findings;
  EXPECT_EQ(read_collectives(of_a, findings)->size(), 2u);
  of_a.where = {"rack=a"};
  EXPECT_EQ(read(table, of_a).error().tag, "calibrate.network.where");
}

TEST(ReadCollectives, CountsElementsAsBytes) {
  const TemporaryFolder folder;
  const auto samples = read(folder.write("t.csv",
                                         "op_name,num_gpus,nccl_dtype,message_size,latency\n"
                                         "all_reduce,8,half,512,0.02\nall_reduce,8,int8,512,0.01\n"));
  ASSERT_TRUE(samples) << samples.error().message();
  EXPECT_EQ(*samples, (std::vector<CollectiveSample>{{"all_reduce", 8, 512, 1e4}, {"all_reduce", 8, 1024, 2e4}}));
  const auto custom = read(folder.write("c.csv",
                                        "op_name,num_gpus,allreduce_dtype,message_size,latency\n"
                                        "all_reduce,8,bfloat16,512,0.005\n"));
  ASSERT_TRUE(custom) << custom.error().message();
  EXPECT_EQ(*custom, (std::vector<CollectiveSample>{{"all_reduce", 8, 1024, 5e3}}));
}

const char* const kLog =
    "# nThread 1 nGpus 2 minBytes 8\n# Using devices\n"
    "#   Rank  0 Pid 1 on hostA device  0 [0x00] A100\n#   Rank  1 Pid 1 on hostA device  1 [0x00] A100\n"
    "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
    "           0             0   float     sum    35.20    0.00    0.00    N/A    34.05    0.00    0.00    N/A\n"
    "        1024           256   float     sum    36.07    0.03    0.05    N/A    35.77    0.03    0.05    N/A\n"
    "# Out of bounds values : 0 OK\n";

TEST(ReadCollectives, ReadsLogs) {
  const TemporaryFolder folder;
  const std::vector<CollectiveSample> expected{{"all_reduce", 2, 1024, 36070}};
  EXPECT_EQ(*read(folder.write("nccl_allreduce.log", kLog)), expected);
  const std::string nameless = folder.write("run.log", kLog);
  EXPECT_EQ(read(nameless).error().tag, "calibrate.network.operation");
  NetworkOptions options;
  options.operation = "all_reduce";
  EXPECT_EQ(*read(nameless, options), expected);
  EXPECT_EQ(*read(folder.write("x.log", std::string("# Collective test starting: all_reduce_perf\n") + kLog)),
            expected);
}

/// A run of nccl-tests: its header and a row, of which `cells` are left.
std::string run_of(const std::string& test, int ranks, const std::string& time, size_t cells = 13,
                   const std::string& wrong = "0") {
  std::string text = "# Collective test starting: " + test + "\n# nThread 1 nGpus 2\n# Using devices\n";
  for (int r = 0; r < ranks; ++r) text += "#  Rank  " + std::to_string(r) + " Group  0 Pid 1 on host device 0 H100\n";
  text += "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
  const std::vector<std::string> row{"1024", "256", "float", "sum", "-1", time, "1", "1", wrong, time, "1", "1.0", "0"};
  for (size_t i = 0; i < cells; ++i) text += " " + row[i];
  return text + "\n";
}
/// Texts of calibrate.network.skipped.
std::string skipped(const std::string& file, std::vector<CollectiveSample> expected) {
  Findings findings;
  NetworkOptions options;
  options.files = {file};
  const auto samples = read_collectives(options, findings);
  if (!samples) return samples.error().message();
  EXPECT_EQ(*samples, expected);
  std::string texts;
  for (const Finding& finding : findings)
    if (finding.tag == "calibrate.network.skipped") texts += finding.text + ";";
  return texts;
}

TEST(ReadCollectives, EachRunOfALogHasItsOwnRanks) {
  const TemporaryFolder folder;
  const std::string reduce = run_of("all_reduce_perf", 4, "20"), gather = run_of("all_gather_perf", 2, "10");
  EXPECT_EQ(skipped(folder.write("a.log", reduce + reduce), {{"all_reduce", 4, 1024, 2e4}}), "");
  EXPECT_EQ(
      skipped(folder.write("b.log", reduce + gather), {{"all_gather", 2, 1024, 1e4}, {"all_reduce", 4, 1024, 2e4}}),
      "");
  // The first run ended before its rows; the second names what it measures only in the file's name.
  const std::string failed = reduce.substr(0, reduce.find("# size"));
  EXPECT_EQ(skipped(folder.write("c.log", failed + gather), {{"all_gather", 2, 1024, 1e4}}), "");
  EXPECT_EQ(skipped(folder.write("all_reduce.log", gather + kLog),
                    {{"all_gather", 2, 1024, 1e4}, {"all_reduce", 2, 1024, 36070}}),
            "left out 1 rows: no bytes;");
  EXPECT_EQ(
      skipped(folder.write("all_reduce.log", gather + run_of("gather_perf", 2, "10")), {{"all_gather", 2, 1024, 1e4}}),
      "left out 1 rows: unsupported operation 'gather_perf';");
  const std::string two = gather + "# nThread 1\n" + gather.substr(gather.rfind("\n", gather.size() - 2) + 1);
  EXPECT_EQ(skipped(folder.write("all_gather.log", two), {{"all_gather", 2, 1024, 1e4}}),
            "left out 1 rows: the log has no lines '# Rank';");
}

TEST(ReadCollectives, LeavesOutRowsThatAreWrongOrCut) {
  const TemporaryFolder folder;
  const std::string good = run_of("all_reduce_perf", 4, "20");
  const std::vector<CollectiveSample> expected{{"all_reduce", 4, 1024, 2e4}};
  const std::string row = " 2048 512 float sum 3 40 1 1 0 40 1 1 0", wrong = " 2048 512 float sum 3 40 1 1 7 40 1 1 0";
  EXPECT_EQ(skipped(folder.write("a.log", good + wrong + "\n"), expected), "left out 1 rows: '#wrong' is above 0;");
  for (const size_t left : {row.size() - 2, size_t{20}, size_t{7}, size_t{3}})
    EXPECT_EQ(skipped(folder.write("b.log", good + row.substr(0, left)), expected),
              "left out 1 rows: the log is truncated in the row;")
        << left;
  std::string errors = good + wrong + "\n";  // of older versions: the largest difference, which is never 0
  for (size_t at; (at = errors.find("#wrong")) != std::string::npos;) errors.replace(at, 6, "error");
  EXPECT_EQ(skipped(folder.write("c.log", errors), {{"all_reduce", 4, 1024, 2e4}, {"all_reduce", 4, 2048, 4e4}}), "");
}

TEST(ReadCollectives, TakesNodesOfBothForms) {
  const TemporaryFolder folder;
  for (const std::string time : {"time_us", "oop_time_us"}) {
    const std::string head =
        "\xef\xbb\xbf"
        "collective,ranks,size_bytes," +
        time + ",nodes\n";
    const auto samples = read(folder.write("t.csv", head + "allreduce,8,1024,10,2\n"));
    ASSERT_TRUE(samples) << samples.error().message();
    EXPECT_EQ(*samples, (std::vector<CollectiveSample>{{"all_reduce", 8, 1024, 1e4, 2}}));
    for (const std::string nodes : {"0", "3", ""}) {
      const auto bad = read(folder.write("t.csv", head + "allreduce,8,1024,10,2\nallreduce,8,2048,10," + nodes + "\n"));
      ASSERT_FALSE(bad) << nodes;
      EXPECT_EQ(bad.error().tag, "calibrate.network.row");
      EXPECT_EQ(bad.error().place.line, 3);
    }
  }
}

TEST(ReadCollectives, RefusesWhatItCannotRead) {
  const TemporaryFolder folder;
  const auto tag = [&](const char* text) { return read(folder.write("t.csv", text)).error().tag; };
  EXPECT_EQ(tag("a,b\n1,2\n"), "calibrate.network.columns");
  EXPECT_EQ(tag(""), "calibrate.network.columns");
  EXPECT_EQ(tag("collective,ranks,size_bytes,time_us\nallreduce,8,1024\n"), "calibrate.network.row");
  EXPECT_EQ(tag("collective,ranks,size_bytes,time_us\nallreduce,8,1024,-1\n"), "calibrate.network.row");
  EXPECT_EQ(tag("collective,ranks,size_bytes,time_us\nallreduce,8,x,1\n"), "calibrate.network.row");
  EXPECT_EQ(tag("collective,ranks,size_bytes,time_us,time_us\nallreduce,8,1024,1,2\n"), "calibrate.network.columns");
  // That nothing is left says why.
  NetworkOptions options;
  options.files = {folder.write("t.csv", "collective,ranks,size_bytes,time_us\nallreduce,1,1024,1\n")};
  const auto none = fit_network(options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().tag, "calibrate.network.few");
  EXPECT_TRUE(none.error().text.ends_with("t.csv; left out 1 rows: one rank alone")) << none.error().text;
}

}  // namespace
}  // namespace chakra::calibrate
