#include "chakra/base/append_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "chakra/base/testing/testing.h"

namespace chakra {
namespace {

using testing::must_read;
using testing::tag_of;
using testing::TemporaryFolder;

TEST(AppendFile, KeepsWholeLinesAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.path("lines");
  std::string lines = "before";
  {
    auto file = AppendFile::open(path, lines);
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(lines, "");
    ASSERT_TRUE(file->add("one"));
    ASSERT_TRUE(file->add("two"));
    ASSERT_TRUE(file->sync());
  }
  EXPECT_EQ(must_read(path), "one\ntwo\n");
  std::ofstream(path, std::ios::app) << "torn";
  {
    auto file = AppendFile::open(path, lines);
    ASSERT_TRUE(file);
    EXPECT_EQ(lines, "one\ntwo\n");
    ASSERT_TRUE(file->add("three"));
  }
  EXPECT_EQ(must_read(path), "one\ntwo\nthree\n");
  std::ofstream(path) << "a first line without an end";
  ASSERT_TRUE(AppendFile::open(path, lines));
  EXPECT_EQ(lines, "");
  EXPECT_EQ(must_read(path), "");
}

TEST(AppendFile, BelongsToOneProcess) {
  const TemporaryFolder folder;
  std::string lines;
  {
    const auto file = AppendFile::open(folder.path("lines"), lines);
    ASSERT_TRUE(file);
    EXPECT_EQ(tag_of(AppendFile::open(folder.path("lines"), lines)), "base.file.busy");
  }
  EXPECT_TRUE(AppendFile::open(folder.path("lines"), lines));
  EXPECT_EQ(tag_of(AppendFile::open(folder.path(), lines)), "base.file.open");
  EXPECT_EQ(tag_of(AppendFile::open(folder.path("none/lines"), lines)), "base.file.open");
  EXPECT_EQ(tag_of(AppendFile::open("/dev/null", lines)), "base.file.open");
}

/// A full disk, by a limit of the size of files.
TEST(AppendFile, HasNoPartOfALineThatFailed) {
  const TemporaryFolder folder;
  const std::string path = folder.path("lines");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{10, 10};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::string lines;
    auto file = AppendFile::open(path, lines);
    const bool first = file && file->add("12345").has_value();
    const bool second = file && tag_of(file->add("67890")) == "base.file.write";
    const bool third = file && file->add("678").has_value();
    ::_exit(first && second && third ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(must_read(path), "12345\n678\n");
}

}  // namespace
}  // namespace chakra
