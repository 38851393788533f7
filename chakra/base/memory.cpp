#include "chakra/base/memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "chakra/base/file.h"
#include "chakra/base/strings.h"

namespace chakra {
namespace {

constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max(), kKibibyte = 1024;

/// The number after a word, or at the begin of the text.
uint64_t number_in(const char* path, std::string_view word = {}) {
  const Result<std::string> text = read_file(path, size_t{1} << 20);
  if (!text) return kUnknown;
  const size_t at = text->find(word);
  if (at == std::string::npos) return kUnknown;
  std::string_view rest = std::string_view(*text).substr(at + word.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  int64_t number = 0;
  return parse_decimal(rest.substr(0, rest.find_first_of(" \n")), number) && number >= 0 ? static_cast<uint64_t>(number)
                                                                                         : kUnknown;
}

/// The folder of the control group of this process (version 2).
std::string control_group() {
  constexpr std::string_view kVersion2 = "0::";
  const Result<std::string> text = read_file("/proc/self/cgroup", size_t{1} << 20);
  const size_t at = text ? text->find(kVersion2) : std::string::npos;
  if (at == std::string::npos) return "/sys/fs/cgroup";
  return "/sys/fs/cgroup" + text->substr(at + kVersion2.size(), text->find('\n', at) - at - kVersion2.size());
}

}  // namespace

uint64_t available_memory() {
  const uint64_t free = number_in("/proc/meminfo", "MemAvailable:");
  uint64_t least = free == kUnknown ? kUnknown : free * kKibibyte;
  const std::string group = control_group();
  const uint64_t most = number_in((group + "/memory.max").c_str());
  const uint64_t used = number_in((group + "/memory.current").c_str());
  if (most != kUnknown && used != kUnknown) least = std::min(least, most - std::min(most, used));
  const uint64_t pages = number_in("/proc/self/statm");
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && pages != kUnknown)
    least = std::min(least, limit.rlim_cur - std::min<uint64_t>(limit.rlim_cur, pages * 4 * kKibibyte));
  return least == kUnknown ? 0 : least;
}

}  // namespace chakra
