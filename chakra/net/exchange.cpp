// Networks as files.
#include <fmt/core.h>

#include <map>
#include <vector>

#include "chakra/base/join.h"
#include "chakra/infragraph/infragraph.h"
#include "chakra/net/graph.h"

namespace chakra::net {
namespace {

constexpr LinkId kMostWritten = 1 << 18;

/// Whether a link has an equal way back. Each pair of ways is written once, where its first device is the smaller one.
bool has_equal_way_back(const Fabric& fabric, const Link& link) {
  const LinkId back = fabric.link_between(link.to, link.from);
  return back != kNoLink && fabric.link(back).bytes_per_s == link.bytes_per_s &&
         fabric.link(back).latency_ps == link.latency_ps;
}

double nanoseconds(Picoseconds ps) { return static_cast<double>(ps) / 1000; }

/// As JSON, which is YAML.
std::string json_text(std::string_view name) {
  std::string text;
  append_json_string(text, name);
  return text;
}

std::string names(const Fabric& fabric, int64_t from, int64_t to) {
  std::string text;
  for (int64_t device = from; device < to; ++device)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", json_text(fabric.device_name(static_cast<uint32_t>(device))));
  return fmt::format("[{}]", text);
}

/// Refuses large networks, and reports the properties that are not written.
Result<void> check(const Fabric& fabric, Findings& findings) {
  if (fabric.link_count() > kMostWritten)
    return fail(Code::bad_input, "net.graph.large",
                fmt::format("{} links are too many to write each; at most {}", fabric.link_count(), kMostWritten));
  std::vector<std::string_view> lost;
  if (fabric.routing.kind != Routing::spread) lost.emplace_back("routing");
  if (fabric.burst_bytes > 0) lost.emplace_back("burst");
  if (!fabric.fits.empty()) lost.emplace_back("collectives");
  if (!fabric.reductions.empty()) lost.emplace_back("reduction");
  if (fabric.graph && fabric.graph->metric != Metric::hops) lost.emplace_back("metric");
  if (fabric.graph && !fabric.graph->forwarding) lost.emplace_back("forwarding");
  if (!lost.empty())
    findings.push_back({"net.file.lost", Severity::warning, -1, -1,
                        fmt::format("not written, since the form has only devices and links: {}", join(lost, ", "))});
  return {};
}

}  // namespace

Result<std::string> to_graph_file(const Fabric& fabric, Findings& findings) {
  CHAKRA_TRY(check(fabric, findings));
  const int64_t ranks = fabric.size(), devices = fabric.devices();
  int64_t number = 0;
  const bool numbered = parse_integer(fabric.device_name(0), number);
  std::string text = fmt::format("ranks: {}\n", numbered ? fmt::format("{}", ranks) : names(fabric, 0, ranks));
  if (devices > ranks) text += fmt::format("switches: {}\n", names(fabric, ranks, devices));
  text += "links:\n";
  for (LinkId id = 0; id < fabric.link_count(); ++id) {
    const Link link = fabric.link(id);
    const bool both = has_equal_way_back(fabric, link);
    if (both && link.from > link.to) continue;
    text += fmt::format("  - {{ from: {}, to: {}, bandwidth: {}, latency: {}{} }}\n",
                        json_text(fabric.device_name(link.from)), json_text(fabric.device_name(link.to)),
                        link.bytes_per_s / 1073741824.0, nanoseconds(link.latency_ps), both ? "" : ", both: false");
  }
  return text;
}

Result<std::string> to_infragraph_file(const Fabric& fabric, Findings& findings) {
  CHAKRA_TRY(check(fabric, findings));
  const int64_t ranks = fabric.size(), switches = fabric.devices() - ranks;
  infragraph::Infrastructure all;
  all.name = "network";
  all.devices.push_back({"rank", {{"xpu", 1, "xpu"}}, {}, {}});
  all.instances.push_back({"rank", "rank", ranks});
  if (switches > 0) {
    all.devices.push_back({"switch", {{"switch", 1, "switch"}}, {}, {}});
    all.instances.push_back({"switch", "switch", switches});
  }
  const auto end = [&](uint32_t device) {
    return device < ranks ? infragraph::End{fmt::format("rank[{}]", device), "xpu[0]"}
                          : infragraph::End{fmt::format("switch[{}]", device - ranks), "switch[0]"};
  };
  std::map<std::pair<double, Picoseconds>, std::string> kinds;
  for (LinkId id = 0; id < fabric.link_count(); ++id) {
    const Link link = fabric.link(id);
    if (!has_equal_way_back(fabric, link))
      return fail(Code::bad_input, "net.infragraph.direction",
                  fmt::format("the link from {} to {} has no equal way back; links of InfraGraph have no direction",
                              quote(fabric.device_name(link.from)), quote(fabric.device_name(link.to))));
    if (link.from > link.to) continue;
    std::string& name = kinds[{link.bytes_per_s, link.latency_ps}];
    if (name.empty()) {
      name = fmt::format("link-{}", kinds.size() - 1);
      all.links.push_back({name, link.bytes_per_s, nanoseconds(link.latency_ps)});
    }
    all.connections.push_back({end(link.from), end(link.to), name, infragraph::Scheme::one2one});
  }
  return infragraph::to_json(all);
}

}  // namespace chakra::net
