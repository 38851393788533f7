#include "chakra/edit/hide.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <set>

#include "chakra/base/testing/testing.h"
#include "chakra/trace/roles.h"
#include "chakra/work/work.h"

namespace chakra::edit {
namespace {

using testing::tag_of;
using trace::NodeId;

/// Public names begin with "aten::"; a token is the length of the text.
Hiding hiding() {
  Hiding h;
  h.is_public_name = [](std::string_view text) {
    static const std::set<std::string_view> kNames{"cuda:0", "forward", "tp",   "cp",   "ep",  "dp",
                                                   "pp",     "1f1b",    "nccl", "gloo", "cpu", "cuda"};
    return text.starts_with("aten::") || kNames.contains(text);
  };
  h.is_public_word = [](std::string_view text) {
    return text.find_first_not_of("0123456789.-") == std::string_view::npos || text == "float";
  };
  h.public_device = [](std::string_view name) { return name == "known" ? std::string_view("KNOWN") : ""; };
  h.token = [](std::string_view, std::string_view text) { return fmt::format("{:020}", text.size()); };
  h.mark = "mark";
  return h;
}

trace::Builder builder(const std::vector<uint64_t>& ids) {
  trace::Builder b;
  for (const uint64_t id : ids)
    b.add(id, b.trace.strings.intern(fmt::format("node {}", std::string(id % 50, 'x'))), trace::NodeType::comp);
  return b;
}

TEST(Hide, GivesIdsByTheirOrder) {
  trace::Builder b = builder({30, 10, 20});
  b.dep(NodeId(0), NodeId(1), 0, 5);
  Hidden hidden;
  const auto out = hide(std::move(b).finish(), hiding(), hidden);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->id[0], 3U);
  EXPECT_EQ(out->id[1], 1U);
  EXPECT_EQ(out->id[2], 2U);
  EXPECT_EQ(out->deps.of(NodeId(0))[0], NodeId(1));
  EXPECT_EQ(out->deps.lag_of(0), 5);
  EXPECT_EQ(hidden.names, 3);
}

TEST(Hide, KeepsPublicNamesAndKindsOfOthers) {
  trace::Builder b;
  const auto add = [&](const char* name) {
    return b.add(b.trace.size() + 1, b.trace.strings.intern(name), trace::NodeType::comp);
  };
  add("aten::mm"), add("my layer"), add("Memcpy HtoD (Mine -> Device)"), add("ncclSecret"), add("");
  Hidden hidden;
  const auto out = hide(std::move(b).finish(), hiding(), hidden);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->name_of(NodeId(0)), "aten::mm");
  EXPECT_EQ(out->name_of(NodeId(1)), "label.00000000000000000008");
  EXPECT_EQ(out->name_of(NodeId(2)), "Memcpy HtoD.00000000000000000028");
  EXPECT_EQ(out->name_of(NodeId(3)), "nccl_kernel.00000000000000000010");
  EXPECT_EQ(out->name_of(NodeId(4)), "");
  EXPECT_EQ(hidden.texts.at("label.00000000000000000008"), "my layer");
}

TEST(Hide, GivesThreadsAndProcessesByTheirOrder) {
  trace::Builder b = builder({1, 2});
  using Kind = trace::Lane::Kind;
  b.trace.lane.edit(0) = b.lane({Kind::thread, 4711, 4711});
  b.trace.lane.edit(1) = b.lane({Kind::thread, 4711, 99});
  b.lane({Kind::stream, 0, 20});
  Hidden hidden;
  const auto out = hide(std::move(b).finish(), hiding(), hidden);
  ASSERT_TRUE(out);
  EXPECT_EQ(std::pair(out->lanes[0].process, out->lanes[0].index), std::pair(int64_t{2}, int64_t{2}));
  EXPECT_EQ(out->lanes[1].index, 1);
  EXPECT_EQ(out->lanes[2].index, 20);
}

TEST(Hide, KeepsRolesOfGroups) {
  trace::Builder b = builder({1});
  b.trace.groups = {{"secret tensors", "tp", "cuda:nccl,cpu:gloo", {0, 1}, 2},
                    {"tp0", "", "secret", {2, 3}, 2},
                    {"17", "secret", "nccl", {0}, 1}};
  Hidden hidden;
  const auto out = hide(std::move(b).finish(), hiding(), hidden);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->groups[0].name, "group.00000000000000000014");
  EXPECT_EQ(out->groups[0].description, "tp");
  EXPECT_EQ(out->groups[0].backend, "cuda:nccl,cpu:gloo");
  EXPECT_EQ(out->groups[1].name, "tp.00000000000000000003");
  EXPECT_EQ(trace::role_of(out->groups[1]), trace::Role::tp);
  EXPECT_EQ(out->groups[1].backend, "");
  EXPECT_EQ(out->groups[2].name, "17");
  EXPECT_EQ(out->groups[2].description, "");
}

TEST(Hide, ReplacesWordsOfLists) {
  trace::Builder b = builder({1});
  trace::Io io;
  io.inputs = {"[1, 'my file.txt', \"7 cuda:0\", 'cuda:0', -0.5]", b.trace.strings.intern("[[8, N]]"),
               b.trace.strings.intern("['Tensor(float)', 'Mine']"), 0};
  b.trace.io_row.edit(0) = 0;
  b.trace.ios.push_back(trace::PackedIo(io, b.trace.texts));
  Hidden hidden;
  const auto out = hide(std::move(b).finish(), hiding(), hidden);
  ASSERT_TRUE(out);
  const trace::Io made = out->ios[out->io_row[0]];
  EXPECT_EQ(made.inputs.values, "[1, '? ?', ? ?, 'cuda:0', -0.5]");
  EXPECT_EQ(out->strings[made.inputs.shapes], "[[8, ?]]");
  EXPECT_EQ(hidden.words, 4 + 1 + 3);
}

TEST(Hide, KeepsAttributesOfTheList) {
  trace::Builder b = builder({1});
  const auto id = [&](const char* name) { return b.trace.strings.intern(name); };
  b.attr({id("micro_batch"), int64_t{3}});
  b.attr({id("kernel"), std::string_view("gemm:8,16,32")});
  b.attr({id("pass"), std::string_view("forward")});
  b.attr({id("weight_bytes"), std::string_view("secret")});
  b.attr({id("mine"), int64_t{5}});
  b.trace.metadata = {{id("device_name"), std::string_view("known")},
                      {id("device_name_1"), std::string_view("other")},
                      {id("order"), std::string_view("tp-cp-ep-dp-pp")},
                      {id("schedule"), std::string_view("1f1b-secret")}};
  Hidden hidden;
  const auto out = hide(std::move(b).finish(), hiding(), hidden);
  ASSERT_TRUE(out);
  std::vector<std::string> names;
  const trace::Attrs::Range attrs = out->attrs_of(NodeId(0));
  for (auto at = attrs.begin(); at != attrs.end(); ++at) names.emplace_back(out->strings[(*at).name]);
  EXPECT_EQ(names, (std::vector<std::string>{"micro_batch", "kernel", "pass"}));
  ASSERT_EQ(out->metadata.size(), 3U);
  EXPECT_EQ(out->metadata[0].text(), "KNOWN");
  EXPECT_EQ(out->metadata[2].text(), "mark");
  EXPECT_EQ(hidden.dropped, (std::map<std::string, int64_t, std::less<>>{
                                {"device_name_1", 1}, {"mine", 1}, {"schedule", 1}, {"weight_bytes", 1}}));
}

TEST(Hide, RefusesEqualTokensAndEarlyTimes) {
  trace::Builder b;
  b.add(1, b.trace.strings.intern("one"), trace::NodeType::comp);
  b.add(2, b.trace.strings.intern("two"), trace::NodeType::comp);
  b.trace.base_ns = 1000;
  b.trace.flags.edit(0) = trace::kHasStart;
  const trace::Trace t = std::move(b).finish();
  Hidden hidden;
  EXPECT_EQ(tag_of(hide(t, hiding(), hidden)), "edit.hide.equal");
  Hiding late = hiding();
  late.token = [](std::string_view, std::string_view text) { return std::string(text); };
  late.zero_ns = 2000;
  EXPECT_EQ(tag_of(hide(t, late, hidden)), "edit.hide.time");
  late.zero_ns = 1000;
  const auto out = hide(t, late, hidden);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->base_ns, 0);
}

TEST(HiddenKinds, KeepWhatSimulationsReadFromNames) {
  for (const char* name : {"Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (x)", "CopyDeviceToDevice", "Memcpy PtoP y",
                           "[CUDA memcpy HtoH]", "Memcpy Unknown", "Memset (Mine)", "ncclDevKernel_Mine",
                           "void rccl_x()", "void msccl", "my_gemm_kernel", "aten::copy_", "fused copy", "label", ""})
    for (const bool on_device : {false, true}) {
      const std::string hidden = fmt::format("{}.{:020}", work::hidden_kind(name, on_device), 12345678);
      EXPECT_TRUE(work::is_hidden_name(hidden)) << hidden;
      EXPECT_EQ(work::copy_route(hidden), work::copy_route(name)) << hidden;
      EXPECT_EQ(work::is_memset(hidden), work::is_memset(name)) << hidden;
      EXPECT_EQ(work::is_communication_kernel(hidden), work::is_communication_kernel(name)) << hidden;
    }
  for (const char* other : {"label", "label.", "label.x1", "kernel.mine.1", ".1", "aten::mm.1", "1"})
    EXPECT_FALSE(work::is_hidden_name(other)) << other;
}

TEST(HiddenMap, IsReadBack) {
  const HiddenMap map{"mark", {{"label.1", "one"}, {"label.2", std::string("a\0b\n", 4)}, {"label.3", ""}}};
  const std::string bytes = to_bytes(map);
  const auto read = parse_hidden_map(bytes, "f");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->mark, map.mark);
  EXPECT_EQ(read->texts, map.texts);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto cut = parse_hidden_map(std::string_view(bytes).substr(0, size), "f");
    if (cut) EXPECT_LT(cut->texts.size(), map.texts.size());
    else EXPECT_EQ(cut.error().tag, "edit.names.form");
  }
  EXPECT_EQ(tag_of(parse_hidden_map(bytes + bytes.substr(bytes.find('\n', 15) + 1), "f")), "edit.names.form");
}

TEST(Reveal, RefusesNamesThatTheMapDoesNotHave) {
  trace::Builder b = builder({1, 2});
  Hidden hidden;
  const auto out = hide(std::move(b).finish(), hiding(), hidden);
  ASSERT_TRUE(out);
  ASSERT_TRUE(reveal(*out, hidden.texts));
  hidden.texts.erase(hidden.texts.begin());
  EXPECT_EQ(tag_of(reveal(*out, hidden.texts)), "edit.reveal.unknown");
}

}  // namespace
}  // namespace chakra::edit
