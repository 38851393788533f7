#include "chakra/generate/network.h"

#include <array>

#include "chakra/infragraph/infragraph.h"
#include "chakra/job/parts.h"

namespace chakra::generate {

using answer::column;
using answer::Unit;
using options::required;

options::Options rows_of(NetworkOptions& o) {
  return {required({"blueprint", &o.blueprint, "Blueprint to build (chakra list blueprints)", "BLUEPRINT"}),
          required({"-o,--output", &o.output, "InfraGraph file to write", "FILE"}),
          job::each_time({"--set",
                          &o.set,
                          "Parameter, or bandwidth or latency of a link",
                          "KEY=VALUE",
                          {},
                          "Keys are the parameters of the blueprint, and bandwidth.LINK (GB/s of 10^9 bytes) and "
                          "latency.LINK (ns) for all links of that name."})};
}

Result<GeneratedNetwork> generate_network(const NetworkOptions& o) {
  CHAKRA_TRY(options::check_call(o));
  CHAKRA_ASSIGN(const infragraph::Infrastructure all, infragraph::build(o.blueprint, o.set));
  CHAKRA_TRY(write_file(o.output, infragraph::to_json(all)));
  GeneratedNetwork made{o.output, o.blueprint, static_cast<int64_t>(all.devices.size()), 0, 0};
  for (const infragraph::Instance& instance : all.instances) made.instances += instance.count;
  made.edges = static_cast<int64_t>(all.connections.size());
  for (const infragraph::Device& device : all.devices) made.edges += static_cast<int64_t>(device.connections.size());
  return made;
}

view::Text text_of(const GeneratedNetwork&) {
  static constexpr std::array<view::Show, 1> kText{
      {{.line = "{output}: {blueprint}, {instances} instance[{?instances=1}|s] of {devices} device[{?devices=1}|s]"}}};
  return {kText};
}

answer::Answer answer_of(const GeneratedNetwork& network) {
  constexpr std::array kRows{
      column<&GeneratedNetwork::output>("output", Unit::none, "the InfraGraph file"),
      column<&GeneratedNetwork::blueprint>("blueprint", Unit::none, "the blueprint"),
      column<&GeneratedNetwork::devices>("devices", Unit::count, "devices of the file"),
      column<&GeneratedNetwork::instances>("instances", Unit::count, "instances of these devices"),
      column<&GeneratedNetwork::edges>("edges", Unit::count, "entries of edges, each for one or more links")};
  answer::Builder to("gen network");
  to.values("", &network, kRows);
  return std::move(to).finish();
}

}  // namespace chakra::generate
