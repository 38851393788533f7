// Programs and profiles: counts against JAX's own, the four forms of groups, damage.
#include "chakra/xla/xla.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "chakra/base/testing/testing.h"
#include "chakra/xla/profile.h"
#include "chakra/xla/program.h"
#include "chakra/xla/testing/messages.h"
#include "chakra/xla/work.h"

namespace chakra::xla {
namespace {

using namespace testing;

Result<ImportedProgram> import_bytes(const std::string& bytes, Findings& findings) {
  CHAKRA_ASSIGN(ByteSource source, ByteSource::from_memory(bytes));
  return import_program(std::move(source), findings);
}
Result<LinkedProfile> link_bytes(const std::string& bytes) {
  CHAKRA_ASSIGN(ByteSource source, ByteSource::from_memory(bytes));
  return link_profile(std::move(source));
}
std::string tag_of(const auto& result) { return result ? "" : result.error().tag; }
Program parsed(const std::string& bytes) {
  auto program = parse_program(std::make_shared<const std::string>(bytes), "test");
  EXPECT_TRUE(program) << (program ? "" : program.error().message());
  return program ? std::move(*program) : Program();
}

/// A file of a recording with jax 0.10.2, unpacked.
std::string recorded(const std::string& file) {
  const auto bytes = read_file(chakra::testing::data_folder() + "/recorded/jax_fsdp/" + file);
  EXPECT_TRUE(bytes) << (bytes ? "" : bytes.error().message());
  return bytes ? *bytes : "";
}

TEST(Work, FollowsTheFormulas) {
  std::string conv_dims = number(7, 0) + number(8, 1) + number(3, 1) + number(4, 0) + number(9, 0) + number(10, 1) +
                          list(11, {2}) + list(6, {2}) + list(12, {2});
  const std::string window = field(15, field(1, number(1, 3) + number(2, 1) + number(3, 1) + number(4, 1)));
  const Program p = parsed(program(
      {computation(1, {{"parameter", 1, {}, {}}, {"parameter", 2, {}, {}, {}, number(9, 1)}, {"add", 3, {}, {1, 2}}}),
       computation(2, {{"parameter", 10, {4, 5}, {}},
                       {"parameter", 11, {5, 6}, {}, {}, number(9, 1)},
                       {"dot", 12, {4, 6}, {10, 11}, {}, field(30, list(1, {1}) + list(2, {0}))},
                       {"tanh", 13, {4, 6}, {12}},
                       {"reduce", 14, {4}, {13, 13}, {1}},
                       {"parameter", 15, {2, 3, 8}, {}, {}, number(9, 2)},
                       {"parameter", 16, {7, 3, 3}, {}, {}, number(9, 3)},
                       {"convolution", 17, {2, 7, 8}, {15, 16}, {}, window + field(16, conv_dims)},
                       {"sort", 18, {10}, {14}},
                       {"fft", 19, {8}, {14}, {}, list(32, {8})}})},
      2));
  const ProgramWork work(p);
  const auto flops = [&](uint32_t row) { return work.of(1, row).flops; };
  EXPECT_EQ(flops(2), 2U * 4 * 6 * 5);
  EXPECT_EQ(flops(3), 0U);  // transcendental
  EXPECT_EQ(flops(4), 4U * 6 - 4);
  EXPECT_EQ(flops(7), 2U * 2 * 3 * 7 * (8 * 3 - 2));  // two places of the window are padding
  EXPECT_EQ(work.of(1, 2).bytes, 4U * (4 * 5 + 5 * 6 + 4 * 6));
  EXPECT_EQ(work.of(1, 2).type, trace::DType::f32);
}

/// The groups of an all-reduce with these fields, of eight partitions.
std::vector<std::vector<int64_t>> groups(const std::string& fields) {
  const Program p =
      parsed(program({computation(1, {{"parameter", 1, {4}, {}},
                                      {"all-reduce", 2, {4}, {1}, {}, number(26, 1) + number(71, 1) + fields}})},
                     1, 8));
  const auto found = groups_of(p, p.computations[0].instructions[1]);
  EXPECT_TRUE(found) << (found ? "" : found.error().message());
  return found ? *found : std::vector<std::vector<int64_t>>();
}
using Lists = std::vector<std::vector<int64_t>>;

TEST(Groups, HaveFourForms) {
  const Lists pairs{{0, 4}, {1, 5}, {2, 6}, {3, 7}}, halves{{0, 1, 2, 3}, {4, 5, 6, 7}};
  std::string old, listed;
  for (const auto& group : pairs) old += field(49, list(1, group)), listed += field(1, list(1, group));
  EXPECT_EQ(groups(old), pairs);
  EXPECT_EQ(groups(field(87, listed)), pairs);
  const auto iota = [](const Numbers& dims, const Numbers& order, int64_t count, int64_t size) {
    return number(1, count) + number(2, size) + list(3, dims) + (order.empty() ? "" : list(4, order));
  };
  EXPECT_EQ(groups(field(92, iota({8}, {}, 2, 4))), halves);
  EXPECT_EQ(groups(field(92, iota({2, 4}, {1, 0}, 4, 2))), pairs);
  EXPECT_EQ(groups(field(87, field(2, iota({2, 4}, {1, 0}, 4, 2)))), pairs);
  const auto axis = [](std::string_view name, int64_t size) { return field(1, text(1, name) + number(2, size)); };
  const std::string mesh = axis("dp", 2) + axis("ep", 4);
  EXPECT_EQ(groups(field(93, field(1, mesh) + field(2, number(1, 1)))), halves);
  EXPECT_EQ(groups(field(93, field(1, mesh) + field(2, ""))), pairs);
  EXPECT_EQ(groups(field(93, field(1, mesh) + field(2, "") + field(2, number(1, 1)))),
            (Lists{{0, 1, 2, 3, 4, 5, 6, 7}}));
  // The minor half of axis ep: (2)2, members differ by one.
  EXPECT_EQ(groups(field(93, field(1, mesh) + field(2, number(1, 1) + field(2, number(1, 2) + number(2, 2))))),
            (Lists{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  // The major half: (1)2, members differ by two.
  EXPECT_EQ(groups(field(93, field(1, mesh) + field(2, number(1, 1) + field(2, number(1, 1) + number(2, 2))))),
            (Lists{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  // The devices of the mesh as an array of 2 x 4, turned: 0, 4, 1, 5, 2, 6, 3, 7.
  const std::string turned = axis("a", 4) + axis("c", 2) + field(3, list(1, {2, 4}) + list(2, {1, 0}));
  EXPECT_EQ(groups(field(93, field(1, turned) + field(2, ""))), halves);
  EXPECT_EQ(groups(field(93, field(1, mesh + list(2, {7, 6, 5, 4, 3, 2, 1, 0})) + field(2, number(1, 1)))),
            (Lists{{7, 6, 5, 4}, {3, 2, 1, 0}}));
}

TEST(Groups, ThatAreWrongAreRefused) {
  const auto tag = [](const std::string& fields) {
    Findings findings;
    return tag_of(import_bytes(
        program({computation(1, {{"parameter", 1, {4}, {}},
                                 {"all-reduce", 2, {4}, {1}, {}, number(26, 1) + number(71, 1) + fields}})},
                1, 8),
        findings));
  };
  EXPECT_EQ(tag(field(49, list(1, {0, 8}))), "xla.groups");
  EXPECT_EQ(tag(field(49, list(1, {0, 0}))), "xla.groups");
  EXPECT_EQ(tag(field(92, number(1, 3) + number(2, 4) + list(3, {8}))), "xla.groups");
  EXPECT_EQ(tag(field(92, number(1, INT64_MAX) + number(2, INT64_MAX) + list(3, {INT64_MAX, 2}))), "xla.groups");
  EXPECT_EQ(tag(field(93, field(2, number(1, 5)))), "xla.groups");
  EXPECT_EQ(tag(field(93, field(1, field(1, number(2, -4))))), "xla.groups");
}

/// A loop of `trips` around a dot and, if wanted, an all-reduce.
std::string looped(const std::string& trips, bool communicates) {
  std::vector<Op> body{{"parameter", 1, {4, 4}, {}}, {"dot", 2, {4, 4}, {1, 1}, {}, field(30, list(1, {1}))}};
  if (communicates) body.push_back({"all-reduce", 3, {4, 4}, {2}, {}, number(26, 1) + number(71, 1)});
  return program(
      {computation(1, body), computation(2, {{"parameter", 4, {4, 4}, {}}, {"compare", 5, {}, {4, 4}}}),
       computation(3, {{"parameter", 6, {4, 4}, {}},
                       {"while",
                        7,
                        {4, 4},
                        {6},
                        {1, 2},
                        trips.empty() ? "" : text(43, "{\"known_trip_count\":{\"n\":\"" + trips + "\"}}")}})},
      3, 8);
}

TEST(Loops, RunAsOftenAsTheyState) {
  Findings findings;
  auto job = import_bytes(looped("5", true), findings);
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->report.collectives[0].executions, 5U * 8);
  EXPECT_EQ(job->report.flops, 5U * (2 * 64 + 16));
  EXPECT_EQ(job->report.flops_once, 2U * 64 + 16 + 1);  // with the condition
  EXPECT_EQ(job->job.classes.size(), 1U);
  EXPECT_EQ(job->job.ranks.size(), 8U);
  EXPECT_EQ(job->job.classes[0].size(), 10U);

  job = import_bytes(looped("", true), findings);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->report.collectives[0].executions, 8U);
  EXPECT_TRUE(
      std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.tag == "xla.loop.trips"; }));

  job = import_bytes(looped("1000000000000", false), findings);  // folded
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->report.flops, 1000000000000U * 128);
  EXPECT_EQ(job->job.classes[0].size(), 1U);
  EXPECT_EQ(tag_of(import_bytes(looped("1000000000000", true), findings)), "xla.program.large");

  // A profile can have one event for a loop, which stands for all iterations.
  const Program p = parsed(looped("5", false));
  const ProgramWork work(p);
  for (uint32_t row = 0; row < p.computations[p.entry].instructions.size(); ++row)
    if (p.computations[p.entry].instructions[row].kind() == Kind::loop)
      EXPECT_EQ(work.whole(p.entry, row).flops, 5U * 128);
}

TEST(Permutes, AreMessagesOfTheirPairs) {
  Findings findings;
  std::string pairs;
  for (int64_t d = 0; d < 3; ++d) pairs += field(52, number(1, d) + number(2, d + 1));
  const auto job = import_bytes(
      program(
          {computation(1, {{"parameter", 1, {4}, {}}, {"collective-permute", 2, {4}, {1}, {}, number(26, 1) + pairs}})},
          1, 4),
      findings);
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->job.classes.size(), 3U);  // the first sends, the last receives
  const trace::TraceSet ranks = trace::expand(job->job);
  ASSERT_EQ(ranks.ranks[1].size(), 3U);
  const trace::Comm* const received = ranks.ranks[1].comm(trace::NodeId(1));
  const trace::Comm* const sent = ranks.ranks[1].comm(trace::NodeId(2));
  ASSERT_TRUE(received && sent);
  EXPECT_EQ(received->src, 0);
  EXPECT_EQ(received->dst, 1);
  EXPECT_EQ(sent->src, 1);
  EXPECT_EQ(sent->dst, 2);
  EXPECT_EQ(sent->bytes, 16U);
}

TEST(Programs, OfNoOrderAreRefused) {
  Findings findings;
  const auto tag = [&](const std::string& bytes) { return tag_of(import_bytes(bytes, findings)); };
  EXPECT_EQ(tag(program({computation(1, {{"add", 1, {4}, {2}}, {"parameter", 2, {4}, {}}})}, 1)),
            "xla.program.reference");
  EXPECT_EQ(tag(program({computation(1, {{"call", 1, {4}, {}, {1}}})}, 1)), "xla.program.reference");
  EXPECT_EQ(tag(program({computation(1, {{"parameter", 1, {4}, {}}})}, 9)), "xla.program.reference");
  EXPECT_EQ(tag(program({computation(1, {{"parameter", 1, {-4}, {}}})}, 1)), "xla.program.shape");
  EXPECT_EQ(tag(program({computation(1, {{"parameter", 1, {1 << 30, 1 << 30, 2}, {}}})}, 1)), "xla.program.shape");
  EXPECT_EQ(tag(program({computation(1, {{"parameter", 1, {4}, {}}, {"all-reduce", 2, {4}, {1}}})}, 1)),
            "xla.devices.unknown");
  std::string deep;
  for (int level = 0; level < 200; ++level) deep = field(4, deep);
  EXPECT_EQ(tag(program({computation(1, {{"parameter", 1, {4}, {}, {}, field(3, deep)}})}, 1)), "xla.program.deep");
  std::vector<std::string> doubled{computation(1, {{"parameter", 1, {4}, {}}, {"add", 2, {4}, {1, 1}}})};
  for (int64_t c = 2; c < 60; ++c)
    doubled.push_back(
        computation(c, {{"parameter", 1, {4}, {}}, {"call", 2, {4}, {1}, {c - 1}}, {"call", 3, {4}, {2}, {c - 1}}}));
  EXPECT_EQ(tag(program(doubled, 59)), "xla.program.large");
  std::vector<Op> tuples{{"parameter", 1, {4}, {}}};
  for (int64_t t = 2; t < 300; ++t) tuples.push_back({"tuple", t, {}, {t - 1, t - 1}});
  EXPECT_EQ(tag(program({computation(1, tuples)}, 1)), "");
}

TEST(Recording, HasAnEventPerNode) {
  CHAKRA_NEEDS_DATA();
  const std::string program_bytes = recorded("module.hlo.pb.gz"), profile = recorded("host.xplane.pb.gz");
  Findings findings;
  const auto imported = import_bytes(program_bytes, findings);
  ASSERT_TRUE(imported) << imported.error().message();
  EXPECT_NEAR(static_cast<double>(imported->report.flops_once), 83632648, 100);  // truth.json, in single precision
  EXPECT_NEAR(static_cast<double>(imported->report.bytes_once), 24046718, 24046718 * 0.01);
  EXPECT_EQ(imported->job.classes.size(), 1U);

  const auto linked = link_bytes(profile);
  ASSERT_TRUE(linked) << linked.error().message();
  ASSERT_EQ(linked->devices.size(), 8U);
  ASSERT_EQ(linked->programs.size(), 1U);
  const ProgramReport& report = linked->programs[0];
  EXPECT_EQ(report.events, 7776);
  EXPECT_EQ(report.runs, 3);
  EXPECT_EQ(report.flops, imported->report.flops);
  ASSERT_EQ(report.collectives.size(), 2U);
  EXPECT_EQ(report.collectives[0].executions, 8U * 72);  // all-gather: 8 x 3 iterations x 8 devices x 3 runs
  EXPECT_EQ(report.collectives[1].executions, 72U);
  int64_t marks = 0;
  for (const LinkedDevice& device : linked->devices) {
    const trace::Trace& t = device.trace;
    EXPECT_EQ(trace::topological_order(t.deps).cycle.size(), 0U);
    const StringId opcode = t.strings.find("hlo_opcode");
    int64_t nodes = 0;
    for (const trace::NodeId n : t.nodes()) {
      for (const trace::Attr& attr : t.attrs_of(n)) nodes += attr.name == opcode;
      marks += t.part_of[n] != trace::kNoNode;
      for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e) {
        // No node starts before the nodes that it waits for have ended.
        EXPECT_LE(t.start_ps[t.deps.node[e]] + t.dur_ps[t.deps.node[e]], t.start_ps[n]) << t.name_of(n);
      }
    }
    EXPECT_EQ(nodes, device.events);
  }
  EXPECT_EQ(marks, 8 * 3 * 2 * 3);  // two loops of three iterations: a mark after each
}

/// Per node: name, start since the first instruction, duration, waits and communication.
std::vector<std::string> nodes_of(const LinkedProfile& linked) {
  std::vector<std::string> nodes;
  for (const LinkedDevice& device : linked.devices) {
    const trace::Trace& t = device.trace;
    const Picoseconds base = t.start_ps[trace::NodeId(1)];
    for (const trace::NodeId n : t.nodes()) {
      if (n == trace::NodeId(0)) continue;  // the time before, from the start of the profile or of its first thread
      std::string node = fmt::format("{} {} {} {} {}", t.rank, static_cast<uint32_t>(n), t.name_of(n),
                                     t.start_ps[n] - base, t.dur_ps[n]);
      for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e)
        node += fmt::format(" {}/{}", static_cast<uint32_t>(t.deps.node[e]), t.deps.kind[e]);
      if (const trace::Comm* const comm = t.comm(n)) node += fmt::format(" {} {}", comm->bytes, t.strings[comm->group]);
      nodes.push_back(std::move(node));
    }
  }
  return nodes;
}
/// How many nodes differ; all, if the numbers of nodes differ.
size_t differences(const LinkedProfile& one, const LinkedProfile& other) {
  const std::vector<std::string> a = nodes_of(one), b = nodes_of(other);
  if (a.size() != b.size()) return a.size();
  size_t count = 0;
  for (size_t n = 0; n < a.size(); ++n) count += a[n] != b[n];
  return count;
}

TEST(Browser, HasTheNodesOfTheProfile) {
  CHAKRA_NEEDS_DATA();
  const std::string folder = chakra::testing::data_folder() + "/recorded/jax_fsdp/";
  const std::string browser = folder + "host.trace.json.gz", profile = folder + "host.xplane.pb.gz";
  const auto whole = link_profiles({profile});
  ASSERT_TRUE(whole) << whole.error().message();
  for (const char* const dump : {"module.hlo.pb.gz", "module.txt.gz"}) {
    const auto linked = link_profiles({browser, folder + dump});
    ASSERT_TRUE(linked) << linked.error().message();
    // The form does not state 14 ends on other threads; each changes its node and at most one that waits for it.
    EXPECT_LE(differences(*linked, *whole), 28U) << dump;
    EXPECT_EQ(linked->programs[0].flops, whole->programs[0].flops);
  }
  const auto both = link_profiles({browser, folder + "module.txt.gz", folder + "module.hlo.pb.gz"});
  ASSERT_TRUE(both) << both.error().message();
  EXPECT_TRUE(both->programs[0].memory.known);  // of the equal dumps, the one with memory
  EXPECT_EQ(tag_of(link_profiles({browser})), "xla.program.missing");
  const auto beside = link_profiles({browser, profile});
  ASSERT_TRUE(beside);
  EXPECT_EQ(differences(*beside, *whole), 0U);
}

TEST(Recording, TextsThatCannotBeReadCountWhereAProgramIsMissing) {
  CHAKRA_NEEDS_DATA();
  const std::string folder = chakra::testing::data_folder() + "/recorded/jax_fsdp/";
  const chakra::testing::TemporaryFolder dumps;
  const std::string text = dumps.write("module.txt", "HloModule m\n\nENTRY %main {\n  %a = f32[<=3 broken\n}\n");
  const auto linked = link_profiles({folder + "host.xplane.pb.gz", text});
  ASSERT_TRUE(linked) << linked.error().message();
  EXPECT_TRUE(std::any_of(linked->findings.begin(), linked->findings.end(),
                          [](const Finding& finding) { return finding.tag == "xla.program.unreadable"; }));
  const auto missing = link_profiles({folder + "host.trace.json.gz", text});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().place.file, text);
}

TEST(Browser, CutAnywhereIsRefused) {
  CHAKRA_NEEDS_DATA();
  const std::string text = recorded("host.trace.json.gz");
  for (size_t cut = 0; cut < 200; ++cut) {
    auto source = ByteSource::from_memory(std::string_view(text).substr(0, text.size() * cut / 200));
    ASSERT_TRUE(source);
    EXPECT_EQ(tag_of(parse_chrome(std::move(*source))), "xla.chrome.json") << cut;
  }
}

TEST(Recording, CutAnywhereIsRefused) {
  CHAKRA_NEEDS_DATA();
  const std::string program_bytes = recorded("module.hlo.pb.gz"), profile = recorded("host.xplane.pb.gz");
  size_t read = 0;
  for (size_t cut = 0; cut < 200; ++cut) {
    Findings findings;
    const std::string one = program_bytes.substr(0, program_bytes.size() * cut / 200);
    const auto imported = import_bytes(one, findings);
    if (imported) {
      EXPECT_FALSE(imported->report.memory.known) << cut;  // cut between module and buffer assignment
    } else {
      EXPECT_TRUE(imported.error().tag.starts_with("xla.program.")) << imported.error().message();
    }
    const auto linked = link_bytes(profile.substr(0, profile.size() * cut / 200));
    if (!linked) {
      EXPECT_TRUE(linked.error().tag.starts_with("xla.")) << linked.error().message();
    }
    read += linked.has_value();
  }
  EXPECT_LE(read, 1U);
}

}  // namespace
}  // namespace chakra::xla
