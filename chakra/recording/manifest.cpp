#include "chakra/recording/manifest.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/quantile.h"
#include "chakra/recording/json_value.h"

namespace chakra::recording {
namespace {

using simdjson::ondemand::object;

constexpr std::string_view kFormat = "chakra recording";

double seconds(object& overhead, std::string_view key) {
  double value = 0;
  return overhead.find_field_unordered(key).get(value) || !(value > 0 && value < 1e9) ? 0 : value;
}

double slowdown(const Manifest& m) { return m.plain_s > 0 ? m.recorded_s / m.plain_s - 1 : 0; }

}  // namespace

Result<std::optional<Manifest>> read_manifest(const std::string& path) {
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(path));
  return read_manifest(std::move(source));
}

Result<std::optional<Manifest>> read_manifest(ByteSource source) {
  JsonStream stream(std::move(source), {});
  simdjson::ondemand::parser parser;
  Manifest manifest;
  std::string steps, observed;
  bool ours = false;
  for (;;) {
    CHAKRA_ASSIGN(const JsonStream::Part part, stream.next());
    if (part == JsonStream::Part::finished) break;
    if (part != JsonStream::Part::member) continue;
    const std::string_view key = stream.key(), text = stream.value();
    if (key == "format") ours = contains(text, kFormat);
    else if (key == "rank") (void)parse_integer(text, manifest.rank);
    else if (key == "steps") steps = text;
    else if (key == "observed") observed = text;
    else if (key == "overhead") {
      simdjson::ondemand::document document;
      object overhead;
      if (parser.iterate(stream.value()).get(document) || document.get_object().get(overhead)) continue;
      manifest.plain_s = seconds(overhead, "plain_step_s");
      manifest.recorded_s = seconds(overhead, "recorded_step_s");
    }
  }
  manifest.observed = steps == observed;
  return ours ? std::optional(manifest) : std::nullopt;
}

// `recording.overhead` (warning): recorded steps took over 10 % longer than the steps before, because they were
// recorded: times of the traces are as much too long.
void report_overhead(const std::vector<Manifest>& manifests, Findings& findings) {
  constexpr double kMuch = 0.1;
  const auto slowest = std::max_element(manifests.begin(), manifests.end(),
                                        [](const Manifest& a, const Manifest& b) { return slowdown(a) < slowdown(b); });
  if (slowest == manifests.end() || slowdown(*slowest) <= kMuch) return;
  std::vector<double> all;
  for (const Manifest& m : manifests) all.push_back(slowdown(m));
  const auto time = [](double s) { return show_time(picoseconds(s)); };
  findings.push_back(
      {"recording.overhead", Severity::warning, slowest->rank, -1,
       fmt::format("a recorded step took {} and a step before it {}, which is {:.0f} % more (median of all ranks "
                   "{:.0f} %): times of the trace contain the overhead of recording{}",
                   time(slowest->recorded_s), time(slowest->plain_s), 100 * slowdown(*slowest),
                   100 * quantile_of(std::move(all), 0.5),
                   slowest->observed ? "; record with observe=\"before\" to avoid most of it" : "")});
}

}  // namespace chakra::recording
