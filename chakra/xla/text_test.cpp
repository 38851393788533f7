// HLO as text: the same program as its HloProto, the forms of groups, short forms, damage.
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/xla/files.h"
#include "chakra/xla/program.h"
#include "chakra/xla/work.h"

namespace chakra::xla {
namespace {

Result<Program> parse(std::string text) {
  return parse_text(std::make_shared<const std::string>(std::move(text)), "test");
}
std::string tag_of(const Result<Program>& program) { return program ? "" : program.error().tag; }

std::string recorded(const std::string& file) {
  const auto bytes = read_file(chakra::testing::data_folder() + "/recorded/jax_fsdp/" + file);
  EXPECT_TRUE(bytes) << (bytes ? "" : bytes.error().message());
  return bytes ? *bytes : "";
}

TEST(Text, IsTheSameProgramAsTheMessage) {
  CHAKRA_NEEDS_DATA();
  auto text = parse(recorded("module.txt.gz"));
  ASSERT_TRUE(text) << text.error().message();
  auto message = parse_program(std::make_shared<const std::string>(recorded("module.hlo.pb.gz")), "test");
  ASSERT_TRUE(message);
  EXPECT_EQ(text->name, message->name);
  EXPECT_EQ(text->device_count(), message->device_count());
  EXPECT_TRUE(text->unknown.empty());
  ASSERT_EQ(text->computations.size(), message->computations.size());
  const ProgramWork one(*text), other(*message);
  std::map<std::string_view, uint32_t> of;  // computations by name
  for (uint32_t c = 0; c < message->computations.size(); ++c) of[message->computations[c].name] = c;
  for (uint32_t c = 0; c < text->computations.size(); ++c) {
    const Computation& a = text->computations[c];
    ASSERT_TRUE(of.contains(a.name)) << a.name;
    const uint32_t d = of[a.name];
    const Computation& b = message->computations[d];
    ASSERT_EQ(a.instructions.size(), b.instructions.size()) << a.name;
    std::map<std::string_view, uint32_t> rows;
    for (uint32_t row = 0; row < b.instructions.size(); ++row) rows[b.instructions[row].name] = row;
    EXPECT_EQ(a.instructions[a.root].name, b.instructions[b.root].name);
    for (uint32_t row = 0; row < a.instructions.size(); ++row) {
      const Instruction& i = a.instructions[row];
      ASSERT_TRUE(rows.contains(i.name)) << i.name;
      const Instruction& j = b.instructions[rows[i.name]];
      EXPECT_EQ(i.opcode, j.opcode) << i.name;
      EXPECT_EQ(i.op_name, j.op_name) << i.name;
      EXPECT_EQ(i.number, j.number) << i.name;
      EXPECT_EQ(text->bytes_of(i.shape), message->bytes_of(j.shape)) << i.name;
      EXPECT_EQ(one.of(c, row).flops, other.of(d, rows[i.name]).flops) << i.name;
      EXPECT_EQ(one.of(c, row).bytes, other.of(d, rows[i.name]).bytes) << i.name;
      EXPECT_EQ(text->detail(i).trips, message->detail(j).trips) << i.name;
      ASSERT_EQ(i.operands.size(), j.operands.size()) << i.name;
      for (uint32_t o = 0; o < i.operands.size(); ++o)
        EXPECT_EQ(a.instructions[text->links[i.operands.begin + o]].name,
                  b.instructions[message->links[j.operands.begin + o]].name);
      ASSERT_EQ(i.called.size(), j.called.size()) << i.name;
      for (uint32_t o = 0; o < i.called.size(); ++o)
        EXPECT_EQ(text->computations[text->links[i.called.begin + o]].name,
                  message->computations[message->links[j.called.begin + o]].name);
      if (i.kind() != Kind::collective) continue;
      const auto groups = groups_of(*text, i);
      ASSERT_TRUE(groups) << groups.error().message();
      EXPECT_EQ(*groups, *groups_of(*message, j)) << i.name;
    }
  }
}

TEST(Text, CutAnywhereIsRefused) {
  CHAKRA_NEEDS_DATA();
  const std::string whole = recorded("module.txt.gz");
  for (size_t cut = 0; cut < 200; ++cut) {
    const auto program = parse(whole.substr(0, whole.size() * cut / 200));
    ASSERT_FALSE(program) << cut;
    EXPECT_TRUE(program.error().tag.starts_with("xla.program.")) << program.error().message();
  }
}

using Lists = std::vector<std::vector<int64_t>>;
Lists groups(const std::string& form) {
  const auto program = parse(
      "HloModule f, num_partitions=8\n\nENTRY %main (p: f32[4]) -> f32[4] {\n"
      "  %p = f32[4]{0} parameter(0)\n"
      "  ROOT %r = f32[4]{0} all-reduce(f32[4]{0} %p), channel_id=1, replica_groups=" +
      form + ", use_global_device_ids=true, to_apply=%main.0\n}\n\n%main.0 {\n ROOT %c = f32[] constant(1)\n}\n");
  EXPECT_TRUE(program) << (program ? "" : program.error().message());
  if (!program) return {};
  const auto found = groups_of(*program, program->computations[program->entry].instructions[1]);
  EXPECT_TRUE(found) << (found ? "" : found.error().message());
  return found ? *found : Lists();
}

TEST(Text, HasGroupsInAllForms) {
  const Lists pairs{{0, 4}, {1, 5}, {2, 6}, {3, 7}}, halves{{0, 1, 2, 3}, {4, 5, 6, 7}}, all{{0, 1, 2, 3, 4, 5, 6, 7}};
  EXPECT_EQ(groups("{{0,4},{1,5},{2,6},{3,7}}"), pairs);
  EXPECT_EQ(groups("{}"), all);
  EXPECT_EQ(groups("[2,4]<=[8]"), halves);
  EXPECT_EQ(groups("[4,2]<=[2,4]T(1,0)"), pairs);
  EXPECT_EQ(groups("mesh['dp'=2,'ep'=4] {'ep'}"), halves);
  EXPECT_EQ(groups("mesh[dp=2,ep=4] {dp}"), pairs);
  EXPECT_EQ(groups("mesh['dp'=2,'ep'=4] {'dp','ep'}"), all);
  EXPECT_EQ(groups("mesh['dp'=2,'ep'=4] {'ep':(2)2}"), (Lists{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(groups("mesh['dp'=2,'ep'=4], device_ids=([7,6,5,4,3,2,1,0]) {'ep'}"), (Lists{{7, 6, 5, 4}, {3, 2, 1, 0}}));
  EXPECT_EQ(groups("mesh['a'=4,'b'=1,'c'=2], device_ids=([2,4]T(1,0)) {'a'}"), (Lists{{0, 1, 2, 3}, {4, 5, 6, 7}}));
}

TEST(Text, HasElementsOfTuplesByIndex) {
  const auto text = [](const std::string& first, const std::string& second) {
    return "HloModule m, is_scheduled=true\n\nENTRY %main (p: f32[4], q: f32[8]) -> f32[8] {\n"
           "  %p = f32[4]{0} parameter(0)\n  %q = f32[8]{0} parameter(1)\n"
           "  %t.3 = (f32[4]{0}, f32[8]{0}) tuple(%p, %q)\n"
           "  %a = f32[8]{0} negate(" +
           first + ")\n  ROOT %b = f32[8]{0} add(" + first + ", " + second + ")\n}\n";
  };
  const auto program = parse(text("%t.3#1", "%a"));
  ASSERT_TRUE(program) << program.error().message();
  const Computation& main = program->computations[program->entry];
  ASSERT_EQ(main.instructions.size(), 6U);  // the element is one instruction, however many use it
  const Instruction& element = main.instructions[3];
  EXPECT_EQ(element.name, "t.3#1");
  EXPECT_EQ(element.opcode, "get-tuple-element");
  EXPECT_EQ(element.number, 1);
  EXPECT_EQ(program->bytes_of(element.shape), 32U);
  EXPECT_EQ(program->links[main.instructions[5].operands.begin], 3);
  EXPECT_EQ(main.instructions[main.root].name, "b");
  for (const char* wrong : {"%t.3#2", "%t.3#-1", "%t.3#x", "%t.3#", "%p#0", "%u#0"})
    EXPECT_FALSE(parse(text("%t.3#0", wrong))) << wrong;
}

TEST(Text, IsTheSameProgramWhereElementsOfTuplesHaveNames) {
  const auto text = [](const std::string& element, const std::string& used) {
    const std::string body =
        "%u = (f32[4]{0}, f32[8]{0}) tuple(%p, %q)\n  " + element + "ROOT %a = f32[8]{0} negate(" + used + ")\n}\n";
    return *parse(
        "HloModule m, is_scheduled=true\n\nENTRY %main (p: f32[4], q: f32[8]) -> f32[8] {\n"
        "  %p = f32[4]{0} parameter(0)\n  %q = f32[8]{0} parameter(1)\n"
        "  %t = (f32[4]{0}, f32[8]{0}) tuple(%p, %q)\n  " +
        body);
  };
  const Program by_index = text("", "%t#1");
  const std::string element = "%get-tuple-element.7 = f32[8]{0} get-tuple-element(";
  EXPECT_TRUE(is_same_program(by_index, text(element + "%t), index=1\n  ", "%get-tuple-element.7")));
  EXPECT_FALSE(is_same_program(by_index, text(element + "%u), index=1\n  ", "%get-tuple-element.7")));
  EXPECT_FALSE(is_same_program(by_index, text("", "%q")));
}

TEST(Text, HasLoopsShortFormsAndConvolutions) {
  const auto program =
      parse(R"(HloModule jit_g, is_scheduled=true, entry_computation_layout={(f32[2,8,3]{2,1,0})->f32[]}

FileNames
1 "a.py"

FileLocations
1 {file_name_id=1 line=3}

body (x: (s32[], /*index=1*/f32[4])) -> (s32[], f32[4]) {
  x = (s32[], f32[4]{0:T(128)S(1)}) parameter(0)
  ROOT y = (s32[], f32[4]{0}) copy(x), metadata={op_name="jit(g)/\"quoted\"\n" source_line=3}
}

%cond (x: (s32[], f32[4])) -> pred[] {
  %x.1 = (s32[], f32[4]{0}) parameter(0)
  ROOT %less = pred[] constant(true)
}

ENTRY %main.9 (p: f32[2,8,3], k: f32[3,3,7], s: (s32[], f32[4])) -> f32[] {
  %p = f32[2,8,3]{2,1,0} parameter(0)
  %k = f32[3,3,7]{2,1,0} parameter(1)
  %c = f32[2,8,7] convolution(%p, %k), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, new_attribute={a=1,b=2}
  %s = (s32[], f32[4]{0}) parameter(2)
 w = (s32[], f32[4]) while((s32[], f32[4]) s), condition=cond, body=body, backend_config={"known_trip_count":{"n":"12"}}
  %v = (s32[], f32[4]) while(%w), condition=%cond, body=%body, backend_config="{\"known_trip_count\":{\"n\":\"5\"}}"
 start = ((f32[2,8,7]),f32[2,8,7]) all-to-all-start(c), channel_id=3, replica_groups={{0,1}}, control-predecessors={w,v}
  %done = f32[2,8,7]{2,1,0} all-to-all-done(%start)
 sent = (f32[2,8,7], u32[], token[]) send(done), frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,0}}}
  ROOT %r = f32[] constant({...})
}, execution_thread="main"
)");
  ASSERT_TRUE(program) << program.error().message();
  const Program& p = *program;
  EXPECT_EQ(p.name, "jit_g");
  ASSERT_EQ(p.unknown.size(), 1U);
  EXPECT_EQ(p.unknown.begin()->first.first, "new_attribute");
  const Computation& entry = p.computations[p.entry];
  const auto at = [&](std::string_view name) -> const Instruction& {
    for (size_t c = p.computations.size(); c-- > 0;)  // the entry first
      for (const Instruction& i : p.computations[c].instructions)
        if (i.name == name) return i;
    ADD_FAILURE() << name;
    return entry.instructions[0];
  };
  EXPECT_EQ(entry.order.size(), entry.instructions.size());
  EXPECT_EQ(p.computations[p.links[at("w").called.begin]].name, "body");
  EXPECT_EQ(p.detail(at("w")).trips, 12);
  EXPECT_EQ(p.detail(at("v")).trips, 5);
  EXPECT_EQ(at("y").op_name, "jit(g)/\"quoted\"\n");
  const ProgramWork work(p);
  EXPECT_EQ(work.of(p.entry, 2).flops, 2U * 2 * 3 * 7 * (8 * 3 - 2));
  const Instruction& start = at("start");
  EXPECT_EQ(start.opcode, "async-start");
  EXPECT_EQ(start.controls.size(), 2U);
  ASSERT_EQ(start.called.size(), 1U);
  const Computation& wrapped = p.computations[p.links[start.called.begin]];
  const Instruction& inner = wrapped.instructions[wrapped.root];
  EXPECT_EQ(inner.opcode, "all-to-all");
  EXPECT_EQ(p.detail(inner).channel, 3);
  EXPECT_EQ(p.detail(inner).groups.lists, (Lists{{0, 1}}));
  EXPECT_EQ(p.bytes_of(inner.shape), 2U * 8 * 7 * 4);
  EXPECT_EQ(at("done").opcode, "async-done");
  EXPECT_EQ(p.detail(at("sent")).pairs, (std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {1, 0}}));
}

TEST(Text, ThatIsWrongIsRefused) {
  const auto entry = [](const std::string& lines) {
    return tag_of(parse("HloModule f\nENTRY main {\n" + lines + "}\n"));
  };
  EXPECT_EQ(entry(" ROOT p = f32[4] parameter(0)\n"), "");
  EXPECT_EQ(entry(""), "xla.program.empty");
  EXPECT_EQ(tag_of(parse("HloModule f\n")), "xla.program.empty");
  EXPECT_EQ(tag_of(parse("HloModule f, num_partitions=99999999\nENTRY main {\n p = f32[] parameter(0)\n}\n")),
            "xla.program.devices");
  EXPECT_EQ(entry(" a = f32[4] add(b, b)\n b = f32[4] parameter(0)\n"), "xla.program.reference");
  EXPECT_EQ(entry(" p = f32[] parameter(0)\n p = f32[] parameter(1)\n"), "xla.program.reference");
  EXPECT_EQ(entry(" p = f32[] parameter(0)\n c = f32[] call(p), to_apply=other\n"), "xla.program.reference");
  EXPECT_EQ(entry(" p = f32[] parameter(0)\n c = f32[] call(p), to_apply=main\n"), "xla.program.reference");
  EXPECT_EQ(entry(" p = f32[-4] parameter(0)\n"), "xla.program.shape");
  EXPECT_EQ(entry(" p = f32[4 parameter(0)\n"), "xla.program.text");
  EXPECT_EQ(entry(" p = f32[4] parameter(x)\n"), "xla.program.text");
  EXPECT_EQ(entry(" p = f32[4] parameter(0) more\n"), "xla.program.text");
  EXPECT_EQ(entry(" p = " + std::string(200, '(') + "\n"), "xla.program.deep");
}

}  // namespace
}  // namespace chakra::xla
