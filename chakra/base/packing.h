// The compression of a file, and an error of the system; shared by the files of this room that read and write.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "chakra/base/result.h"

namespace chakra {

enum class Packing : uint8_t { plain, gzip, zstd };

inline constexpr size_t kPackingBuffer = size_t{1} << 18;

inline Failure io_error(std::string tag, std::string_view what, const std::string& file, int error) {
  return fail(Code::io, std::move(tag), fmt::format("{}: {}", what, std::strerror(error)), {file});
}

}  // namespace chakra
