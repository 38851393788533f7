// Serving with matrices in 8 bits, and with a host that plans each pass.
#include <gtest/gtest.h>

#include "chakra/base/real.h"
#include "chakra/gen/gen.h"
#include "chakra/gen/serve.h"

namespace chakra::gen {
namespace {

using model::ModelChange, model::changed, model::default_model;
using trace::NodeId;
using trace::Trace;

constexpr double kHidden = 64, kInner = 128, kQueries = 64, kKeys = 32, kWords = 96;
constexpr int64_t kLayers = 4, kBatch = 5;
constexpr double kMatrices = kHidden * (2 * kQueries + 2 * kKeys + 3 * kInner);

ServeOptions options() {
  ModelChange change;
  change.layers = kLayers, change.hidden = 64, change.ffn = 128, change.heads = 8, change.kv_heads = 4;
  change.vocabulary = 96;
  ServeOptions o;
  o.model = changed(default_model(), change).value();
  o.contexts = {24};
  o.batch = kBatch;
  o.steps = 3;
  return o;
}

TEST(Serve8Bits, MatricesOfLayersLieInOneByte) {
  ServeOptions o = options();
  const auto stats = [&] { return serve_stats(o, serve(o).value()).value(); };
  const ServeStats wide = stats();
  o.fp8 = true;
  const ServeStats narrow = stats();
  EXPECT_DOUBLE_EQ(wide.classes[0].memory.parameters - narrow.classes[0].memory.parameters, real(kLayers) * kMatrices);
  EXPECT_DOUBLE_EQ(wide.decode.parameter_bytes - narrow.decode.parameter_bytes, real(kLayers * o.steps) * kMatrices);
  EXPECT_EQ(wide.decode.operations, narrow.decode.operations);
  EXPECT_EQ(wide.decode.cache_bytes, narrow.decode.cache_bytes);
  const trace::ClassJob job = serve(o).value();
  double products = 0;
  for (const NodeId n : job.classes[0].nodes())
    if (job.classes[0].dtype_of(n) == trace::DType::f8) products += static_cast<double>(job.classes[0].num_ops[n]);
  const double tokens = 24 * kBatch + real(o.steps) * kBatch;
  EXPECT_DOUBLE_EQ(products, 2 * tokens * real(kLayers) * kMatrices);
  o.bytes_per_element = 1;  // nothing to cast
  const trace::ClassJob all = serve(o).value();
  for (const NodeId n : all.classes[0].nodes()) EXPECT_FALSE(all.classes[0].name_of(n).ends_with(".cast"));
}

TEST(ServeHost, PlansAPassAfterTheOneBefore) {
  ServeOptions o = options();
  o.pass_ns = 1000, o.sequence_ns = 10;
  const trace::ClassJob job = serve(o).value();
  const Trace& t = job.classes[0];
  std::vector<NodeId> plans;
  for (const NodeId n : t.nodes())
    if (t.name_of(n).ends_with(".schedule")) plans.push_back(n);
  ASSERT_EQ(plans.size(), 4u);  // prefill, three steps
  for (const NodeId n : plans) {
    EXPECT_TRUE(t.on_cpu(n));
    EXPECT_EQ(t.dur_ps[n], (1000 + 10 * kBatch) * kPsPerNs);
  }
  for (size_t i = 1; i < plans.size(); ++i) {  // the last computation of the pass before, and the plan before
    const auto on = t.deps.of(plans[i]);
    EXPECT_NE(std::find(on.begin(), on.end(), NodeId(plans[i] - 1)), on.end());
    EXPECT_NE(std::find(on.begin(), on.end(), plans[i - 1]), on.end());
    const auto next = t.deps.of(NodeId(plans[i] + 1));
    EXPECT_NE(std::find(next.begin(), next.end(), plans[i]), next.end());
  }
  o.pass_ns = -1;
  EXPECT_EQ(serve(o).error().tag, "gen.serve.range");
}

}  // namespace
}  // namespace chakra::gen
