#include "chakra/check/check.h"

#include <gtest/gtest.h>

#include <set>

namespace chakra::check {
namespace {

using trace::Builder;
using trace::NodeId;
using trace::NodeType;

Findings check_one(Builder b, size_t limit = 20) {
  trace::TraceSet job;
  job.ranks.push_back(std::move(b).finish());
  return check(job, {}, limit);
}

Builder chain(uint32_t nodes) {
  Builder b;
  for (const NodeId n : ids<NodeId>(nodes)) {
    b.add(n + 1, b.trace.strings.intern("op"), NodeType::comp);
    b.trace.flags.edit(n) |= trace::kHasDuration;
    if (n > 0) b.dep(n, n - 1, 0);
  }
  return b;
}

std::set<std::string> tags(const Findings& findings) {
  std::set<std::string> out;
  for (const Finding& f : findings) out.insert(f.tag);
  return out;
}

TEST(Check, AGoodTraceHasNoFinding) { EXPECT_TRUE(check_one(chain(5)).empty()); }

TEST(Check, EachRuleFindsItsDefect) {
  using Change = void (*)(Builder&);
  struct Row {
    const char* tag;
    bool error;
    Change change;
  };
  for (const Row& row : {
           Row{"check.id.duplicate", true, [](Builder& b) { b.trace.id.set(2, 1); }},
           Row{"check.dep.dangling", true, [](Builder& b) { b.dep_by_id(NodeId(2), 77, 0, 0); }},
           Row{"check.ctrl.dangling", false, [](Builder& b) { b.ctrl_by_id(NodeId(2), 77); }},
           Row{"check.dep.cycle", true, [](Builder& b) { b.dep(NodeId(1), NodeId(3), 0); }},
           Row{"check.dep.cycle", true, [](Builder& b) { b.dep(NodeId(1), NodeId(1), 0); }},
           Row{"check.type.invalid", true, [](Builder& b) { b.trace.type.edit(2) = NodeType::invalid; }},
           Row{"check.comm.size", true,
               [](Builder& b) {
                 b.trace.type.edit(2) = NodeType::coll;
                 b.comm(NodeId(2)).bytes = uint64_t{1} << 60;
                 b.comm(NodeId(2)).type = trace::CommType::barrier;
               }},
           Row{"check.size.negative", true,
               [](Builder& b) {
                 b.trace.defects.push_back({trace::Defect::Kind::negative_size, NodeId(2), 0});
               }},
           Row{"match.collective.size_unknown", false,
               [](Builder& b) {
                 b.trace.type.edit(2) = NodeType::coll;
                 b.comm(NodeId(2)).type = trace::CommType::all_reduce;
               }},
           Row{"check.duration.missing", false, [](Builder& b) { b.trace.flags.edit(2) = 0; }},
           Row{"check.time.order", false,
               [](Builder& b) {
                 b.trace.flags.edit(1) |= trace::kHasStart;
                 b.trace.flags.edit(2) |= trace::kHasStart;
                 b.trace.start_ps.edit(1) = 100;
               }},
       }) {
    Builder b = chain(5);
    row.change(b);
    const Findings findings = check_one(std::move(b));
    EXPECT_EQ(tags(findings), std::set<std::string>{row.tag});
    EXPECT_EQ(any_error(findings), row.error) << row.tag;
  }
}

TEST(Check, ManyOfAKindAreCounted) {
  Builder b = chain(100);
  for (const NodeId n : ids<NodeId>(100)) b.dep_by_id(n, 1000, 0, 0);
  const Findings findings = check_one(std::move(b), 5);
  ASSERT_EQ(findings.size(), 6u);
  EXPECT_EQ(findings.back().text, "and 95 more of these");
}

TEST(Check, ACycleIsNamedNodeByNode) {
  Builder b = chain(3);
  b.dep(NodeId(0), NodeId(2), 0);
  const Findings findings = check_one(std::move(b));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].text.find("1 <- 3 <- 2"), std::string::npos) << findings[0].text;
}

}  // namespace
}  // namespace chakra::check
