// The doors to the outside: text and numbers that come in, bytes that go out, and the one percentile.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/base/quantile.h"
#include "chakra/base/testing/testing.h"

namespace chakra {
namespace {

using testing::TemporaryFolder;

TEST(Quantile, IsNumpys) {
  EXPECT_DOUBLE_EQ(quantile(std::vector<int>{1, 2, 3, 4}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(std::vector<int>{1, 2, 3, 4}, 0.95), 3.85);
  EXPECT_DOUBLE_EQ(quantile(std::vector<double>{10, 20, 40}, 0.25), 15);
  EXPECT_DOUBLE_EQ(quantile(std::vector<double>{7}, 0.95), 7);
  EXPECT_DOUBLE_EQ(quantile(std::vector<double>{}, 0.5), 0);
  EXPECT_DOUBLE_EQ(quantile(std::vector<double>{1, 9}, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(std::vector<double>{1, 9}, 1), 9);
  EXPECT_EQ(whole_quantile(std::vector<int64_t>{1, 2}, 0.5), 2);
  constexpr int64_t kNow = 1'800'000'000'000'000'001;  // ns since 1970: no double
  EXPECT_EQ(whole_quantile(std::vector<int64_t>{kNow, kNow + 2}, 0.5), kNow + 1);
  Prng random(1);
  for (size_t count = 0; count < 20; ++count) {
    std::vector<double> numbers;
    for (size_t i = 0; i < count; ++i) numbers.push_back(static_cast<double>(random.below(9)));
    std::vector<double> ascending = numbers;
    std::sort(ascending.begin(), ascending.end());
    for (const double q : {0.0, 0.1, 0.5, 0.95, 1.0}) {
      EXPECT_DOUBLE_EQ(quantile_of(numbers, q), quantile(ascending, q)) << count << " " << q;
      EXPECT_EQ(whole_quantile_of({numbers.begin(), numbers.end()}, q), std::llround(quantile(ascending, q)));
    }
  }
}

TEST(Escape, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(escape("plain, \xc3\xa4 and \xe6\xbc\xa2"), "plain, \xc3\xa4 and \xe6\xbc\xa2");
  EXPECT_EQ(escape("\x1b[31mred\n\t\x7f"), "\\x1b[31mred\\x0a\\x09\\x7f");
  EXPECT_EQ(escape("a\xc2\x9b"
                   "31m"),
            "a\\u009b31m");  // C1
  EXPECT_EQ(escape("txt.\xe2\x80\xae"
                   "exe"),
            "txt.\\u202eexe");                              // right to left
  EXPECT_EQ(escape("\xf3\xa0\x81\x81"), "\\udb40\\udc41");  // a tag
  EXPECT_EQ(escape("\xff\xc3"), "\\xff\\xc3");              // not UTF-8
  EXPECT_EQ(escape_lines("a\n\tb\r"), "a\n\tb\\x0d");
  EXPECT_EQ(quote("\xc2\x9b"), "'\\u009b'");
  const Error error{Code::bad_input, "x.y", "said \x1b]0;x\x07", {"a\nb", -1, -1}};
  EXPECT_EQ(error.message(), "a\\x0ab: said \\x1b]0;x\\x07 [x.y]");
}

TEST(Spec, WholeNumbersStayInTheirRange) {
  const auto said = [](const std::string& text) {
    const auto spec = parse_spec("n: " + text + "\n", "f.yml");
    return spec->find("n")->integer("n", 1, INT32_MAX, "x.value");
  };
  EXPECT_EQ(*said("8"), 8);
  EXPECT_EQ(*said("8.0"), 8);
  for (const char* text : {"0", "-1", "4294967296", "4294967297", "8e15"})
    EXPECT_EQ(said(text).error().tag, "x.value") << text;
  for (const char* text : {"1.5", "0x10", "1e300", "nan", "'a'"})
    EXPECT_EQ(said(text).error().tag, "base.spec.type") << text;
}

/// A pipe that takes no more for the moment is waited for, and one without a reader is an error.
TEST(File, AllIsWrittenToAPipeThatDoesNotBlock) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  const std::string much(1 << 20, 'x');
  std::string got;
  std::thread reader([&] {
    std::string piece(1 << 14, '\0');
    while (got.size() < much.size()) {
      const ssize_t n = ::read(ends[0], piece.data(), piece.size());
      if (n > 0) got.append(piece, 0, static_cast<size_t>(n));
    }
  });
  EXPECT_TRUE(write_all(ends[1], much, "pipe"));
  reader.join();
  EXPECT_EQ(got, much);
  ::close(ends[0]);
  std::signal(SIGPIPE, SIG_IGN);
  const auto lost = write_all(ends[1], much, "pipe");
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().tag, "base.file.write");
  ::close(ends[1]);
}

TEST(File, TheTemporaryNameOfOthersIsLeftAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a"), taken = path + "." + std::to_string(::getpid()) + ".tmp";
  ASSERT_TRUE(write_file(taken, "theirs"));
  ASSERT_TRUE(write_file(path, "ours"));
  EXPECT_EQ(*read_file(taken), "theirs");
  EXPECT_EQ(*read_file(path), "ours");
  EXPECT_EQ(list_folder(folder.path())->size(), 2u);
}

}  // namespace
}  // namespace chakra
