#include <fmt/core.h>
#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include "chakra/base/file.h"
#include "chakra/base/packing.h"

namespace chakra {

struct PackedFile::State {
  AtomicFile file;
  Packing packing = Packing::plain;
  std::vector<char> buffer;
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> zstd{nullptr, &ZSTD_freeCCtx};
  isal_zstream gzip;
  std::vector<uint8_t> gzip_level;

  explicit State(AtomicFile to) : file(std::move(to)) {}

  Result<void> pack_zstd(std::string_view bytes, ZSTD_EndDirective end) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (;;) {
      ZSTD_outBuffer out{buffer.data(), buffer.size(), 0};
      const size_t left = ZSTD_compressStream2(zstd.get(), &out, &in, end);
      if (ZSTD_isError(left))
        return fail(Code::io, "base.file.write", fmt::format("cannot pack: {}", ZSTD_getErrorName(left)));
      CHAKRA_TRY(file.write({buffer.data(), out.pos}));
      if (end == ZSTD_e_end ? left == 0 : in.pos == in.size) return {};
    }
  }
  Result<void> pack_gzip(std::string_view bytes, bool end) {
    do {
      const std::string_view part = bytes.substr(0, size_t{1} << 30);
      bytes.remove_prefix(part.size());
      gzip.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(part.data()));
      gzip.avail_in = static_cast<uint32_t>(part.size());
      gzip.end_of_stream = end && bytes.empty() ? 1 : 0;
      do {
        gzip.next_out = reinterpret_cast<uint8_t*>(buffer.data());
        gzip.avail_out = static_cast<uint32_t>(buffer.size());
        if (const int status = isal_deflate(&gzip); status != COMP_OK)
          return fail(Code::io, "base.file.write", fmt::format("cannot pack (code {})", status));
        CHAKRA_TRY(file.write({buffer.data(), buffer.size() - gzip.avail_out}));
      } while (gzip.avail_out == 0);
    } while (!bytes.empty());
    return {};
  }
};

PackedFile::PackedFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
PackedFile::PackedFile(PackedFile&&) noexcept = default;
PackedFile::~PackedFile() = default;

Result<PackedFile> PackedFile::create(const std::string& path) {
  CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  auto state = std::make_unique<State>(std::move(file));
  if (path.ends_with(".gz")) {
    state->packing = Packing::gzip;
    isal_deflate_init(&state->gzip);
    state->gzip_level.resize(ISAL_DEF_LVL1_DEFAULT);
    state->gzip.level = 1;
    state->gzip.level_buf = state->gzip_level.data();
    state->gzip.level_buf_size = static_cast<uint32_t>(state->gzip_level.size());
    state->gzip.gzip_flag = IGZIP_GZIP;
    state->gzip.flush = NO_FLUSH;
  } else if (path.ends_with(".zst")) {
    state->packing = Packing::zstd;
    state->zstd.reset(ZSTD_createCCtx());
    ZSTD_CCtx_setParameter(state->zstd.get(), ZSTD_c_compressionLevel, 3);
    ZSTD_CCtx_setParameter(state->zstd.get(), ZSTD_c_checksumFlag, 1);
  }
  if (state->packing != Packing::plain) state->buffer.resize(kPackingBuffer);
  return PackedFile(std::move(state));
}

Result<void> PackedFile::write(std::string_view bytes) {
  if (bytes.empty()) return {};
  if (state_->packing == Packing::gzip) return state_->pack_gzip(bytes, false);
  if (state_->packing == Packing::zstd) return state_->pack_zstd(bytes, ZSTD_e_continue);
  return state_->file.write(bytes);
}

Result<void> PackedFile::close() {
  if (state_->packing == Packing::gzip) CHAKRA_TRY(state_->pack_gzip({}, true));
  if (state_->packing == Packing::zstd) CHAKRA_TRY(state_->pack_zstd({}, ZSTD_e_end));
  state_->packing = Packing::plain;
  state_->zstd.reset();
  state_->buffer = {};
  state_->gzip_level = {};
  return state_->file.close();
}

Result<void> PackedFile::sync_file_system(std::set<uint64_t>& done) const {
  return state_->file.sync_file_system(done);
}

Result<void> PackedFile::commit(bool synced) {
  CHAKRA_TRY(close());
  return state_->file.commit(synced);
}

}  // namespace chakra
