// The named cases against mlcommons/chakra's files, through libprotobuf.
#include <fmt/core.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "chakra/base/testing/testing.h"
#include "chakra/gen/gen.h"
#include "chakra/trace/testing/peer_file.h"

namespace chakra::gen {
namespace {

using trace::NodeId;
using trace::Trace;

TEST(Cases, EqualThePeersFieldByField) {
  const std::string folder = chakra::testing::golden_folder();
  if (folder.empty()) GTEST_SKIP() << "no golden outputs (CHAKRA_TEST_GOLDEN)";
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/pipeline/gen"))
    if (entry.path().extension() == ".et") files.insert(entry.path().filename().string());
  for (const NamedCase& row : cases())
    for (int64_t rank = 0; rank < 2; ++rank) {
      const std::string name = fmt::format("{}.{}.et", row.name, rank);
      ASSERT_EQ(files.erase(name), 1U) << name << " is not among the files of mlcommons/chakra";
      const std::string bytes = chakra::testing::must_read(folder + "/pipeline/gen/" + name);
      chakra::testing::PeerFile peer = chakra::testing::parse_peer(bytes);
      // Where we differ: mlcommons/chakra counts ids over all files; ours begin at 0 in each
      // (docs/reference/formats/foreign.md).
      const uint64_t first = peer.nodes[0].id();
      if (row.file) {
        const auto ours = chakra::testing::parse_peer(row.file(rank));
        ASSERT_EQ(ours.nodes.size(), 1U);
        peer.nodes[0].set_id(0);
        EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(ours.nodes[0], peer.nodes[0])) << name;
        EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(ours.metadata, peer.metadata)) << name;
        EXPECT_EQ(ours.nodes[0].attr_size(), 30);
        continue;
      }
      const Trace t = row.trace(rank, 2, {});
      ASSERT_EQ(t.size(), peer.nodes.size()) << name;
      EXPECT_EQ(t.metadata[0].text(), peer.metadata.version());
      for (const NodeId n : t.nodes()) {
        const auto& node = peer.nodes[n];
        EXPECT_EQ(t.id[n], node.id() - first) << name;
        EXPECT_EQ(t.name_of(n), node.name()) << name;
        EXPECT_EQ(static_cast<int>(t.type[n]), node.type()) << name;
        EXPECT_EQ(t.dur_ps[n], static_cast<int64_t>(node.duration_micros()) * kPsPerUs) << name;
        ASSERT_EQ(t.deps.of(n).size(), static_cast<size_t>(node.data_deps_size())) << name;
        for (int d = 0; d < node.data_deps_size(); ++d)
          EXPECT_EQ(t.id[t.deps.of(n)[static_cast<size_t>(d)]], node.data_deps(d) - first) << name;
        for (const auto& attr : node.attr()) {
          if (attr.name() == "is_cpu_op") EXPECT_EQ(attr.bool_val(), t.on_cpu(n)) << name;
          else if (attr.name() == "tensor_size") EXPECT_EQ(attr.uint64_val(), t.tensor_bytes[n]) << name;
          else if (attr.name() == "comm_type") EXPECT_EQ(attr.int64_val(), static_cast<int>(t.comm(n)->type)) << name;
          else if (attr.name() == "comm_size")
            EXPECT_EQ(static_cast<uint64_t>(attr.int64_val()), t.comm(n)->bytes) << name;
          else ADD_FAILURE() << name << ": " << attr.name();
        }
      }
    }
  EXPECT_TRUE(files.empty()) << "only mlcommons/chakra has " << *files.begin();
}

TEST(Cases, MessagesHaveTwoEnds) {  // those of mlcommons/chakra have none
  for (const NamedCase& row : cases()) {
    if (row.name != "one_comm_send_node" && row.name != "one_comm_recv_node") continue;
    std::set<int64_t> partners;
    for (int64_t rank = 0; rank < 4; ++rank) {
      const Trace t = row.trace(rank, 4, {});
      const bool sends = row.name == "one_comm_send_node";
      EXPECT_EQ(sends ? t.comm(NodeId(0))->src : t.comm(NodeId(0))->dst, rank);
      partners.insert(sends ? t.comm(NodeId(0))->dst : t.comm(NodeId(0))->src);
      EXPECT_EQ(t.comm(NodeId(0))->bytes, 1024U);
    }
    EXPECT_EQ(partners.size(), 4U);
  }
}

TEST(Cases, OptionsReachTheNodes) {
  CaseOptions options;
  options.runtime = 7 * kPsPerUs;
  options.tensor_bytes = 11;
  options.comm_bytes = 13;
  for (const NamedCase& row : cases()) {
    const Trace t = row.trace(0, 1, options);
    for (const NodeId n : t.nodes()) {
      if (t.type[n] == trace::NodeType::comp) EXPECT_EQ(t.dur_ps[n], options.runtime);
      if (t.type[n] == trace::NodeType::coll)
        EXPECT_EQ(t.comm(n)->bytes, t.comm(n)->type == trace::CommType::barrier ? 0U : 13U);
      if (!t.tensor_bytes.empty()) EXPECT_EQ(t.tensor_bytes[n], 11U);
    }
  }
}

}  // namespace
}  // namespace chakra::gen
