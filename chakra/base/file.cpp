// Whole files and folders.
#include "chakra/base/file.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace chakra {

Result<bool> read_whole(ByteSource& source, size_t limit, std::string& text, size_t expected) {
  for (;;) {
    const size_t before = text.size();
    text.resize(std::max({expected, size_t{1} << 16, before * 2}));
    CHAKRA_ASSIGN(const size_t got, source.read({text.data() + before, text.size() - before}));
    const bool ended = got < text.size() - before;
    text.resize(before + got);
    if (text.size() > limit) return false;
    if (ended) return true;
  }
}

Result<std::string> read_file(const std::string& path, size_t limit) {
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(path));
  std::string text;
  std::error_code unknown;
  const uintmax_t size = std::filesystem::file_size(path, unknown);  // what is unpacked has more, a pipe has none
  CHAKRA_ASSIGN(const bool whole, read_whole(source, limit, text, unknown ? 0 : std::min<uintmax_t>(size, limit) + 1));
  if (!whole)
    return fail(Code::bad_input, "base.file.large", fmt::format("the file is larger than {} bytes", limit), {path});
  return text;
}

std::string resolve_links(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;  // as the system
  std::error_code error;
  fs::path at = path;
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(at, error)); ++i) {
    const fs::path to = fs::read_symlink(at, error);
    if (error) break;
    at = to.is_absolute() ? to : at.parent_path() / to;
  }
  const fs::path resolved = fs::weakly_canonical(fs::absolute(at, error), error);
  return error ? path : resolved.string();
}

Result<void> make_directories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || !is_directory(path))
    return fail(Code::io, "base.file.create",
                fmt::format("cannot create the folder: {}", error ? error.message() : "a file is there"), {path});
  return {};
}

Result<std::vector<std::string>> list_folder(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error) return fail(Code::io, "base.file.open", "cannot list the folder: " + error.message(), {folder});
  std::sort(names.begin(), names.end());
  return names;
}

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

uint64_t file_size(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size) : 0;
}

bool same_contents(const std::string& a, const std::string& b, uint64_t from_a, uint64_t from_b) {
  constexpr size_t kPiece = size_t{1} << 14;
  std::ifstream files[2] = {std::ifstream(a, std::ios::binary), std::ifstream(b, std::ios::binary)};
  std::string pieces[2] = {std::string(kPiece, 0), std::string(kPiece, 0)};
  files[0].seekg(static_cast<std::streamoff>(from_a));
  files[1].seekg(static_cast<std::streamoff>(from_b));
  while (files[0] && files[1]) {
    for (int i = 0; i < 2; ++i) files[i].read(pieces[i].data(), kPiece);
    const auto got = files[0].gcount();
    if (got != files[1].gcount() || std::memcmp(pieces[0].data(), pieces[1].data(), static_cast<size_t>(got)) != 0)
      return false;
    if (got < static_cast<std::streamsize>(kPiece)) return files[0].eof() && files[1].eof();
  }
  return false;
}

}  // namespace chakra
