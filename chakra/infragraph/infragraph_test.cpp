#include "chakra/infragraph/infragraph.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "chakra/base/testing/testing.h"
#include "chakra/infragraph/model.h"

namespace chakra::infragraph {
namespace {

using chakra::testing::tag_of;

Spec spec_of(const std::string& text) { return *parse_spec(text, "infra.yml"); }

/// Two boxes with two XPUs, a switch and a nested card each, joined card to card.
struct Boxes {
  std::string components =
      "{name: xpu, count: 2, choice: xpu}, {name: sw, count: 1, choice: switch}, "
      "{name: card, count: 1, choice: device}";
  std::string edges =
      "{ep1: {component: xpu}, ep2: {component: sw}, scheme: many2many, link: bus}, "
      "{ep1: {device: 'card[0]', component: 'port[0]'}, ep2: {component: sw}, scheme: one2one, "
      "link: bus}";
  std::string bus = "physical: {bandwidth: {gigabytes_per_second: 53.6870912}, latency: {us: 0.5}}";
  std::string between =
      "{ep1: {instance: 'box[0]', component: 'card.port[1]'}, ep2: {instance: 'box[1]', "
      "component: 'card[0].port[1]'}, scheme: one2one, link: wire}";
  std::string card = "{name: port, count: 2, choice: port}";
  std::string count = "2";
  std::string annotations = "";

  std::string text() const {
    const std::string inner =
        "{name: two, devices: [{name: box, components: [" + components + "], links: [{name: bus, " + bus +
        "}], edges: [" + edges + "]}, {name: card, components: [" + card +
        "], links: [{name: inner, physical: {bandwidth: {gigabits_per_second: 8}}}], edges: [{ep1: {component: "
        "'port[0]'}, ep2: {component: 'port[1]'}, scheme: one2one, link: inner}]}], links: [{name: wire, physical: "
        "{bandwidth: {gigabits_per_second: 400}, latency: {ns: 700}}}], instances: [{name: box, device: box, count: " +
        count + "}], edges: [" + between + "]}";
    return annotations.empty() ? inner : "{infrastructure: " + inner + ", annotations: " + annotations + "}";
  }
  Result<Graph> read(Findings* findings = nullptr) const { return infragraph::read(spec_of(text()), findings); }
};

std::set<std::string> edges_of(const Graph& graph) {
  std::set<std::string> all;
  for (const Edge& e : graph.edges) {
    const auto [a, b] = std::minmax(graph.nodes[e.a], graph.nodes[e.b]);
    all.insert(a + " " + b);
  }
  return all;
}

TEST(InfraGraph, ExpandsNestedDevices) {
  Findings findings;
  const auto graph = Boxes{}.read(&findings);
  ASSERT_TRUE(graph) << graph.error().text;
  EXPECT_EQ(graph->ranks, 4);
  const std::vector<std::string> nodes{
      "box.0.xpu.0",         "box.0.xpu.1",         "box.1.xpu.0", "box.1.xpu.1",         "box.0.sw.0",
      "box.0.card.0.port.0", "box.0.card.0.port.1", "box.1.sw.0",  "box.1.card.0.port.0", "box.1.card.0.port.1"};
  EXPECT_EQ(graph->nodes, nodes);
  EXPECT_EQ(
      edges_of(*graph),
      (std::set<std::string>{"box.0.sw.0 box.0.xpu.0", "box.0.sw.0 box.0.xpu.1", "box.1.sw.0 box.1.xpu.0",
                             "box.1.sw.0 box.1.xpu.1", "box.0.card.0.port.0 box.0.sw.0",
                             "box.1.card.0.port.0 box.1.sw.0", "box.0.card.0.port.0 box.0.card.0.port.1",
                             "box.1.card.0.port.0 box.1.card.0.port.1", "box.0.card.0.port.1 box.1.card.0.port.1"}));
  for (const Edge& e : graph->edges) {
    const bool port_a = graph->nodes[e.a].find("port") != std::string::npos;
    const bool port_b = graph->nodes[e.b].find("port") != std::string::npos;
    if (!port_a || !port_b) {
      EXPECT_EQ(e.rate, (Rate{53687091200, 500}));  // exact, although 53.6870912 * 1e9 is not
    } else if (graph->nodes[e.a].substr(0, 5) == graph->nodes[e.b].substr(0, 5)) {
      EXPECT_EQ(e.rate, (Rate{1e9, 0}));
    } else {
      EXPECT_EQ(e.rate, (Rate{50e9, 700}));
    }
  }
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].tag, "infragraph.latency");
  EXPECT_NE(findings[0].text.find("'inner'"), std::string::npos) << findings[0].text;
}

TEST(InfraGraph, SlicesAreThoseOfPython) {
  const Spec place = spec_of("a: 1");
  const auto chosen = [&](const char* text, int64_t count) -> std::vector<int64_t> {
    auto found = slice(place, text, count);
    return found ? *found : std::vector<int64_t>{-1};
  };
  using Places = std::vector<int64_t>;
  EXPECT_EQ(chosen("", 3), (Places{0, 1, 2}));
  EXPECT_EQ(chosen(":", 3), (Places{0, 1, 2}));
  EXPECT_EQ(chosen("1", 3), (Places{1}));
  EXPECT_EQ(chosen("-1", 3), (Places{2}));
  EXPECT_EQ(chosen("1:9", 3), (Places{1, 2}));
  EXPECT_EQ(chosen(":-1", 3), (Places{0, 1}));
  EXPECT_EQ(chosen("-9:2", 3), (Places{0, 1}));
  EXPECT_EQ(chosen("0:8:3", 8), (Places{0, 3, 6}));
  EXPECT_EQ(chosen("::-1", 3), (Places{2, 1, 0}));
  EXPECT_EQ(chosen("2:0:-1", 3), (Places{2, 1}));
  for (const char* bad : {"3", "-4", "a", "1:2:3:4", "::0", "2:1", "1.5", "99999999999999999999"})
    EXPECT_EQ(tag_of(slice(place, bad, 3)), "infragraph.endpoint") << bad;
}

TEST(InfraGraph, RanksFollowTheirAnnotation) {
  Boxes boxes;
  const auto node = [](const char* name, int rank) {
    return fmt::format("{{name: '{}', attributes: [{{attribute: rank, value: '{}'}}]}}", name, rank);
  };
  boxes.annotations = fmt::format("{{nodes: [{}, {}, {}, {}]}}", node("box.1.xpu.1", 0), node("box.0.xpu.0", 1),
                                  node("box[0]xpu[1]", 2), node("box[1].xpu[0]", 3));
  const auto graph = boxes.read();
  ASSERT_TRUE(graph) << graph.error().text;
  EXPECT_EQ(std::vector<std::string>(graph->nodes.begin(), graph->nodes.begin() + 4),
            (std::vector<std::string>{"box.1.xpu.1", "box.0.xpu.0", "box.0.xpu.1", "box.1.xpu.0"}));
  for (const std::string& bad :
       {node("box.1.xpu.1", 0), node("box.0", 1), node("box.0.sw.0", 0), node("box.0.xpu.0", 9), node("box", -1),
        node("box.0.xpu.0", 0) + ", " + node("box.0.xpu.0", 1) + ", " + node("box.1.xpu.0", 2) + ", " +
            node("box.1.xpu.1", 3)}) {
    boxes.annotations = "{nodes: [" + bad + "]}";
    EXPECT_EQ(tag_of(boxes.read()), "infragraph.rank") << bad;
  }
  boxes.annotations = "{nodes: [" + node("box.7.xpu.1", 0) + "]}";
  EXPECT_EQ(tag_of(boxes.read()), "infragraph.endpoint");
}

TEST(InfraGraph, AnnotationsGiveRates) {
  Boxes boxes;
  boxes.annotations =
      "{links: [{name: inner, attributes: [{attribute: bandwidth, value: unlimited}, {attribute: latency, value: '2 "
      "us'}]}], edges: [{ep1: 'box[0]card[0]port[1]', ep2: box.1.card.0.port.1, attributes: [{attribute: bandwidth, "
      "value: '12 GBps'}, {attribute: owner, value: secret}]}]}";
  Findings findings;
  const auto graph = boxes.read(&findings);
  ASSERT_TRUE(graph) << graph.error().text;
  EXPECT_TRUE(findings.empty());
  std::multiset<double> rates, latencies;
  for (const Edge& e : graph->edges) {
    rates.insert(e.rate.bytes_per_s);
    latencies.insert(e.rate.latency_ns);
  }
  EXPECT_EQ(rates.count(kUnlimited), 2u);
  EXPECT_EQ(latencies.count(2000), 2u);
  EXPECT_EQ(rates.count(12e9), 1u);
  EXPECT_EQ(latencies.count(700), 1u);  // of the edge with another bandwidth
}

TEST(InfraGraph, UnknownBandwidthIsAnError) {
  Boxes boxes;
  for (const char* bus : {"description: none", "physical: {latency: {ns: 1}}",
                          "physical: {bandwidth: {choice: gigatransfers_per_second, gigatransfers_per_second: 32}}"}) {
    boxes.bus = bus;
    EXPECT_EQ(tag_of(boxes.read()), "infragraph.bandwidth") << bus;
  }
}

TEST(InfraGraph, RingsCloseAndLongerEndsHaveARest) {
  Boxes boxes;
  boxes.components = "{name: xpu, count: 5, choice: xpu}";
  boxes.edges = "{ep1: {component: xpu}, ep2: {component: xpu}, scheme: ring, link: bus}";
  boxes.between =
      "{ep1: {instance: 'box[0]', component: 'xpu'}, ep2: {instance: 'box[1]', component: 'xpu[:2]'}, "
      "scheme: one2one, link: wire}";
  const auto graph = boxes.read();
  ASSERT_TRUE(graph) << graph.error().text;
  EXPECT_EQ(graph->edges.size(), 12u);
  EXPECT_TRUE(edges_of(*graph).contains("box.0.xpu.0 box.0.xpu.4"));
  EXPECT_TRUE(edges_of(*graph).contains("box.0.xpu.1 box.1.xpu.1"));
}

struct BadRow {
  std::string Boxes::*part;
  const char* text;
  const char* tag;
};

TEST(InfraGraph, RefusesWhatItCannotExpand) {
  const std::vector<BadRow> rows{
      {&Boxes::edges, "{ep1: {component: gpu}, ep2: {component: sw}, scheme: one2one, link: bus}",
       "infragraph.endpoint"},
      {&Boxes::edges, "{ep1: {component: 'xpu[9]'}, ep2: {component: sw}, scheme: one2one, link: bus}",
       "infragraph.endpoint"},
      {&Boxes::edges, "{ep1: {component: 'xpu[0'}, ep2: {component: sw}, scheme: one2one, link: bus}",
       "infragraph.endpoint"},
      {&Boxes::edges, "{ep1: {component: 'xpu[0]'}, ep2: {component: card}, scheme: one2one, link: bus}",
       "infragraph.endpoint"},
      {&Boxes::edges, "{ep1: {component: 'xpu.sw'}, ep2: {component: sw}, scheme: one2one, link: bus}",
       "infragraph.endpoint"},
      {&Boxes::edges, "{ep1: {component: xpu}, ep2: {component: sw}, scheme: one2one, link: wire}", "infragraph.link"},
      {&Boxes::edges, "{ep1: {component: xpu}, ep2: {component: sw}, scheme: star, link: bus}", "infragraph.edge"},
      {&Boxes::edges, "{ep1: {component: xpu}, ep2: {component: sw}, scheme: ring, link: bus}", "infragraph.edge"},
      {&Boxes::edges, "{ep1: {component: xpu}, ep2: {component: sw}, link: bus}", "infragraph.key"},
      {&Boxes::edges, "{ep2: {component: sw}, scheme: one2one, link: bus}", "infragraph.key"},
      {&Boxes::between,
       "{ep1: {instance: 'bax[0]', component: sw}, ep2: {instance: box, component: sw}, scheme: "
       "one2one, link: wire}",
       "infragraph.endpoint"},
      {&Boxes::between,
       "{ep1: {instance: 'box[0]', component: sw}, ep2: {instance: 'box[0]', component: xpu}, scheme: "
       "one2one, link: wire}",
       "infragraph.edge"},
      {&Boxes::card, "{name: box, count: 1, choice: device}, {name: port, count: 2, choice: port}",
       "infragraph.component"},
      {&Boxes::card, "{name: port, count: 2, choice: port}, {name: port, count: 2, choice: port}",
       "infragraph.component"},
      {&Boxes::card, "{name: port, count: 2, choice: hole}", "infragraph.component"},
      {&Boxes::card, "{name: port, count: 2}", "infragraph.key"},
      {&Boxes::card, "{name: port, count: 1048576, choice: port}, {name: q, count: 1048576, choice: port}",
       "infragraph.large"},
      {&Boxes::card, "{name: port, count: -2, choice: port}", "infragraph.large"},
      {&Boxes::card, "{name: port, count: 99999999999, choice: port}", "infragraph.large"},
      {&Boxes::count, "1048576", "infragraph.large"},
      {&Boxes::bus, "physical: {bandwidth: {gigabytes_per_second: -1}}", "infragraph.link"},
      {&Boxes::bus, "physical: {bandwidth: {gigabytes_per_second: fast}}", "infragraph.link"},
      {&Boxes::bus, "physical: {bandwidth: {choice: gigabits_per_second}}", "infragraph.bandwidth"},
      {&Boxes::bus, "physical: {bandwidth: {choice: gigabits_per_second, gigabytes_per_second: 4}}", "infragraph.link"},
      {&Boxes::bus, "physical: {bandwidth: {gigabits_per_second: 1, gigabytes_per_second: 1}}", "infragraph.link"},
      {&Boxes::annotations, "{links: [{name: cable, attributes: []}]}", "infragraph.link"},
      {&Boxes::annotations, "{links: [{name: bus, attributes: [{attribute: bandwidth, value: '5 furlongs'}]}]}",
       "infragraph.link"},
      {&Boxes::annotations,
       "{edges: [{ep1: box.0.xpu.0, ep2: box.1.xpu.0, attributes: [{attribute: bandwidth, value: '5 Gbps'}]}]}",
       "infragraph.edge"},
      {&Boxes::annotations, "{links: bus}", "infragraph.key"},
  };
  for (const BadRow& row : rows) {
    Boxes boxes;
    boxes.*row.part = row.text;
    EXPECT_EQ(tag_of(boxes.read()), row.tag) << row.text;
  }
}

/// Work is bounded, whatever the file asks for.
TEST(InfraGraph, RefusesTooManySteps) {
  Boxes boxes;
  boxes.components = "{name: xpu, count: 65536, choice: xpu}";
  boxes.edges = "{ep1: {component: xpu}, ep2: {component: xpu}, scheme: many2many, link: bus}";
  EXPECT_EQ(tag_of(boxes.read()), "infragraph.large");
  boxes.edges = "";
  boxes.between = "";
  for (int i = 0; i < 300; ++i)
    boxes.edges += fmt::format(
        "{}{{ep1: {{component: xpu}}, ep2: {{component: 'xpu[::-1]'}}, scheme: one2one, "
        "link: bus}}",
        i == 0 ? "" : ", ");
  EXPECT_EQ(tag_of(boxes.read()), "infragraph.large");
}

TEST(InfraGraph, CutFilesEndWithAnError) {
  const std::string whole = to_json(*build("clos", {}));
  for (size_t cut = 0; cut < whole.size() - 2; cut += whole.size() / 200) {
    const auto spec = parse_spec(whole.substr(0, cut), "cut");
    if (!spec) continue;
    EXPECT_FALSE(is_infragraph(*spec) && read(*spec, nullptr)) << cut;
  }
}

TEST(Blueprints, ReadBack) {
  std::string names;
  for (const Blueprint& row : kBlueprints) {
    EXPECT_LT(names, row.name);
    names = row.name;
    auto all = build(row.name, {});
    ASSERT_TRUE(all) << row.name;
    std::vector<std::string> settings;
    for (const Device& device : all->devices)
      for (const Link& link : device.links) settings.push_back("bandwidth." + link.name + "=53.5");
    all = build(row.name, settings);
    ASSERT_TRUE(all) << row.name << all.error().text;
    const auto graph = read(spec_of(to_json(*all)), nullptr);
    ASSERT_TRUE(graph) << row.name << graph.error().text;
    EXPECT_GE(graph->ranks, 4 / (row.name == "server" ? 2 : 1)) << row.name;
  }
}

/// The counts that the package documents for its server.
TEST(Blueprints, ServerHasSixNodesPerFactorAndTwo) {
  for (const int factor : {1, 2, 4, 8}) {
    const std::vector<std::string> settings{fmt::format("factor={}", factor), "bandwidth.pcie=63", "bandwidth.nvlink=9",
                                            "bandwidth.fabric=1"};
    const auto graph = read(spec_of(to_json(*build("server", settings))), nullptr);
    ASSERT_TRUE(graph) << graph.error().text;
    EXPECT_EQ(graph->nodes.size(), 6u * static_cast<size_t>(factor) + 2);
    EXPECT_EQ(graph->ranks, 2 * factor);
  }
}

TEST(Blueprints, RefuseWrongSettings) {
  const auto tag = [](const char* name, const char* setting) {
    return tag_of(build(name, std::vector<std::string>{setting}));
  };
  EXPECT_EQ(tag_of(build("dgx-h1000", {})), "infragraph.blueprint");
  for (const auto& [name, setting] :
       std::initializer_list<std::pair<const char*, const char*>>{{"clos", "hosts"},
                                                                  {"clos", "hosts=0"},
                                                                  {"clos", "hosts=x"},
                                                                  {"clos", "racks=1"},
                                                                  {"clos", "ports=2"},
                                                                  {"clos", "bandwidth.x=1"},
                                                                  {"clos", "latency.ic=-1"},
                                                                  {"dragonfly", "routers=3"},
                                                                  {"fat-tree", "ports=5"},
                                                                  {"fat-tree", "levels=4"},
                                                                  {"torus", "x=65"},
                                                                  {"clos", "bandwidth.ic=0"}})
    EXPECT_EQ(tag(name, setting), "infragraph.blueprint") << name << " " << setting;
  EXPECT_EQ(tag_of(build("torus", std::vector<std::string>{"x=3", "y=3", "z=3"})), "infragraph.blueprint");
}

/// Numbers are written as decimals without an exponent, and read back as the same doubles.
TEST(Writing, KeepsEveryBit) {
  Infrastructure all = *build("clos", {});
  for (const double rate : {1.0, 53687091200.0, 1e9 / 3, 1e18, 50e9 * 1.0000000000000002, 12345.678, 0.1}) {
    for (const double latency : {0.0, 0.001, 500.0, 123456789.125, 1e12}) {
      for (Device& device : all.devices)
        for (Link& link : device.links) link = {link.name, rate, latency};
      for (Link& link : all.links) link = {link.name, rate, latency};
      const std::string text = to_json(all);
      EXPECT_EQ(text.find("e+"), std::string::npos);
      const auto graph = read(spec_of(text), nullptr);
      ASSERT_TRUE(graph) << graph.error().text;
      for (const Edge& edge : graph->edges) ASSERT_EQ(edge.rate, (Rate{rate, latency}));
    }
  }
}

}  // namespace
}  // namespace chakra::infragraph
