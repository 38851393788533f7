// An .et file, cut into its messages.
#include <fmt/core.h>

#include <cstring>
#include <protozero/varint.hpp>

#include "chakra/io/io.h"

namespace chakra::io {
namespace {
constexpr size_t kFirstBuffer = size_t{1} << 18;
constexpr uint64_t kLongestMessage = uint64_t{1} << 31;
}  // namespace

Result<EtFile> EtFile::open(const std::string& path) {
  CHAKRA_ASSIGN(ByteSource source, ByteSource::open(path));
  return EtFile(std::move(source));
}

/// Makes at least `wanted` bytes available, if the file has them. The buffer grows with what is
/// there, not with what a length prefix claims. Only where they are missing: a call for each message costs as much as
/// cutting it off.
Result<bool> EtFile::fill(size_t wanted) {
  while (end_ - begin_ < wanted && !ended_) {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      buffer_at_ += static_cast<int64_t>(begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    if (end_ == buffer_.size()) buffer_.resize(std::max(kFirstBuffer, buffer_.size() * 2));
    const size_t room = buffer_.size() - end_;
    CHAKRA_ASSIGN(const size_t got, source_.read({buffer_.data() + end_, room}));
    end_ += got;
    ended_ = got < room;
  }
  return end_ - begin_ >= wanted;
}

Result<bool> EtFile::next(std::string_view& message) {
  if (end_ - begin_ < protozero::max_varint_length) CHAKRA_TRY(fill(protozero::max_varint_length));
  message_at_ = buffer_at_ + static_cast<int64_t>(begin_);
  if (begin_ == end_) return false;
  const char* at = buffer_.data() + begin_;
  uint64_t length = 0;
  try {
    length = protozero::decode_varint(&at, buffer_.data() + end_);
  } catch (const protozero::end_of_buffer_exception&) {
    return fail(Code::bad_input, "io.et.truncated", "the file ends inside the length of a message", place());
  } catch (const protozero::exception&) {
    return fail(Code::bad_input, "io.et.damaged", "expected a message length", place());
  }
  const auto prefix = static_cast<size_t>(at - (buffer_.data() + begin_));
  if (length > kLongestMessage)
    return fail(Code::bad_input, "io.et.damaged", fmt::format("invalid message size of {} bytes", length), place());
  if (end_ - begin_ < prefix + length) {
    CHAKRA_ASSIGN(const bool whole, fill(prefix + length));
    if (!whole)
      return fail(Code::bad_input, "io.et.truncated",
                  fmt::format("a message of {} bytes runs past the end of the file", length), place());
  }
  message = {buffer_.data() + begin_ + prefix, length};
  begin_ += prefix + length;
  return true;
}

}  // namespace chakra::io
