#include "chakra/base/unpacker.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "chakra/base/file.h"

namespace chakra {
namespace {

std::atomic<uint64_t> most_unpacked{0};  // 0: kMostUnpacked and kMostUnpackedTimes

Packing packing_of(std::string_view head) {
  if (head.starts_with("\x1f\x8b")) return Packing::gzip;
  if (head.starts_with("\x28\xb5\x2f\xfd")) return Packing::zstd;
  return Packing::plain;
}

}  // namespace

void set_most_unpacked(uint64_t bytes) { most_unpacked = bytes; }

RawInput::~RawInput() {
  if (fd >= 0) ::close(fd);
}

Result<size_t> RawInput::read(char* to, size_t size) {
  for (;;) {
    const ssize_t got = ::read(fd, to, size);
    if (got >= 0) {
      file_read += static_cast<uint64_t>(got);
      return static_cast<size_t>(got);
    }
    if (errno != EINTR) return io_error("base.file.read", "cannot read", file, errno);
  }
}

Result<void> RawInput::refill() {
  if (fd < 0 || ended) {
    ended = true;
    return {};
  }
  CHAKRA_ASSIGN(const size_t got, read(buffer.get(), kPackingBuffer));
  ready = {buffer.get(), got};
  ended = got == 0;
  return {};
}

Unpacker::Unpacker() : chosen_limit_(most_unpacked) {}

void Unpacker::start() {
  packing_ = packing_of(raw.ready);
  if (packing_ != Packing::zstd) return;
  zstd_.reset(ZSTD_createDCtx());
  in_member_ = true;
}

Result<void> Unpacker::read_plain(std::span<char> to, size_t& done) {
  const size_t ready = std::min(to.size() - done, raw.ready.size());
  if (ready > 0) std::memcpy(to.data() + done, raw.ready.data(), ready);
  raw.ready.remove_prefix(ready);
  done += ready;
  while (done < to.size() && raw.fd >= 0) {
    CHAKRA_ASSIGN(const size_t got, raw.read(to.data() + done, to.size() - done));
    if (got == 0) break;
    done += got;
  }
  return {};
}

Result<void> Unpacker::read_gzip(std::span<char> to, size_t& done) {
  while (done < to.size()) {
    if (raw.ready.empty()) CHAKRA_TRY(raw.refill());
    if (raw.ready.empty()) {
      if (in_member_) return fail(Code::bad_input, "base.gzip.truncated", "the gzip data is truncated", here(done));
      break;
    }
    if (!in_member_) {  // gzip files may hold several members one after the other
      // Input may end inside the two magic bytes: then the first alone must do.
      if (raw.ready[0] != '\x1f') {
        if (offset + static_cast<int64_t>(done) == 0 || raw.ready[0] != '\0')
          return fail(Code::bad_input, "base.gzip.damaged", "expected gzip data here", here(done));
        raw.ready.remove_prefix(1);  // zero padding after the last member
        continue;
      }
      isal_inflate_init(&gzip_);
      gzip_.crc_flag = ISAL_GZIP;
      in_member_ = true;
    }
    gzip_.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(raw.ready.data()));
    gzip_.avail_in = static_cast<uint32_t>(std::min<size_t>(raw.ready.size(), 1u << 30));
    gzip_.next_out = reinterpret_cast<uint8_t*>(to.data() + done);
    const auto room = static_cast<uint32_t>(std::min<size_t>(to.size() - done, 1u << 30));
    gzip_.avail_out = room;
    const uint32_t offered = gzip_.avail_in;
    const int status = isal_inflate(&gzip_);
    raw.ready.remove_prefix(offered - gzip_.avail_in);
    done += room - gzip_.avail_out;
    if (status != ISAL_DECOMP_OK)
      return fail(Code::bad_input, "base.gzip.damaged", fmt::format("the gzip data is damaged (code {})", status),
                  here(done));
    if (gzip_.block_state == ISAL_BLOCK_FINISH) in_member_ = false;
  }
  return {};
}

Result<void> Unpacker::read_zstd(std::span<char> to, size_t& done) {
  while (done < to.size()) {
    if (raw.ready.empty()) CHAKRA_TRY(raw.refill());
    if (raw.ready.empty() && !in_member_) break;  // between frames: asking on would begin a new one
    ZSTD_inBuffer in{raw.ready.data(), raw.ready.size(), 0};
    ZSTD_outBuffer out{to.data() + done, to.size() - done, 0};
    const size_t status = ZSTD_decompressStream(zstd_.get(), &out, &in);
    if (ZSTD_isError(status))
      return fail(Code::bad_input, "base.zstd.damaged",
                  fmt::format("the zstd data is damaged: {}", ZSTD_getErrorName(status)), here(done));
    raw.ready.remove_prefix(in.pos);
    done += out.pos;
    in_member_ = status != 0;
    if (raw.ended && in_member_ && out.pos == 0)
      return fail(Code::bad_input, "base.zstd.truncated", "the zstd data is truncated", here(done));
  }
  return {};
}

/// Of all unpacked bytes; files that are not packed have none.
uint64_t Unpacker::limit() const {
  constexpr uint64_t kNone = uint64_t{1} << 62;
  if (packing_ == Packing::plain && (raw.fd < 0 || raw.file_size > 0)) return kNone;
  if (chosen_limit_ > 0) return std::min(chosen_limit_, kNone);
  if (packing_ == Packing::plain) return kMostUnpacked;
  const uint64_t packed = std::max({raw.file_size, raw.file_read, raw.fd < 0 ? raw.memory_size : 0});
  return packed > kMostUnpacked / kMostUnpackedTimes ? kMostUnpacked : packed * kMostUnpackedTimes;
}
Failure Unpacker::beyond_limit(size_t done) const {
  return fail(
      Code::bad_input, "base.unpack.limit",
      packing_ == Packing::plain
          ? fmt::format("the pipe gives more than {} bytes; --max-unpacked raises the limit", limit())
          : fmt::format(
                "unpacking gives more than {} bytes, too many for the packed size; --max-unpacked raises the limit",
                limit()),
      here(done));
}

Result<size_t> Unpacker::read(std::span<char> to) {
  if (damage_) return Failure(*damage_);
  size_t done = 0;
  Result<void> result;
  for (bool ended = false; result && !ended && done < to.size();) {
    const size_t before = done, piece = std::min<uint64_t>(to.size() - done, limit() - unpacked_ + 1);
    const std::span<char> part = to.first(done + piece);
    if (packing_ == Packing::gzip) result = read_gzip(part, done);
    else if (packing_ == Packing::zstd) result = read_zstd(part, done);
    else result = read_plain(part, done);
    ended = done < part.size();
    unpacked_ += done - before;
    if (result && unpacked_ > limit()) result = beyond_limit(done);
  }
  if (result) return done;
  if (!keep_what_is_whole || done == 0) return Failure(std::move(result.error()));
  damage_ = std::move(result.error());
  return done;
}

}  // namespace chakra
