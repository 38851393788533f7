// Helpers for the tests of several rooms: the folder of test data, temporary folders, text read from files.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "chakra/base/base.h"

namespace chakra::testing {

/// Return the folder that `variable` names, or `fallback`; empty if the folder does not exist.
inline std::string folder_from(const char* variable, const char* fallback) {
  const char* given = std::getenv(variable);
  const std::string path = given ? given : fallback;
  return is_directory(path) ? path : std::string();
}
inline std::string data_folder() { return folder_from("CHAKRA_TEST_DATA", "../shared/data"); }
inline std::string golden_folder() { return folder_from("CHAKRA_TEST_GOLDEN", "../shared/golden"); }

/// Skip the test if the real data is absent.
#define CHAKRA_NEEDS_DATA() \
  if (::chakra::testing::data_folder().empty()) GTEST_SKIP() << "no test data (CHAKRA_TEST_DATA)"

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "chakra-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  std::string path(const std::string& name = "") const { return name.empty() ? path_ : path_ + "/" + name; }
  std::string write(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    EXPECT_TRUE(write_file(path(name), text));
    return path(name);
  }

 private:
  std::string path_;
};

/// Unpack a tar file, compressed or not, into a folder.
inline void unpack(const std::string& tar, const std::string& folder) {
  std::filesystem::create_directories(folder);
  const bool zstd = tar.ends_with(".zst");
  const std::string command = zstd ? "zstd -q -d --long=27 -c '" + tar + "' | tar x -C '" + folder + "'"
                                   : "tar xzf '" + tar + "' -C '" + folder + "' 2>/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

inline std::string must_read(const std::string& path) {
  auto text = read_file(path);
  EXPECT_TRUE(text) << (text ? "" : text.error().message());
  return text ? *text : std::string();
}

/// Return a pattern for EXPECT_DEATH that matches this text literally.
inline std::string literal(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

/// Return the tag of a result's error, or "" without an error.
template <class T>
std::string tag_of(const Result<T>& result) {
  return result ? std::string() : result.error().tag;
}

}  // namespace chakra::testing
