// A CSV of issue and callback lines gives a timeline, and nothing else.
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/job/job.h"

namespace chakra::job {
namespace {

using chakra::testing::literal;

TEST(Contract, OfViews) {
  ViewOptions o;
  o.path = "lines.csv";
  o.form = "dot";
  o.event_csv.emplace();
  EXPECT_DEATH((void)view_job(o), literal("timeline || !o.event_csv"));
}

}  // namespace
}  // namespace chakra::job
