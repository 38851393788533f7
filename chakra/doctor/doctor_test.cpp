// The installation and the example recordings, whole and damaged.
#include "chakra/doctor/doctor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "chakra/base/testing/testing.h"
#include "chakra/io/io.h"
#include "chakra/trace/testing/random_job.h"
#include "chakra/view/view.h"

namespace chakra::doctor {
namespace {

using chakra::testing::must_read;
using chakra::testing::tag_of;
using chakra::testing::TemporaryFolder;

constexpr const char* kRecordings = "examples/traces/ddp_gloo_2ranks";

TEST(Files, AreExamined) {
  const auto recordings = examine_files(kRecordings);
  ASSERT_TRUE(recordings) << recordings.error().message();
  EXPECT_TRUE(recordings->ok());
  EXPECT_EQ(recordings->files.size(), 4u);
  EXPECT_EQ(recordings->next.size(), 1u);
  TemporaryFolder folder;
  Prng random(1);
  const std::string bytes = io::to_et(trace::testing::random_job(random).build().ranks[0]);
  folder.write("trace.3.et", std::string_view(bytes).substr(0, bytes.size() / 2));
  const auto cut = examine_files(folder.path());
  ASSERT_TRUE(cut) << cut.error().message();
  EXPECT_FALSE(cut->ok());
  EXPECT_EQ(cut->files[0].kind, ExaminedFile::Kind::trace);
  EXPECT_TRUE(contains(view::to_text(answer_of(*cut), text_of(*cut)), "trace.3.et"));
  EXPECT_EQ(tag_of(examine_files(folder.path("nowhere"))), "base.file.open");
}

TEST(Installation, IsCheckedByRows) {
  TemporaryFolder folder;
  const Installation installation{folder.write("bin/chakra", ""), {"chakra_converter"}};
  folder.write("share/chakra/examples/traces/README", "");
  const auto check = [&](std::string_view name) {
    const auto row = std::find_if(kInstallationChecks.begin(), kInstallationChecks.end(),
                                  [&](const InstallationCheck& r) { return r.name == name; });
    return row == kInstallationChecks.end() ? Checked{Checked::Status::wrong, "no such row"} : row->check(installation);
  };
  const CheckedInstallation before = check_installation(installation);
  ASSERT_EQ(before.rows.size(), kInstallationChecks.size());
  EXPECT_EQ(check("names").status, Checked::Status::note);
  std::filesystem::create_symlink("chakra", folder.path("bin/chakra_converter"));
  EXPECT_EQ(check("names").status, Checked::Status::ok);
  std::filesystem::remove(folder.path("bin/chakra_converter"));
  folder.write("bin/chakra_converter", "#!/bin/sh\nexec \"${0%/*}/chakra\" chakra_converter \"$@\"\n");  // a wheel's
  EXPECT_EQ(check("names").status, Checked::Status::ok);
  folder.write("bin/chakra_converter", "#!/bin/sh\nexec chakra\n");
  EXPECT_EQ(check("names").status, Checked::Status::note);
  EXPECT_EQ(check("examples").text, folder.path("share/chakra/examples"));
  EXPECT_TRUE(contains(to_json_text(answer_of(before)), "\"name\": \"temporary files\""));
}

}  // namespace
}  // namespace chakra::doctor
