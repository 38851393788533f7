#include "chakra/base/zip.h"

#include <gtest/gtest.h>
#include <isa-l/igzip_lib.h>

#include <cstring>
#include <memory>
#include <string>

#include "chakra/base/base.h"

namespace chakra {
namespace {

uint32_t number(const std::string& bytes, size_t at, int size) {
  uint32_t value = 0;
  for (int i = size - 1; i >= 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<size_t>(i)]);
  return value;
}

std::string inflated(std::string packed, size_t size) {
  std::string bytes(size + 1, '\0');
  const auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  state->next_in = reinterpret_cast<uint8_t*>(packed.data());
  state->avail_in = static_cast<uint32_t>(packed.size());
  state->next_out = reinterpret_cast<uint8_t*>(bytes.data());
  state->avail_out = static_cast<uint32_t>(bytes.size());
  EXPECT_EQ(isal_inflate(state.get()), ISAL_DECOMP_OK);
  bytes.resize(bytes.size() - state->avail_out);
  return bytes;
}

TEST(Zip, HoldsEachFileWhole) {
  std::string noise;
  uint64_t state = 1;
  for (int i = 0; i < 1'000'000; ++i) noise += static_cast<char>((state = state * 6364136223846793005u + 1) >> 56);
  const std::vector<std::pair<std::string, std::string>> files{
      {"empty.txt", ""}, {"a/b.xml", "hello"}, {"zeros", std::string(3'000'000, '\0')}, {"noise", noise}};
  ZipArchive zip;
  for (const auto& [name, bytes] : files) ASSERT_TRUE(zip.add(name, bytes));
  const std::string archive = std::move(zip).finish().value();
  const size_t end = archive.size() - 22;
  ASSERT_EQ(number(archive, end, 4), 0x06054B50u);
  EXPECT_EQ(number(archive, end + 10, 2), files.size());
  size_t entry = number(archive, end + 16, 4);
  EXPECT_EQ(entry + number(archive, end + 12, 4), end);
  for (const auto& [name, bytes] : files) {
    ASSERT_EQ(number(archive, entry, 4), 0x02014B50u);
    const size_t packed = number(archive, entry + 20, 4), at = number(archive, entry + 42, 4);
    EXPECT_EQ(number(archive, entry + 24, 4), bytes.size());
    EXPECT_EQ(archive.substr(entry + 46, name.size()), name);
    EXPECT_EQ(archive.substr(entry + 6, 26), archive.substr(at + 4, 26));  // the header is that of the directory
    ASSERT_EQ(number(archive, at, 4), 0x04034B50u);
    EXPECT_EQ(archive.substr(at + 30, name.size()), name);
    EXPECT_EQ(inflated(archive.substr(at + 30 + name.size(), packed), bytes.size()), bytes);
    entry += 46 + name.size();
  }
  EXPECT_EQ(entry, end);
}

TEST(Zip, RefusesTooManyFiles) {
  ZipArchive zip;
  for (int i = 0; i < 65'534; ++i) ASSERT_TRUE(zip.add("x", ""));
  EXPECT_EQ(zip.add("x", "").error().tag, "base.zip.large");
}

}  // namespace
}  // namespace chakra
