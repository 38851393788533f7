// Plugins are code that is run: where they are searched, and where not.
#include "chakra/replay/plugin.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "chakra/base/testing/testing.h"

namespace chakra::replay {
namespace {

using chakra::testing::tag_of;
using chakra::testing::TemporaryFolder;
using Places = std::vector<std::string>;

class Plugins : public ::testing::Test {
 protected:
  void SetUp() override { ::unsetenv("CHAKRA_PLUGINS"); }
  void TearDown() override { ::unsetenv("CHAKRA_PLUGINS"); }
  TemporaryFolder folder_;
};

TEST_F(Plugins, AreSearchedBesideTheProgramAndInItsInstallation) {
  const std::string file = "/libchakra_replay_torch.so";
  EXPECT_EQ(plugin_places("torch", "/opt/chakra/bin/chakra"),
            (Places{"/opt/chakra/bin" + file, "/opt/chakra/lib/chakra" + file}));
  EXPECT_EQ(plugin_places("torch", "/tmp/chakra"), (Places{"/tmp" + file}));
}

TEST_F(Plugins, AreSearchedBesideABuildTree) {
  const std::string program = folder_.path("build/release/bin/chakra");
  EXPECT_EQ(plugin_places("torch", program).size(), 2u);
  folder_.write("build/release/CMakeCache.txt", "");
  const Places places = plugin_places("torch", program);
  ASSERT_EQ(places.size(), 3u);
  EXPECT_EQ(places[2], folder_.path("build/torch/libchakra_replay_torch.so"));
}

TEST_F(Plugins, AreSearchedInTheNamedFolderAlone) {
  ::setenv("CHAKRA_PLUGINS", "/my", 1);
  EXPECT_EQ(plugin_places("mpi", "/opt/chakra/bin/chakra"), (Places{"/my/libchakra_replay_mpi.so"}));
  EXPECT_EQ(find_plugin("mpi"), "");
  ::setenv("CHAKRA_PLUGINS", "", 1);  // not the current folder
  EXPECT_EQ(plugin_places("mpi", "/opt/x/chakra"), (Places{"/opt/x/libchakra_replay_mpi.so"}));
  ::setenv("CHAKRA_PLUGINS", folder_.path().c_str(), 1);
  const std::string file = folder_.write("libchakra_replay_mpi.so", "text");
  EXPECT_EQ(find_plugin("mpi"), file);
  EXPECT_EQ(tag_of(open_library(file)), "replay.library");
}

}  // namespace
}  // namespace chakra::replay
