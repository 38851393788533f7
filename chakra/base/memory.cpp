#include "chakra/base/memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

namespace chakra {
namespace {

/// The number with which a file begins, or after a key.
std::optional<uint64_t> number_in(const std::string& path, const std::string& key = {}) {
  std::ifstream file(path);
  std::string word;
  while (!key.empty() && file >> word && word != key) {}
  uint64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

/// The folder of the control group of this process (version 2): batch systems limit the group of each job.
std::string control_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::/")) return "/sys/fs/cgroup" + line.substr(3);
  return "/sys/fs/cgroup";
}

uint64_t rest(uint64_t limit, uint64_t used) { return limit > used ? limit - used : 0; }

}  // namespace

uint64_t available_memory() {
  uint64_t least = UINT64_MAX;
  if (const auto kib = number_in("/proc/meminfo", "MemAvailable:")) least = *kib * 1024;
  const std::string group = control_group();
  for (const auto& [limit, used] : {std::pair(group + "/memory.max", group + "/memory.current"),
                                    std::pair<std::string, std::string>("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                                                                        "/sys/fs/cgroup/memory/memory.usage_in_bytes")})
    if (const auto most = number_in(limit)) least = std::min(least, rest(*most, number_in(used).value_or(0)));
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    if (const auto pages = number_in("/proc/self/statm"))
      least = std::min(least, rest(space.rlim_cur, *pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE))));
  return least;
}

void* grow_large_block(void* old, size_t old_bytes, size_t bytes) {
  constexpr uintptr_t kPage = uintptr_t{1} << 21;
  const size_t reserved = bytes + kPage;
  void* const whole = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (whole == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(whole), first = (begin + kPage - 1) / kPage * kPage;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t end = (first + bytes + page - 1) / page * page,
                  reserved_end = (begin + reserved + page - 1) / page * page;
  if (first > begin) munmap(whole, first - begin);
  if (reserved_end > end) munmap(reinterpret_cast<void*>(end), reserved_end - end);
  void* const block = reinterpret_cast<void*>(first);
  if (!old) {
    (void)madvise(block, bytes, MADV_HUGEPAGE);  // a kernel without such pages gives small ones
    return block;
  }
  // One mapping moves and grows: kernels before 6.17 refuse to move a block that is two.
  if (mremap(old, old_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, block) == block) return block;
  // A sandbox without mremap copies. The target is left alone: it may be unmapped already, and another thread's.
  void* const fresh = grow_large_block(nullptr, 0, bytes);
  if (!fresh) return nullptr;
  std::memcpy(fresh, old, old_bytes);
  free_large_block(old, old_bytes);
  return fresh;
}

void free_large_block(void* block, size_t bytes) { munmap(block, bytes); }

}  // namespace chakra
