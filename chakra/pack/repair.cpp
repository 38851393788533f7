// A container that was cut, or to which adding was interrupted, as it was before.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "chakra/pack/blocks.h"
#include "chakra/pack/file_lock.h"
#include "chakra/pack/pack.h"

namespace chakra::pack {
namespace {

constexpr uint64_t kSizeBehindEnd = 20;  ///< where a trailer gives the size of the file, counted from its end
constexpr int kMostTried = 16;

/// Whether a trailer that ends at `end` says so itself: bytes of a block may look like its end by chance.
bool ends_here(std::ifstream& file, uint64_t end) {
  if (end < kSizeBehindEnd) return false;
  unsigned char bytes[8] = {};
  file.clear();
  file.seekg(static_cast<std::streamoff>(end - kSizeBehindEnd));
  file.read(reinterpret_cast<char*>(bytes), sizeof bytes);
  uint64_t said = 0;
  for (int i = 0; i < 8; ++i) said |= uint64_t{bytes[i]} << (8 * i);
  return file.good() && said == end;
}

/// Calls `use(end)` for each trailer's end, the last one first, until it returns true.
template <class Use>
void for_each_end(const std::string& path, uint64_t size, const Use& use) {
  constexpr uint64_t kPiece = uint64_t{1} << 20;
  std::ifstream file(path, std::ios::binary);
  std::string piece;
  for (uint64_t end = size; end > 0;) {
    const uint64_t begin = end - std::min(end, kPiece);
    piece.resize(std::min(size, end + kEndMagic.size() - 1) - begin);  // with what may reach beyond the piece
    file.clear();
    file.seekg(static_cast<std::streamoff>(begin));
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    if (!file.good()) return;
    for (size_t at = piece.rfind(kEndMagic); at != std::string::npos; at = at ? piece.rfind(kEndMagic, at - 1) : at) {
      const uint64_t behind = begin + at + kEndMagic.size();
      if (ends_here(file, behind) && use(behind)) return;
      if (at == 0) break;
    }
    end = begin;
  }
}

Result<void> cut(const std::string& path, uint64_t bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool done = fd >= 0 && ::ftruncate(fd, static_cast<off_t>(bytes)) == 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!done) return fail(Code::io, "base.file.write", fmt::format("cannot cut: {}", std::strerror(error)), {path});
  return {};
}

}  // namespace

Result<Repaired> repair_container(const std::string& path) {
  CHAKRA_ASSIGN(const FileLock lock, FileLock::wait(path));
  const auto whole = [&](uint64_t bytes) -> Result<ContainerPtr> {
    CHAKRA_ASSIGN(ContainerPtr container, Container::open_beginning(path, bytes));
    CHAKRA_TRY(container->verify());
    return container;
  };
  const uint64_t size = file_size(path);
  Result<ContainerPtr> found = Container::open(path);
  if (found) {  // cutting off the ranks after a damaged block does not mend the block
    CHAKRA_TRY((*found)->verify());
  } else if (found.error().tag == "io.container.truncated" || found.error().tag == "io.container.damaged") {
    int tried = 0;
    for_each_end(path, size, [&](uint64_t end) {
      if (end == size) return false;
      Result<ContainerPtr> older = whole(end);
      const bool good = older.has_value();
      if (good) found = std::move(older);
      return good || ++tried == kMostTried;
    });
  }
  if (!found && found.error().tag == "io.container.truncated")
    return fail(Code::bad_input, "io.container.truncated",
                "the file was truncated, and no complete state is left in it: pack the job again", {path});
  if (!found) return Failure(std::move(found.error()));
  const auto bytes = static_cast<uint64_t>((*found)->size());
  if (bytes < size) CHAKRA_TRY(cut(path, bytes));
  return Repaired{static_cast<int64_t>((*found)->ranks().size()), static_cast<int64_t>(bytes),
                  static_cast<int64_t>(size - bytes)};
}

}  // namespace chakra::pack
