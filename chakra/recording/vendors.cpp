#include "chakra/recording/vendors.h"

#include <algorithm>

#include "chakra/base/base.h"

namespace chakra::recording {
namespace {

template <class Rows>
auto kind_of(std::string_view name, const Rows& rows) -> decltype(rows[0].kind) {
  for (const auto& row : rows)
    if (contains(name, row.part) && contains(name, row.with) && (row.without.empty() || !contains(name, row.without)))
      return row.kind;
  return {};
}

}  // namespace

bool fits(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

size_t vendor_of_call(std::string_view call) {
  const auto row =
      std::find_if(kVendors.begin(), kVendors.end(), [&](const VendorRow& r) { return call.starts_with(r.calls); });
  return static_cast<size_t>(row - kVendors.begin());
}

CallKind call_kind(std::string_view call) { return kind_of(call, kCallNames); }

bool is_launch(std::string_view call) { return contains(call, "Launch"); }

bool launches_graph(std::string_view call) { return contains_ignoring_case(call, "GraphLaunch"); }

CopyKind copy_kind(std::string_view device_op) { return kind_of(device_op, kCopyNames); }

const BackendRow* backend_of(std::string_view annotation) {
  for (const BackendRow& row : kBackends)
    if (annotation.size() > row.name.size() && annotation[0] == row.name[0] && annotation[row.name.size()] == ':' &&
        annotation.starts_with(row.name))
      return &row;
  return nullptr;
}

}  // namespace chakra::recording
