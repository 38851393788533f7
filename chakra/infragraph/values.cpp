// Bandwidths and latencies, as numbers with a unit. Decimal shifts are exact: "53.6870912" gigabytes are
// 53,687,091,200 bytes and not the nearest double of 53.6870912 * 1e9.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "chakra/infragraph/model.h"

namespace chakra::infragraph {
namespace {

struct UnitRow {
  std::string_view key;   ///< in the file
  std::string_view text;  ///< in an annotation
  int shift;              ///< decimal, to bytes or bits per second, or to ns
  double divide = 1;
};
constexpr std::array<UnitRow, 3> kBandwidths{{{"gigabits_per_second", "Gbps", 9, 8},
                                              {"gigabytes_per_second", "GBps", 9},
                                              {"gigatransfers_per_second", "GT/s", 0}}};
constexpr std::array<UnitRow, 3> kLatencies{{{"ms", "ms", 6}, {"us", "us", 3}, {"ns", "ns", 0}}};
constexpr double kLongestNs = 1e12;

bool is_transfers(const UnitRow& unit) { return unit.shift == 0 && unit.text == "GT/s"; }

/// Shift the number; false for any other text.
bool shifted(std::string_view text, const UnitRow& unit, double& value) {
  const bool plain = text.find_first_of("eE") == std::string_view::npos;
  if (!parse_decimal(plain ? fmt::format("{}e{}", text, unit.shift) : std::string(text), value)) return false;
  if (!plain)
    for (int i = 0; i < unit.shift; ++i) value *= 10;
  value /= unit.divide;
  return true;
}

Result<double> read_number(const Spec& spec, std::string_view text, const UnitRow& unit, bool is_latency) {
  double value = 0;
  if (!shifted(text, unit, value))
    return spec.error("infragraph.link", fmt::format("{} is not a number of {}", quote(text), unit.text));
  const bool fits = is_latency ? value >= 0 && value <= kLongestNs : value > 0 && value <= kUnlimited;
  if (!fits) return spec.error("infragraph.link", fmt::format("a value of {} {} is out of range", text, unit.text));
  return value;
}

/// The unit of a property; null if the property has no value. The package writes a choice without its value where
/// a link has none.
Result<const UnitRow*> unit_of(const Spec& property, std::span<const UnitRow> units, const Spec*& value) {
  const UnitRow* found = nullptr;
  for (const UnitRow& unit : units)
    if (const Spec* given = property.find(unit.key); given && given->kind != Spec::Kind::null) {
      if (found) return given->error("infragraph.link", "a second unit of the same value");
      found = &unit;
      value = given;
    }
  const Spec* const choice = property.find("choice");
  if (found && choice && choice->kind == Spec::Kind::scalar && choice->scalar != found->key)
    return choice->error("infragraph.link", fmt::format("'choice' is {}, but the value is of {}", quote(choice->scalar),
                                                        quote(found->key)));
  return found;
}

Result<double> read_text(const Spec& spec, std::span<const UnitRow> units, bool is_latency) {
  CHAKRA_ASSIGN(const std::string text, spec.string());
  if (!is_latency && text == "unlimited") return kUnlimited;
  const std::string_view all = text;
  const size_t blank = std::min(all.find_first_of(" "), all.size());
  const std::string_view number = all.substr(0, blank), name = all.substr(std::min(blank + 1, all.size()));
  for (const UnitRow& unit : units)
    if (unit.text == name && !is_transfers(unit)) return read_number(spec, number, unit, is_latency);
  return spec.error("infragraph.link",
                    fmt::format("{} has no known unit; expected {}", quote(text),
                                is_latency ? "'500 ns', us or ms" : "'400 Gbps', '50 GBps' or 'unlimited'"));
}

}  // namespace

Result<void> read_physical(const Spec& link, PlacedLink& out) {
  const Spec* physical = link.find("physical");
  if (!physical || physical->kind == Spec::Kind::null) return {};
  if (physical->kind != Spec::Kind::map)
    return physical->error("infragraph.link", "'physical' must have 'bandwidth' or 'latency'");
  const Spec* value = nullptr;
  if (const Spec* bandwidth = physical->find("bandwidth")) {
    CHAKRA_ASSIGN(const UnitRow* unit, unit_of(*bandwidth, kBandwidths, value));
    if (unit) {
      CHAKRA_ASSIGN(const std::string text, value->string());
      CHAKRA_ASSIGN(const double number, read_number(*value, text, *unit, false));
      (is_transfers(*unit) ? out.gigatransfers : out.bytes_per_s) = number;
    }
  }
  if (const Spec* latency = physical->find("latency")) {
    CHAKRA_ASSIGN(const UnitRow* unit, unit_of(*latency, kLatencies, value));
    if (unit) {
      CHAKRA_ASSIGN(const std::string text, value->string());
      CHAKRA_ASSIGN(out.latency_ns, read_number(*value, text, *unit, true));
    }
  }
  return {};
}

Result<double> read_bandwidth_text(const Spec& value) { return read_text(value, kBandwidths, false); }
Result<double> read_latency_text(const Spec& value) { return read_text(value, kLatencies, true); }

}  // namespace chakra::infragraph
