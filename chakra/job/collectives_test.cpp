// MSCCL files as rules: a collective takes the time of the same algorithm imported as messages, and a ring that of
// ours.
#include "chakra/job/collectives.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "chakra/base/testing/testing.h"
#include "chakra/foreign/foreign.h"
#include "chakra/sim/sim.h"

namespace chakra::job {
namespace {

using chakra::testing::tag_of;
using chakra::testing::TemporaryFolder;
using sim::Congestion;
using trace::CommType;

/// One collective of all ranks.
trace::TraceSet one_collective(CommType type, uint64_t bytes, int64_t ranks) {
  trace::TraceSet set;
  for (int64_t r = 0; r < ranks; ++r) {
    trace::Builder b;
    b.trace.rank = r;
    trace::Comm& comm = b.comm(b.add(0, b.trace.strings.intern("collective"), trace::NodeType::coll));
    comm.type = type;
    comm.bytes = bytes;
    comm.root = trace::has_root(type) ? 0 : -1;
    set.ranks.push_back(std::move(b).finish());
  }
  return set;
}

Result<sim::SimReport> run(trace::TraceSet job, const net::Fabric& fabric, const coll::Selection& rules,
                           Congestion congestion) {
  sim::SimInput in;
  in.job = std::move(job);
  in.fabric = fabric;
  in.collectives = rules;
  in.congestion = congestion;
  return sim::simulate(std::move(in));
}

/// A ring of n members that gathers, in each of `channels` a part of each block.
std::string ring_all_gather(int n, int channels) {
  std::string text = fmt::format(
      "<algo name=\"ring\" proto=\"Simple\" nchunksperloop=\"{}\" ngpus=\"{}\" coll=\"allgather\" inplace=\"1\">\n",
      n * channels, n);
  for (int g = 0; g < n; ++g) {
    text += fmt::format("<gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"0\">\n", g, channels, n * channels);
    for (int c = 0; c < channels; ++c) {
      text += fmt::format("<tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", c, (g + 1) % n, (g + n - 1) % n, c);
      for (int s = 0; s < n; ++s)
        text += fmt::format(
            "<step s=\"{}\" type=\"{}\" srcbuf=\"o\" srcoff=\"{}\" dstbuf=\"o\" dstoff=\"{}\" cnt=\"1\" depid=\"-1\" "
            "deps=\"-1\" hasdep=\"0\"/>\n",
            s,
            s == 0      ? "s"
            : s < n - 1 ? "rcs"
                        : "r",
            (g + n - s) % n * channels + c, (g + n - s) % n * channels + c);
      text += "</tb>\n";
    }
    text += "</gpu>\n";
  }
  return text + "</algo>\n";
}

struct Network {
  const char* name;
  const char* text;
};
constexpr Network kNetworks[] = {
    {"switch", "topology: [Switch]\nnpus_count: [8]\nbandwidth: [100]\nlatency: [1000]\n"},
    {"pairs", "topology: [FullyConnected]\nnpus_count: [8]\nbandwidth: [25]\nlatency: [700]\n"},
    {"ring", "topology: [Ring]\nnpus_count: [8]\nbandwidth: [50]\nlatency: [500]\n"},
    {"nodes", "topology: [Switch, Switch]\nnpus_count: [4, 2]\nbandwidth: [100, 25]\nlatency: [500, 2000]\n"},
};

class Programs : public ::testing::Test {
 protected:
  net::Fabric fabric(const Network& network) {
    auto fabric = net::load_fabric(folder_.write(std::string(network.name) + ".yml", network.text));
    EXPECT_TRUE(fabric) << fabric.error().message();
    return std::move(*fabric);
  }
  /// The simulated time of an operation under rules.
  Picoseconds time(const Network& network, CommType type, uint64_t bytes, const std::string& rules,
                   Congestion congestion) {
    const auto selection = read_collectives(rules);
    EXPECT_TRUE(selection) << selection.error().message();
    const auto report = run(one_collective(type, bytes, 8), fabric(network), *selection, congestion);
    EXPECT_TRUE(report) << report.error().message();
    return report ? report->makespan_ps : 0;
  }
  TemporaryFolder folder_;
};

TEST_F(Programs, RingEqualsOurs) {
  const std::string ring = folder_.write("ring.xml", ring_all_gather(8, 1));
  for (const Network& network : kNetworks)
    for (const uint64_t bytes : {uint64_t{1}, uint64_t{1} << 16, uint64_t{1} << 27})
      for (const Congestion congestion : {Congestion::closed, Congestion::fluid}) {
        const Picoseconds ours = time(network, CommType::all_gather, bytes, "allgather: ring", congestion);
        const Picoseconds theirs = time(network, CommType::all_gather, bytes, "allgather: " + ring, congestion);
        EXPECT_NEAR(static_cast<double>(theirs), static_cast<double>(ours), 1e-6 * static_cast<double>(ours) + 10)
            << network.name << " " << bytes;
      }
}

/// All real algorithms, and what the file says of its sizes.
TEST_F(Programs, RealOnesEqualTheirMessages) {
  CHAKRA_NEEDS_DATA();
  chakra::testing::unpack(chakra::testing::data_folder() + "/msccl/msccl_scheduler_ndv4.tar.gz", folder_.path("ndv4"));
  int files = 0, apart = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path("ndv4"))) {
    if (entry.path().extension() != ".xml") continue;
    const std::string path = entry.path().string();
    auto source = ByteSource::open(path);
    ASSERT_TRUE(source);
    const auto program = foreign::read_program(std::move(*source), path);
    ASSERT_TRUE(program) << program.error().message();
    ++files;
    const coll::Program& p = **program;
    const uint64_t per = p.type == CommType::all_gather ? 8 : 1;
    const uint64_t bytes = std::max<uint64_t>(p.from, 1) / p.parts * p.parts + p.parts;
    Findings findings;
    const auto messages =
        foreign::read("msccl", path, {.dims = {}, .time_unit = {}, .coll_bytes = bytes * per}, findings);
    ASSERT_TRUE(messages);
    for (const Network& network : kNetworks) {
      const auto sent = run(*messages, fabric(network), {}, Congestion::fluid);
      ASSERT_TRUE(sent) << sent.error().message();
      const auto fluid = static_cast<double>(time(network, p.type, bytes, path, Congestion::fluid));
      const auto closed = static_cast<double>(time(network, p.type, bytes, path, Congestion::closed));
      EXPECT_NEAR(fluid, static_cast<double>(sent->makespan_ps), 1e-6 * fluid) << path << " " << network.name;
      apart += std::abs(closed - fluid) > 0.005 * fluid;
      EXPECT_NEAR(closed, fluid, 0.15 * fluid) << path << " " << network.name;
    }
  }
  EXPECT_EQ(files, 14);
  EXPECT_LE(apart, 3);  // of 56; docs/reference/collectives.md
}

TEST_F(Programs, AreForTheirOperationSizesAndMembers) {
  const std::string ring = folder_.write("ring.xml", ring_all_gather(8, 2));
  EXPECT_EQ(tag_of(read_collectives("allreduce: " + ring)), "coll.selection.algorithm");
  EXPECT_EQ(tag_of(read_collectives("allgather: " + folder_.path("missing.xml"))), "base.file.open");
  EXPECT_EQ(tag_of(read_collectives("allgather: " + folder_.write("wrong.xml", "<algo/>"))),
            "foreign.msccl.collective");
  // In a file of rules, paths are relative to it; a file alone is the rule of its operation.
  const auto in_file = read_collectives(folder_.write("rules.txt", "allgather: 0-1MiB ring.xml, bruck\n"));
  ASSERT_TRUE(in_file) << in_file.error().message();
  EXPECT_EQ(in_file->describe(), "all_gather: 0-1MiB ring.xml, bruck\n");
  const auto alone = read_collectives(ring);
  ASSERT_TRUE(alone) << alone.error().message();
  ASSERT_EQ(alone->rules.size(), 1u);
  EXPECT_TRUE(alone->rules[0].alone);

  net::Fabric fabric = this->fabric(kNetworks[0]);
  fabric.dimensions[0].ranks = 4;
  const auto forced = read_collectives("allgather: " + ring);
  ASSERT_TRUE(forced);
  EXPECT_EQ(tag_of(run(one_collective(CommType::all_gather, 1024, 4), fabric, *forced, Congestion::closed)),
            "sim.collectives.cannot");
  EXPECT_TRUE(run(one_collective(CommType::all_gather, 1024, 4), fabric, *alone, Congestion::closed));

  std::string limited = ring_all_gather(8, 2);
  limited.replace(limited.find("coll="), 0, "minBytes=\"8192\" maxBytes=\"16383\" ");
  const auto rule = read_collectives("allgather: " + folder_.write("limited.xml", limited));
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->rules[0].from, 1024u);  // of one member
  EXPECT_EQ(rule->rules[0].to, 2048u);
  EXPECT_EQ(tag_of(read_collectives("allgather: 1MiB- " + folder_.path("limited.xml"))), "coll.selection.size");
}

}  // namespace
}  // namespace chakra::job
