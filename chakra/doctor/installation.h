// `chakra doctor` without a path, as a call: diagnose this installation. A check is a row.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/options/options.h"
#include "chakra/view/view.h"

namespace chakra::doctor {

/// Return the script that replaces the link NAME -> chakra in a wheel, because wheels cannot contain links.
std::string launcher_of(std::string_view name);

/// Names of mlcommons/chakra's commands (docs/reference/names.md), required in the folder of the program: links to the
/// program, or files of launcher_of().
inline constexpr std::array<std::string_view, 6> kCommandNames{"chakra_trace_link", "chakra_converter",
                                                               "chakra_generator",  "chakra_jsonizer",
                                                               "chakra_visualizer", "chakra_timeline_visualizer"};
/// A program, with all names of the program.
struct Installation {
  std::string command;  ///< the path of the program
  std::vector<std::string> names{kCommandNames.begin(), kCommandNames.end()};
};
struct DoctorOptions {
  std::string path;      ///< a file or a folder; empty: the installation
  bool repair = false;   ///< run repair_container() instead
  bool secrets = false;  ///< list what the files reveal instead
  bool plugins = false;  ///< run check_plugins() instead
};
options::Options rows_of(DoctorOptions& options);
/// Return the installation of this process; in another program, of the command `chakra` that the shell finds.
Installation own_installation();

/// The result of a check, and advice if the status is not ok.
struct Checked {
  enum class Status : uint8_t { ok, note, wrong } status = Status::ok;
  std::string text, advice = {};
};
inline constexpr std::array<std::string_view, 3> kStatusNames{"ok", "note", "wrong"};

struct InstallationCheck {
  std::string_view name;
  std::string_view looks_at;
  Checked (*check)(const Installation& installation);
};
extern const std::span<const InstallationCheck> kInstallationChecks;

struct CheckedInstallation {
  struct Row {
    std::string_view name;  ///< of the check
    Checked checked;
  };
  std::vector<Row> rows;  ///< parallel to kInstallationChecks

  bool ok() const;  ///< no check is wrong
};
/// Run all checks, in order. Checks inspect the environment (PATH, TMPDIR) and the machine; a check never fails.
CheckedInstallation check_installation(const Installation& installation);
/// Return a row for each plugin of `chakra replay`: the path, or requirements and the build command. Opens all existing
/// plugins.
CheckedInstallation check_plugins(const Installation& installation);
view::Text text_of(const CheckedInstallation& checked);
answer::Answer answer_of(const CheckedInstallation& checked);

}  // namespace chakra::doctor
