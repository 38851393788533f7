#include "chakra/recording/manifest.h"

#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/quantile.h"
#include "chakra/recording/json_value.h"

namespace chakra::recording {
namespace {

constexpr std::string_view kFormat = "chakra recording";

/// Read the times of a step with and without recording. Anything but an object states none.
simdjson::error_code read_overhead(simdjson::ondemand::document& document, Manifest& manifest) {
  simdjson::ondemand::object overhead;
  if (const auto code = document.get_object().get(overhead))
    return code == simdjson::INCORRECT_TYPE ? simdjson::SUCCESS : code;
  for (auto field : overhead) {
    std::string_view key;
    JsonValue* at = nullptr;
    if (const auto code = open_field(field, key, at)) return code;
    double s = 0;
    if (at->get_double().get(s) || !(s > 0 && s < 1e9)) continue;
    if (key == "plain_step_s") manifest.plain_s = s;
    else if (key == "recorded_step_s") manifest.recorded_s = s;
  }
  return simdjson::SUCCESS;
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
      auto code = parser.iterate(stream.value()).get(document);
      if (!code) code = read_overhead(document, manifest);
      if (code) return json::damaged(stream, code, stream.value(), stream.value_place());
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
