#include "chakra/doctor/installation.h"

#include <fmt/core.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

namespace chakra::doctor {
namespace {

namespace fs = std::filesystem;
using answer::column;
using answer::Unit;
using Status = Checked::Status;

constexpr uint64_t kLittleRoom = 1ULL << 30;  ///< bytes of disk or memory below which things are tight
constexpr int kNarrow = 100;                  ///< columns

/// Where a program is, as the shell finds it; "" if nowhere.
std::string in_path(std::string_view program) {
  const char* const path = ::getenv("PATH");
  const std::string_view all = path ? path : "";
  for (size_t at = 0; at <= all.size();) {
    const size_t end = std::min(all.find(':', at), all.size());
    const std::string candidate = (fs::path(all.substr(at, end - at)) / program).string();
    if (end > at && ::access(candidate.c_str(), X_OK) == 0 && is_file(candidate)) return candidate;
    at = end + 1;
  }
  return "";
}

fs::path folder_of(const Installation& installation) { return fs::path(installation.command).parent_path(); }

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return fs::equivalent(a, b, ignored);
}

Checked check_command(const Installation& installation) {
  return {Status::ok, fmt::format("chakra {}, {}", CHAKRA_VERSION, installation.command)};
}

Checked check_path(const Installation& installation) {
  const std::string found = in_path("chakra");
  const std::string advice = fmt::format("export PATH={}:$PATH", folder_of(installation).string());
  if (found.empty()) return {Status::note, "the shell does not find 'chakra'", advice};
  if (!same_file(found, installation.command))
    return {Status::note, fmt::format("'chakra' is another one, {}", found), advice};
  return {Status::ok, "the shell finds this command"};
}

bool leads_to(const fs::path& file, const std::string& name, const std::string& command) {
  if (same_file(file, command)) return true;
  if (!is_file(file.string())) return false;
  const Result<std::string> text = read_file(file.string(), 1 << 10);
  return text && *text == launcher_of(name);
}

Checked check_names(const Installation& installation) {
  std::string absent;
  for (const std::string& name : installation.names)
    if (!leads_to(folder_of(installation) / name, name, installation.command))
      absent += fmt::format("{}{}", absent.empty() ? "" : ", ", name);
  if (absent.empty()) return {Status::ok, "the names of the Chakra tools lead here (docs/reference/names.md)"};
  return {Status::note, fmt::format("these do not lead here: {}", absent),
          fmt::format("ln -s chakra {}/NAME", folder_of(installation).string())};
}

Checked check_examples(const Installation& installation) {
  for (const char* place : {"../share/chakra/examples", "../../../examples"}) {
    const fs::path folder = (folder_of(installation) / place).lexically_normal();
    if (is_directory((folder / "traces").string())) return {Status::ok, folder.string()};
  }
  return {Status::note, "not found beside this command", "install with 'cmake --install' or unpack the whole tarball"};
}

Checked check_memory(const Installation&) {
  struct sysinfo memory {};
  ::sysinfo(&memory);
  const uint64_t available = memory.freeram * memory.mem_unit, total = memory.totalram * memory.mem_unit;
  const std::string text = fmt::format("{}, {} of it unused; {} cores", show_bytes(static_cast<double>(total)),
                                       show_bytes(static_cast<double>(available)), std::thread::hardware_concurrency());
  if (total >= kLittleRoom) return {Status::ok, text};
  return {Status::wrong, text, "linking takes up to twice the size of the recordings; use a larger machine"};
}

Checked check_temporary_files(const Installation&) {
  const char* const given = ::getenv("TMPDIR");
  const std::string temporary = given && *given ? given : "/tmp";
  std::error_code ignored;
  const fs::space_info space = fs::space(temporary, ignored);
  if (::access(temporary.c_str(), W_OK | X_OK) != 0 || !is_directory(temporary))
    return {Status::wrong, fmt::format("cannot write to {}", temporary), "set TMPDIR to a folder that can be written"};
  const std::string text = fmt::format("{} free in {}", show_bytes(static_cast<double>(space.available)), temporary);
  if (space.available >= kLittleRoom) return {Status::ok, text};
  return {Status::note, text, "set TMPDIR to a folder with more room before feeding large traces"};
}

Checked check_graphviz(const Installation&) {
  if (const std::string dot = in_path("dot"); !dot.empty()) return {Status::ok, dot};
  return {Status::note, "no program dot: graphs can be written as .dot and .graphml, not drawn as .svg or .pdf",
          "apt install graphviz"};
}

Checked check_terminal(const Installation&) {
  struct winsize window {};
  if (::isatty(STDERR_FILENO) != 1) return {Status::ok, "none: no progress is shown"};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_col < kNarrow)
    return {Status::note, fmt::format("{} columns", window.ws_col), "tables are up to 160 columns wide"};
  return {Status::ok, "yes"};
}

}  // namespace

constexpr InstallationCheck kInstallationRows[] = {
    {"command", "its version and where it is", check_command},
    {"path", "whether the shell finds it, and not another one", check_path},
    {"names", "whether the names of the Chakra tools lead to it", check_names},
    {"examples", "the folder of examples, installed or of the sources", check_examples},
    {"memory", "the machine's memory and cores", check_memory},
    {"temporary files", "whether TMPDIR or /tmp can be written, and its room", check_temporary_files},
    {"graphviz", "whether there is the program dot", check_graphviz},
    {"terminal", "whether standard error is a terminal, and its width", check_terminal},
};
constinit const std::span<const InstallationCheck> kInstallationChecks = kInstallationRows;

std::string launcher_of(std::string_view name) {
  return fmt::format("#!/bin/sh\nexec \"${{0%/*}}/chakra\" {} \"$@\"\n", name);
}

options::Options rows_of(DoctorOptions& o) {
  options::Option repair{"--repair", &o.repair, "Truncate a damaged container after its last index",
                         {},         {},        "The container keeps all data from before the interrupted append."};
  repair.excludes = "--plugins";
  options::Option secrets{
      "--secrets", &o.secrets, "List names, paths, hosts and other texts of the files that may be secrets",
      {},          {},         "All texts count that are not PyTorch's own names. The exit code is 0."};
  secrets.excludes = "--plugins, --repair";
  return {{"path", &o.path, "Folder or file of recordings or traces (default: the installation)", "PATH"},
          std::move(repair),
          std::move(secrets),
          {"--plugins", &o.plugins, "Show the location of each 'chakra replay' plugin, or how to build it"}};
}

Installation own_installation() {
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  const std::string found = self.stem() == "chakra" ? self.string() : in_path("chakra");
  return {found.empty() ? self.string() : fs::canonical(found, ignored).string()};
}

bool CheckedInstallation::ok() const {
  return std::none_of(rows.begin(), rows.end(), [](const Row& row) { return row.checked.status == Status::wrong; });
}

CheckedInstallation check_installation(const Installation& installation) {
  CheckedInstallation checked;
  for (const InstallationCheck& row : kInstallationChecks) checked.rows.push_back({row.name, row.check(installation)});
  return checked;
}

// ---- as text and as an answer -------------------------------------------------------------------------------------

namespace {

std::string_view name_of(Status status) { return kStatusNames[static_cast<size_t>(status)]; }

}  // namespace

view::Text text_of(const CheckedInstallation&) {
  static constexpr std::array<view::Show, 1> kText{
      {{.line = "{status}: {name}: {text}[{?advice}\n      -> {advice}]", .table = "checks", .first = view::kAllRows}}};
  return {kText};
}

answer::Answer answer_of(const CheckedInstallation& checked) {
  using Row = CheckedInstallation::Row;
  constexpr std::array kVersion{
      column<CheckedInstallation>("ok", Unit::none, "no check is wrong", [](const auto& c) { return c.ok(); }),
      column<CheckedInstallation>("version", Unit::none, "the version of this program",
                                  [](const auto&) { return std::string(CHAKRA_VERSION); })};
  constexpr std::array kChecks{
      column<Row>("name", Unit::none, "the check", [](const Row& r) { return std::string(r.name); }),
      column<Row>("status", Unit::none, "ok, note or wrong",
                  [](const Row& r) { return std::string(name_of(r.checked.status)); }),
      column<Row>("text", Unit::none, "the result in words", [](const Row& r) { return r.checked.text; }),
      column<Row>("advice", Unit::none, "remedy; empty if none is needed",
                  [](const Row& r) { return r.checked.advice; })};
  answer::Builder to("doctor");
  to.values("", &checked, kVersion);
  to.table("checks", "the checks", checked.rows, kChecks);
  return std::move(to).finish();
}

}  // namespace chakra::doctor
