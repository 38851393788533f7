// Writes a ZIP archive in memory (APPNOTE 6.3, without Zip64).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "chakra/base/result.h"

namespace chakra {

/// Return the bytes, compressed (deflate, without a header). Requires less than 4 GiB. Errors: base.file.write.
Result<std::string> deflated(std::string_view bytes);

/// Files are compressed (deflate), and have the date 1980-01-01, so that equal files make equal archives.
class ZipArchive {
 public:
  /// Add a file. Errors: base.zip.large if the archive, or the file, reaches 4 GiB, or for more than 65,534 files.
  Result<void> add(std::string_view name, std::string_view bytes);
  /// Return the archive. Errors: base.zip.large.
  Result<std::string> finish() &&;

 private:
  std::string out_;      ///< headers and contents
  std::string entries_;  ///< the directory at the end
  uint32_t files_ = 0;
};

}  // namespace chakra
