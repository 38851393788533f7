#include "chakra/calibrate/csv.h"

#include <set>

namespace chakra::calibrate {

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

std::string duplicate_column(const std::vector<std::string>& columns) {
  std::set<std::string_view> names;
  for (const std::string& name : columns)
    if (!name.empty() && !names.insert(name).second) return name;
  return {};
}

}  // namespace chakra::calibrate
