// Files of many nodes, for benchmarks of the feeders.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "chakra/base/base.h"

namespace chakra::feeders::testing {

constexpr uint64_t kLoaded = 800'000;

inline void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

/// What node `id` waits for depends on the id alone, so that it can be checked without keeping it.
inline size_t deps_of(uint64_t id, std::array<uint64_t, 3>& deps) {
  chakra::Prng random(id);
  size_t count = 0;
  if (id > 0) deps[count++] = id - 1 - random.below(std::min<uint64_t>(id, 4));
  if (id > 0 && random.chance(0.5)) deps[count++] = id - 1 - random.below(std::min<uint64_t>(id, 1000));
  if (id > 0 && random.chance(0.1)) deps[count++] = random.below(id);
  return count;
}

/// The k-th id of the file.
inline uint64_t id_at(int order, uint64_t k, uint64_t nodes) {
  constexpr uint64_t kBlock = 4096;
  switch (order) {
    case 1: return nodes - 1 - k;
    case 2: {  // blocks of neighbours in another order
      const uint64_t blocks = nodes / kBlock;
      if (k >= blocks * kBlock) return k;
      return (k / kBlock * 7919 % blocks) * kBlock + k % kBlock;
    }
    case 3: {  // 2654435761 and the size have no common divisor for powers of ten
      return static_cast<uint64_t>(static_cast<unsigned __int128>(k) * 2654435761u % nodes);
    }
    default: return k;
  }
}

inline std::string write_file(int order, uint64_t nodes) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("chakra-bench-" + std::to_string(order) + ".et")).string();
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (!file) return "";
  std::string message, out;
  message = std::string("\x0a\x05") + "0.0.4";  // metadata: version
  put_varint(out, message.size());
  out += message;
  for (uint64_t k = 0; k < nodes; ++k) {
    const uint64_t id = id_at(order, k, nodes);
    std::array<uint64_t, 3> deps{};
    const size_t count = deps_of(id, deps);
    message = "\x08";
    put_varint(message, id);
    message += std::string("\x12\x09") + "aten::mul";
    message += "\x18\x04";
    std::string packed;
    for (size_t d = 0; d < count; ++d) put_varint(packed, deps[d]);
    if (count > 0) message += "\x2a", put_varint(message, packed.size()), message += packed;
    message += "\x38\x05";
    put_varint(out, message.size());
    out += message;
    if (out.size() > (1 << 20) || k + 1 == nodes) {
      std::fwrite(out.data(), 1, out.size(), file);
      out.clear();
    }
  }
  std::fclose(file);
  return path;
}

inline uint64_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

/// Marks `id` as done; false if something that it waits for is not.
inline bool after_its_deps(uint64_t id, std::vector<bool>& done) {
  std::array<uint64_t, 3> deps{};
  const size_t count = deps_of(id, deps);
  done[id] = true;
  return std::all_of(deps.begin(), deps.begin() + count, [&](uint64_t dep) { return done[dep]; });
}

}  // namespace chakra::feeders::testing
