#include "chakra/base/zip.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "chakra/base/bytes.h"
#include "chakra/base/packing.h"

namespace chakra {

// `base.zip.large` (1): an archive or a file in it reaches 4 GiB, or the archive has more than 65,534 files

namespace {

constexpr uint64_t kMostZipBytes = UINT32_MAX - uint64_t{1};
constexpr uint32_t kMostZipFiles = UINT16_MAX - 1;
constexpr uint16_t kVersion = 20, kUtf8Names = 1 << 11, kDeflate = 8, kFirstDay = 1 << 5 | 1;

Failure too_large() { return fail(Code::bad_input, "base.zip.large", "the archive would reach 4 GiB"); }

}  // namespace

Result<std::string> deflated(std::string_view bytes) {
  std::string packed;
  const auto level = std::make_unique_for_overwrite<uint8_t[]>(ISAL_DEF_LVL3_DEFAULT);
  std::vector<uint8_t> buffer(std::min(kPackingBuffer, bytes.size() + 1024));
  const auto stream = std::make_unique<isal_zstream>();
  isal_deflate_init(stream.get());
  stream->level = 3;
  stream->level_buf = level.get();
  stream->level_buf_size = ISAL_DEF_LVL3_DEFAULT;
  stream->next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(bytes.data()));
  stream->avail_in = static_cast<uint32_t>(bytes.size());
  stream->end_of_stream = 1;
  do {
    stream->next_out = buffer.data();
    stream->avail_out = static_cast<uint32_t>(buffer.size());
    if (const int status = isal_deflate(stream.get()); status != COMP_OK)
      return fail(Code::io, "base.file.write", "cannot pack (code " + std::to_string(status) + ")");
    packed.append(reinterpret_cast<const char*>(buffer.data()), buffer.size() - stream->avail_out);
  } while (stream->avail_out == 0);
  return packed;
}

Result<void> ZipArchive::add(std::string_view name, std::string_view bytes) {
  if (bytes.size() > kMostZipBytes || files_ >= kMostZipFiles) return too_large();
  CHAKRA_ASSIGN(const std::string packed, deflated(bytes));
  const uint64_t at = out_.size();
  if (at + packed.size() + name.size() > kMostZipBytes) return too_large();
  std::string about;  // equal in the header and in the directory
  put_fixed(about, kVersion, 2);
  put_fixed(about, kUtf8Names, 2);
  put_fixed(about, kDeflate, 2);
  put_fixed(about, 0, 2);
  put_fixed(about, kFirstDay, 2);
  put_fixed(about, crc32_gzip_refl(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()), 4);
  put_fixed(about, packed.size(), 4);
  put_fixed(about, bytes.size(), 4);
  put_fixed(about, name.size(), 2);
  put_fixed(about, 0, 2);
  put_fixed(out_, 0x04034B50, 4);
  out_ += about;
  out_ += name;
  out_ += packed;
  put_fixed(entries_, 0x02014B50, 4);
  put_fixed(entries_, kVersion, 2);
  entries_ += about;
  entries_.append(2 + 2 + 2 + 4, '\0');  // no comment, disk 0, no attributes
  put_fixed(entries_, at, 4);
  entries_ += name;
  ++files_;
  return {};
}

Result<std::string> ZipArchive::finish() && {
  const uint64_t at = out_.size();
  if (at + entries_.size() > kMostZipBytes) return too_large();
  out_ += entries_;
  put_fixed(out_, 0x06054B50, 4);
  put_fixed(out_, 0, 4);
  put_fixed(out_, files_, 2);
  put_fixed(out_, files_, 2);
  put_fixed(out_, entries_.size(), 4);
  put_fixed(out_, at, 4);
  put_fixed(out_, 0, 2);
  return std::move(out_);
}

}  // namespace chakra
