// Random jobs that hang: the rank and the collective that are to blame are named, and no other rank is.
#include <gtest/gtest.h>

#include <cstdlib>

#include "chakra/base/testing/testing.h"
#include "chakra/flight/flight.h"
#include "chakra/flight/testing/hanging_job.h"

namespace chakra::flight {
namespace {

using testing::Fault;
using testing::HangingJob;

template <class T>
std::optional<T> fact(const Finding& finding, std::string_view name) {
  for (const Fact& fact : finding.facts)
    if (fact.name == name) {
      if constexpr (std::same_as<T, std::string>) return fact.number ? std::nullopt : std::optional(fact.text);
      else return fact.number;
    }
  return std::nullopt;
}

bool is_about(const Finding& finding, const HangingJob& job) {
  if (fact<std::string>(finding, "group") != job.groups[job.at.group].name) return false;
  if (job.at.src >= 0)
    return fact<int64_t>(finding, "src") == job.at.src && fact<int64_t>(finding, "dst") == job.at.dst;
  return fact<int64_t>(finding, "index") == job.at.index;
}

bool names_culprit(const Finding& finding, const HangingJob& job) {
  if (finding.rank == job.culprit) return true;
  const std::string rank = std::to_string(job.culprit);
  return job.tie && contains(finding.text, "rank " + rank + " calls");
}

std::string_view tag_of(Fault fault) {
  switch (fault) {
    case Fault::none: return "";
    case Fault::missing: return "flight.hang.missing";
    case Fault::dead: return "flight.hang.no_dump";
    case Fault::order: return "flight.hang.order";
    case Fault::size: return "flight.hang.size";
    case Fault::circle: return "flight.hang.circle";
  }
  return "";
}

std::string listed(const Findings& findings) {
  std::string text;
  for (const Finding& f : findings) text += fmt::format("  rank {}: {} [{}]\n", f.rank, f.text, f.tag);
  return text;
}

/// The truth is told, and nobody else is blamed.
void judge(const HangingJob& job, const Findings& findings) {
  bool found = job.fault == Fault::none;
  for (const Finding& finding : findings) {
    if (finding.severity != Severity::error) continue;
    ASSERT_NE(job.fault, Fault::none) << listed(findings);
    if (job.fault == Fault::circle) {  // one of the two is named, with the ranks that are in both
      found =
          found || (finding.tag == "flight.hang.circle" && contains(finding.text, fmt::format("rank {}", job.culprit)));
      ASSERT_EQ(finding.tag, "flight.hang.circle") << listed(findings);
      continue;
    }
    ASSERT_EQ(finding.tag, tag_of(job.fault)) << listed(findings);
    ASSERT_TRUE(names_culprit(finding, job)) << listed(findings);
    found = found || is_about(finding, job);
  }
  ASSERT_TRUE(found) << "rank " << job.culprit << " at " << job.at.operation << " " << job.at.index << " of group "
                     << job.groups[job.at.group].name << "\n"
                     << listed(findings);
}

int64_t rounds() {
  const char* const given = std::getenv("CHAKRA_TEST_ROUNDS");
  return given ? std::atoll(given) : 500;
}

TEST(Hang, RandomJobsAreJudgedRight) {
  std::map<Fault, int> kinds;
  for (int64_t seed = 0; seed < rounds(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const HangingJob job = testing::JobMaker(static_cast<uint64_t>(seed)).make();
    ++kinds[job.fault];
    std::vector<Dump> dumps;
    for (const testing::MadeDump& made : job.dumps) {
      auto dump = parse_dump(seed % 2 ? to_json(made) : to_pickle(made), "made", made.rank);
      ASSERT_TRUE(dump) << dump.error().message();
      ASSERT_EQ(dump->entries.size(), made.entries.size());
      dumps.push_back(std::move(*dump));
    }
    judge(job, find_hang(dumps).findings);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(kinds.size(), 6U);
}

/// Both forms, from files.
TEST(Hang, FiftyFoldersAreJudgedRight) {
  size_t folders = 0;
  for (uint64_t seed = 1000; folders < 50; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const HangingJob job = testing::JobMaker(seed).make();
    if (job.fault == Fault::none) continue;
    const chakra::testing::TemporaryFolder folder;
    for (const testing::MadeDump& made : job.dumps)
      folder.write(folders % 2 ? fmt::format("nccl_trace_rank_{}", made.rank) : fmt::format("rank{}.json", made.rank),
                   folders % 2 ? to_pickle(made) : to_json(made));
    ++folders;
    ASSERT_TRUE(is_dump_path(folder.path()));
    const auto dumps = read_dumps({folder.path()});
    ASSERT_TRUE(dumps) << dumps.error().message();
    judge(job, find_hang(dumps->ranks).findings);
    if (HasFatalFailure()) return;
  }
}

/// A batch of messages is recorded part by part without states; the last record has that of all.
TEST(Hang, BatchesHaveTheStateOfTheirEnd) {
  const auto entry = [](int64_t record, const char* name, const char* state, int64_t message) {
    testing::MadeEntry e;
    e.record = record;
    e.group = "0";
    e.description = "pp";
    e.name = name;
    e.state = state;
    e.is_p2p = true;
    e.message = message;
    e.created_ns = testing::kZeroNs;
    e.in = e.out = {{4}};
    return e;
  };
  const std::vector<testing::MadeGroup> groups{{"0", "pp", {0, 1, 2}}};
  std::vector<testing::MadeDump> made{
      {0, groups, {entry(0, "nccl:send 0->1", "scheduled", 1), entry(1, "nccl:coalesced", "completed", 1)}},
      {1,
       groups,
       {entry(0, "nccl:recv 1<-0", "scheduled", 1), entry(1, "nccl:coalesced", "completed", 1),
        entry(2, "nccl:recv 1<-0", "scheduled", 2), entry(3, "nccl:send 1->2", "scheduled", 2),
        entry(4, "nccl:coalesced", "started", 2)}},
      {2, groups, {entry(0, "nccl:recv 2<-1", "scheduled", 1), entry(1, "nccl:coalesced", "started", 1)}}};
  std::vector<Dump> dumps;
  for (const testing::MadeDump& m : made) dumps.push_back(parse_dump(to_pickle(m), "made", m.rank).value());
  const Findings findings = find_hang(dumps).findings;
  ASSERT_EQ(findings.size(), 2U) << listed(findings);
  EXPECT_EQ(findings[0].tag, "flight.hang.missing");
  EXPECT_EQ(findings[0].rank, 0);
  EXPECT_EQ(fact<int64_t>(findings[0], "dst"), 1);
  EXPECT_EQ(findings[1].tag, "flight.hang.behind");
  EXPECT_EQ(fact<int64_t>(findings[1], "dst"), 2);
}

}  // namespace
}  // namespace chakra::flight
