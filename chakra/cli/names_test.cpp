// What the documented commands of mlcommons/chakra become. Each line of the table is one invocation of such a command.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <sstream>

#include "chakra/base/join.h"
#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

/// The arguments, or the error's tag.
std::string become(const std::string& line) {
  std::vector<std::string> args = words(line);
  const NameRow* name = find_name(args.at(0));
  if (!name) return "no name";
  args.erase(args.begin());
  const auto to = name->translate(args);
  return to ? join(to->args, " ") : to.error().tag;
}

TEST(Names, TakeThePeersInvocations) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {"chakra_trace_link --rank 0 --chakra-host-trace h.json --chakra-device-trace d.json --output-file l.json",
       "link h.json d.json -o l.json --rank 0"},
      {"/opt/bin/chakra_trace_link --pytorch-et-file h.json --kineto-file=d.json --output-file l.json --log-level "
       "DEBUG",
       "link h.json d.json -o l.json"},
      {"chakra_trace_link --chakra-device-trace d.json --output-file x.et --rank=3", "link d.json -o x.et --rank 3"},
      {"chakra_trace_link --chakra_host_trace h.json --output_file l", "link h.json -o l"},
      {"chakra_converter PyTorch --input l.json --output c.0.et", "convert l.json -o c.0.et --to et"},
      {"chakra_converter --log-filename log PyTorch --input l.json --output c.0.et --simulate",
       "convert l.json -o c.0.et --to et"},
      {"chakra_converter Text --input w.txt --output job --num-npus 8 --num-passes 2",
       "import w.txt -o job --from text --num-npus 8 --num-passes 2"},
      {"chakra_converter --input_type PyTorch --input_filename l.json --output_filename c.et --num_dims 1",
       "convert l.json -o c.et --to et"},
      {"chakra_converter --input_type Text --input_filename w.txt --output_filename job --num_dims 1 --num_npus 4 "
       "--num_passes 1",
       "import w.txt -o job --from text --num-npus 4 --num-passes 1"},
      {"chakra_converter --input_type FlexFlow --input_filename g.dot --output_filename job --num_npus 4",
       "import g.dot -o job --from flexflow"},
      {"chakra_converter --input_type FlexFlow --input_filename g --output_filename o --npu_frequency 1500 --num_dims "
       "1",
       "import g -o o --from flexflow"},
      {"chakra_generator --num_npus 2 --num_dims 1", "gen cases -o . --num-npus 2"},
      {"chakra_generator --num_npus 2 --default_runtime 5 --default_tensor_size 1024 --default_comm_size 65536",
       "gen cases -o . --num-npus 2 --default-runtime 5 --default-tensor-size 1024 --default-comm-size 65536"},
      {"chakra_generator", "gen cases -o ."},
      {"chakra_visualizer --input_filename c.0.et --output_filename g.pdf", "view c.0.et -o g.pdf"},
      {"chakra_visualizer --input c.0.et --output g.graphml", "view c.0.et -o g.graphml"},
      {"chakra_jsonizer --input_filename c.0.et --output_filename c.json", "convert c.0.et -o c.json --to json"},
      {"chakra_timeline_visualizer --input_filename log.csv --output_filename t.json --num_npus 4 --npu_frequency 1500",
       "view log.csv -o t.json --from csv --to timeline --num-npus 4 --npu-frequency 1500"},
      {"chakra_timeline_visualizer --input_filename log --output_filename t.json --num_npus 4 --npu_frequency 1.5GHz",
       "view log -o t.json --from csv --to timeline --num-npus 4 --npu-frequency 1.5GHz"},
      {"chakra_jsonizer --input_filename -c.et --output_filename c.json", "convert ./-c.et -o c.json --to json"},
  };
  for (const auto& [line, wanted] : rows) EXPECT_EQ(become(line), wanted) << line;
}

TEST(Names, RefuseWhatThePeerRefuses) {
  for (const char* line :
       {"chakra_trace_link", "chakra_trace_link --rank 0 --output-file x", "chakra_trace_link --output-file",
        "chakra_trace_link --chakra-host-trace a --output-file b c", "chakra_converter --input a --output b",
        "chakra_converter Chocolate --input a --output b", "chakra_converter PyTorch Text --input a --output b",
        "chakra_converter PyTorch --input a", "chakra_converter PyTorch --input a --output b --simulate=1",
        "chakra_generator --default 1", "chakra_generator --npus 1", "chakra_generator 4", "chakra_generator -- 4",
        "chakra_visualizer --input_filename a", "chakra_jsonizer --output_filename a",
        "chakra_timeline_visualizer --num_npus 4"})
    EXPECT_EQ(become(line), "cli.usage") << line;
  EXPECT_EQ(become("chakra"), "no name");
  EXPECT_EQ(become("/usr/bin/chakra_conv"), "no name");
}

}  // namespace
}  // namespace chakra::cli
