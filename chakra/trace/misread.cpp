#include "chakra/trace/misread.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace chakra::trace {
namespace {

constexpr std::array<std::string_view, 10> kIntegers{"ts_ns",    "dur_ns",     "comm_type",     "comm_size",
                                                     "comm_src", "comm_dst",   "comm_in_bytes", "comm_out_bytes",
                                                     "num_ops",  "tensor_size"};

/// What a value is instead of an integer from 0 to 2^63 - 1.
struct Why {
  std::string operator()(int64_t) const { return {}; }
  std::string operator()(uint64_t value) const { return fmt::format("is {}, which is too large", value); }
  std::string operator()(double value) const {
    return fmt::format("is the floating-point number {}, not an integer", value);
  }
  std::string operator()(bool) const { return "is a truth value, not an integer"; }
  std::string operator()(std::string_view value) const {
    return fmt::format("is the text {}, not an integer", quote(value, 40));
  }
};

int64_t counted(const Trace& t, NodeId n, std::string_view name) {
  if (name == "comm_size") return t.comm(n) ? static_cast<int64_t>(t.comm(n)->bytes) : 0;
  return name == "dur_ns" ? t.dur_ps[n] / kPsPerNs : t.base_ns + t.start_ps[n] / kPsPerNs;
}

}  // namespace

std::vector<Misread> misread(const Trace& t) {
  std::vector<Misread> found;
  std::array<StringId, kIntegers.size()> names{};
  std::transform(kIntegers.begin(), kIntegers.end(), names.begin(),
                 [&](std::string_view name) { return t.strings.find(name); });
  if (std::all_of(names.begin(), names.end(), [](StringId name) { return name == 0; })) return found;
  for (const NodeId n : t.nodes())
    for (const Attr& attr : t.attrs_of(n)) {
      const auto at = std::find(names.begin(), names.end(), attr.name);
      if (attr.name == 0 || at == names.end()) continue;
      const std::string_view name = kIntegers[static_cast<size_t>(at - names.begin())];
      Misread& m = found.emplace_back(Misread{n, name, std::visit(Why(), attr.value), false});
      if (!m.why.empty()) continue;
      m.second = true;
      m.why =
          fmt::format("is {}, but was {} before; the first counts", std::get<int64_t>(attr.value), counted(t, n, name));
    }
  return found;
}

}  // namespace chakra::trace
