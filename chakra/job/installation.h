// Whether this installation is as it should be: what `chakra doctor` does without a path, as a call. A check is a row.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/view/view.h"

namespace chakra::job {

/// The text of the script that replaces the link NAME -> chakra in a wheel, which has no links.
std::string launcher_of(std::string_view name);

/// A program and its names.
struct Installation {
  std::string command;             ///< the path of the program
  std::vector<std::string> names;  ///< that should lead to it, in its folder: links, or files of launcher_of()
};

/// The answer of a check, and advice where it is not ok.
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
  std::vector<Row> rows;  ///< as those of kInstallationChecks

  bool ok() const;  ///< nothing is wrong
};
/// All rows, in their order. They look at the environment (PATH, TMPDIR) and the machine; none of them fails.
CheckedInstallation check_installation(const Installation& installation);
/// A row for each plugin of `chakra replay`: where it is, or what it needs and the command that builds it. Opens those
/// that are there.
CheckedInstallation check_plugins(const Installation& installation);
view::Text text_of(const CheckedInstallation& checked);
answer::Answer answer_of(const CheckedInstallation& checked);

}  // namespace chakra::job
