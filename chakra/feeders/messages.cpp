#include "chakra/feeders/messages.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace chakra::feeders {
namespace {

constexpr uint64_t kPageBytes = 64 << 10;

}  // namespace

Result<void> read_again(int fd, uint64_t at, std::string& to, const std::string& file) {
  for (size_t have = 0; have < to.size();) {
    const ssize_t got = ::pread(fd, to.data() + have, to.size() - have, static_cast<off_t>(at + have));
    if (got < 0) return fail(Code::io, "base.file.read", "the file cannot be read again", {file});
    if (got == 0)
      return fail(Code::bad_input, "io.et.truncated", "the file has become shorter since the first read", {file});
    have += static_cast<size_t>(got);
  }
  return {};
}

Messages::~Messages() {
  if (fd_ >= 0) ::close(fd_);
}

void Messages::add(std::string_view message) {
  const auto place = static_cast<Row>(size_.size());
  if (pages_.empty() || pages_.back().bytes >= kPageBytes) pages_.push_back({.first = place});
  size_.push_back(static_cast<uint32_t>(message.size()));
  begin_.push_back(static_cast<uint32_t>(pages_.back().bytes));
  if (fd_ >= 0) return;
  pages_.back().text += message;
  pages_.back().bytes += message.size();
}

void Messages::end_last(uint64_t end) {
  if (fd_ < 0 || size_.empty()) return;
  Page& page = pages_.back();
  const uint64_t begin = end - size_.back();
  if (size_.size() - 1 == page.first) page.at = begin;
  begin_.back() = static_cast<uint32_t>(begin - page.at);
  page.bytes = end - page.at;
}

void Messages::finish(uint64_t cached_bytes) {
  if (fd_ < 0) return;
  const uint64_t pages = std::max<uint64_t>(1, cached_bytes / kPageBytes);
  cache_.resize(std::min<uint64_t>(pages, pages_.size()));
}

Result<std::string_view> Messages::get(Row place) {
  const auto after =
      std::upper_bound(pages_.begin(), pages_.end(), place, [](Row p, const Page& page) { return p < page.first; });
  const auto number = static_cast<size_t>(after - pages_.begin()) - 1;
  const Page& page = pages_[number];
  if (fd_ < 0) return std::string_view(page.text).substr(begin_[place], size_[place]);
  Cached& cached = cache_[number % cache_.size()];
  if (cached.page != number && std::exchange(missed_, number) != number) {  // its neighbours may not be wanted
    alone_.resize(size_[place]);
    CHAKRA_TRY(read_again(fd_, page.at + begin_[place], alone_, file_));
    return alone_;
  }
  if (cached.page != number) {
    cached.page = SIZE_MAX;
    cached.text.resize(page.bytes);
    CHAKRA_TRY(read_again(fd_, page.at, cached.text, file_));
    cached.page = number;
  }
  return std::string_view(cached.text).substr(begin_[place], size_[place]);
}

}  // namespace chakra::feeders
