// chakra doctor
#include <fmt/core.h>

#include <filesystem>

#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"
#include "chakra/pack/pack.h"

namespace chakra::cli {
namespace {

struct DoctorOptions {
  std::string path;
  bool repair = false, plugins = false, secrets = false;
};

options::Options rows_of(DoctorOptions& o) {
  options::Option repair{"--repair", &o.repair, "Truncate a damaged container after its last index",
                         {},         {},        "The container keeps all data from before the interrupted append."};
  repair.excludes = "--plugins";
  options::Option secrets{
      "--secrets", &o.secrets, "List names, paths, hosts and other texts of the files that may be secrets",
      {},          {},         "All texts count that are not PyTorch's own names. The exit code is 0."};
  secrets.excludes = "--plugins";
  return {{"path", &o.path, "Folder or file of recordings or traces (default: the installation)", "PATH"},
          std::move(repair),
          std::move(secrets),
          {"--plugins", &o.plugins, "Show the location of each 'chakra replay' plugin, or how to build it"}};
}

/// Writes what was found; the exit code.
template <class Found>
Result<int> show_found(const Found& found, const Globals& globals) {
  CHAKRA_TRY(show(globals, found));
  return found.ok() ? 0 : static_cast<int>(Code::bad_input);
}

job::Installation own_installation() {
  std::error_code ignored;
  job::Installation installation{std::filesystem::read_symlink("/proc/self/exe", ignored).string(), {}};
  for (const NameRow& row : kNames) installation.names.emplace_back(row.name);
  return installation;
}

Result<int> run_doctor(const std::string& path, const Globals& globals) {
  if (path.empty()) return show_found(job::check_installation(own_installation()), globals);
  CHAKRA_TRY(keep_apart({path}, {}, globals.json));
  CHAKRA_ASSIGN(const job::ExaminedFiles files, job::examine_files(path));
  return show_found(files, globals);
}

Result<int> run_plugins(const std::string& path, const Globals& globals) {
  if (!path.empty()) return fail(Code::usage, "cli.usage", "--plugins looks at the installation: leave out the path");
  return show_found(job::check_plugins(own_installation()), globals);
}

Result<int> run_repair(const std::string& path, const Globals& globals) {
  if (path.empty()) return fail(Code::usage, "cli.usage", "--repair needs the path of a container");
  CHAKRA_TRY(keep_apart({path}, {}, globals.json));
  CHAKRA_ASSIGN(const job::RepairedContainer repaired, job::repair_container(path));
  CHAKRA_TRY(show(globals, repaired));
  return 0;
}

Result<int> run_secrets(const std::string& path, const Globals& globals) {
  if (path.empty()) return fail(Code::usage, "cli.usage", "--secrets needs the path of a file or folder");
  CHAKRA_TRY(keep_apart({path}, {}, globals.json));
  CHAKRA_ASSIGN(const job::FoundSecrets found, job::find_secrets(path));
  CHAKRA_TRY(show(globals, found));
  return 0;
}

Result<int> run_asked(const DoctorOptions& o, const Globals& globals) {
  if (o.plugins) return run_plugins(o.path, globals);
  if (o.secrets && o.repair) return fail(Code::usage, "cli.usage", "--secrets and --repair exclude each other");
  if (o.secrets) return run_secrets(o.path, globals);
  return o.repair ? run_repair(o.path, globals) : run_doctor(o.path, globals);
}

}  // namespace

Syntax doctor_syntax() { return syntax_of<DoctorOptions>(run_asked); }

}  // namespace chakra::cli
