// What a dump adds to the trace of its rank: at one place, at several, and at none.
#include <gtest/gtest.h>

#include "chakra/flight/flight.h"

namespace chakra::flight {
namespace {

using trace::CommType;

constexpr int64_t kMs = 1'000'000;

struct Called {
  CommType type = CommType::all_reduce;
  uint64_t bytes = 0;
  std::string group = {};
  int64_t at_ms = 0;
};

trace::Trace recorded(const std::vector<Called>& calls) {
  trace::Builder b;
  for (const Called& call : calls) {
    const trace::NodeId n = b.add(b.trace.size() + 1, 0, trace::NodeType::coll);
    b.trace.start_ps.edit(n) = call.at_ms * kMs * kPsPerNs;
    b.trace.flags.edit(n) = trace::kHasStart | trace::kHasDuration;
    trace::Comm& comm = b.comm(n);
    comm.type = call.type;
    comm.bytes = comm.in_bytes = call.bytes;
    comm.group = b.trace.strings.intern(call.group);
    comm.sequence = n;
  }
  return std::move(b).finish();
}

/// A call of each element count, a millisecond apart: an all-reduce, or what `operations` says.
Dump dump_of(const std::vector<int64_t>& elements, const std::vector<std::string>& operations = {}) {
  Dump dump;
  dump.groups.push_back({"7", "tp", {0, 1}});
  for (size_t i = 0; i < elements.size(); ++i) {
    Entry entry;
    entry.record = static_cast<int64_t>(i);
    entry.collective = static_cast<int64_t>(i) + 100;
    entry.operation = operations.empty() ? "all_reduce" : operations[i];
    entry.in = entry.out = {{{elements[i]}}, {"Float"}};
    entry.created_ns = 1'700'000'000'000'000'000 + static_cast<int64_t>(i) * kMs;
    dump.entries.push_back(entry);
  }
  return dump;
}

struct Outcome {
  Filled filled;
  std::string tags;
};
Outcome fill(trace::Trace& t, const Dump& dump) {
  std::vector<std::string> counted{""};
  Findings findings;
  Outcome outcome{fill_beside(t, dump, counted, findings), ""};
  for (const Finding& f : findings) outcome.tags += (outcome.tags.empty() ? "" : " ") + f.tag;
  return outcome;
}

const trace::Comm& comm(const trace::Trace& t, size_t i) { return *t.comm(trace::NodeId(i)); }

TEST(Beside, OnePlaceGivesGroupSizeAndNumber) {
  trace::Trace t = recorded({{CommType::all_gather}, {}});
  const Outcome found = fill(t, dump_of({1, 2, 3}, {"all_reduce", "_all_gather_base", "all_reduce"}));
  EXPECT_EQ(found.tags, "flight.beside.filled");
  EXPECT_EQ(found.filled.groups, 2);
  EXPECT_EQ(found.filled.sizes, 2);
  EXPECT_EQ(t.strings[comm(t, 0).group], "7");
  EXPECT_EQ(comm(t, 0).bytes, 8u);
  EXPECT_EQ(comm(t, 1).bytes, 12u);
  EXPECT_EQ(comm(t, 0).sequence, 101);
  ASSERT_EQ(t.groups.size(), 1u);
  EXPECT_EQ(t.groups[0].ranks, (std::vector<int64_t>{0, 1}));
}

TEST(Beside, TimesChooseAmongPlaces) {
  trace::Trace t = recorded({{.at_ms = 0}, {.at_ms = 1}, {.at_ms = 5}});
  Dump dump = dump_of({1, 2, 3, 4, 5, 6});
  for (size_t i = 4; i < 6; ++i) dump.entries[i].created_ns += 3 * kMs;  // a pause after the fourth
  EXPECT_EQ(fill(t, dump).tags, "flight.beside.filled");
  EXPECT_EQ(comm(t, 0).bytes, 12u);
}

TEST(Beside, OfSeveralPlacesOnlyWhatTheyShareIsTaken) {
  trace::Trace t = recorded({{}, {}});
  const Outcome equal = fill(t, dump_of({4, 4, 4}));
  EXPECT_EQ(equal.tags, "flight.beside.filled");
  EXPECT_EQ(comm(t, 1).bytes, 16u);
  EXPECT_EQ(comm(t, 0).sequence, 0);  // which of the dump's numbers it has is not known
  trace::Trace other = recorded({{}, {}});
  Dump unlike = dump_of({4, 5, 6});
  for (Entry& entry : unlike.entries) entry.created_ns = 0;
  const Outcome open = fill(other, unlike);
  EXPECT_EQ(open.tags, "flight.beside.open");
  EXPECT_EQ(comm(other, 0).bytes, 0u);
}

TEST(Beside, ContradictionsTakeNothing) {
  for (const Called& known : {Called{CommType::broadcast}, Called{CommType::all_reduce, 5}, Called{.group = "8"}}) {
    trace::Trace t = recorded({known, {}});
    EXPECT_EQ(fill(t, dump_of({1, 1})).tags, "flight.beside.contradiction");
    EXPECT_EQ(comm(t, 1).group, 0u);
  }
  trace::Trace t = recorded({{}, {}});
  t.groups.push_back({.name = "7", .description = "", .backend = "", .ranks = {0, 2}});
  EXPECT_EQ(fill(t, dump_of({1, 1})).tags, "flight.beside.contradiction");
  t = recorded({{}, {}, {}});
  EXPECT_EQ(fill(t, dump_of({1, 1})).tags, "flight.beside.contradiction");
  Dump late = dump_of({1, 1});
  for (Entry& entry : late.entries) entry.record += 1000;
  EXPECT_EQ(fill(t, late).tags, "flight.beside.filled");  // the first was overwritten
  EXPECT_EQ(comm(t, 0).bytes, 0u);
  EXPECT_EQ(comm(t, 2).bytes, 4u);
}

}  // namespace
}  // namespace chakra::flight
