// The files of a recording of XLA. Inside the room.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/xla/profile.h"
#include "chakra/xla/program.h"

namespace chakra::xla {

/// Whether the beginning of a file is that of HLO as text.
bool is_text_program(std::string_view head);

/// Read a whole file. Errors: xla.program.large above 4 GiB, those of ByteSource.
Result<std::shared_ptr<const std::string>> read_all(ByteSource source);

/// Profiles, and dumps of programs. Programs are parsed where a profile needs them.
struct Inputs {
  std::vector<Profile> profiles;  ///< in one form
  std::vector<Program> dumps;
  std::vector<std::string> unused_profiles;  ///< files in the form for browsers beside others
  std::vector<Error> unreadable;             ///< of texts of programs, which count if a program is missing
};
/// Read the files. Errors: xla.profile.none if no file is a profile, and the errors of the parsers.
Result<Inputs> read_inputs(const std::vector<std::string>& files);

/// Link files that are in memory; see link_profiles.
Result<LinkedProfile> link_inputs(Inputs& inputs);

/// For profiles in the form for browsers: choose the dump of each run, and set Event::program to its place in `dumps`.
/// Errors: xla.program.missing, .other, .ambiguous. Cost: O(events log events + runs x dumps x instructions).
Result<void> choose_programs(Inputs& inputs);

std::string program_name(std::string_view module, int64_t id);
/// Return the first executed instruction (of `ops`) that a program does not have; "" if the program has all.
std::string_view first_missing(const Program& program, const std::vector<std::string_view>& ops);
/// Return the place of the dump of a module with all executed instructions: for the devices, with the same number,
/// scheduled, and with the fewest instructions that were not executed. Errors: xla.program.ambiguous if different
/// programs are left.
Result<std::optional<size_t>> find_dump(const std::vector<Program>& dumps, std::string_view module,
                                        std::optional<int64_t> id, const std::vector<std::string_view>& ops,
                                        const std::vector<int64_t>& devices);
/// Whether two programs have the same nodes, work, communication and devices. Cost: O(instructions).
bool is_same_program(const Program& a, const Program& b);
/// Return the error for a program that neither a profile nor a dump has.
Failure no_program(const Inputs& inputs, std::string_view program, std::string_view module,
                   const std::vector<std::string_view>& ops, const Place& place);

/// What a profile executed of a module.
struct ExecutedParts {
  std::set<std::string_view> ops;  ///< instructions
  std::set<int64_t> devices;
};
/// Find the program of a module with all executed instructions: from `profile`, then the other profiles, else from the
/// dumps. Hosts number their programs on their own. `lenient`: the program of the profile may lack instructions, and
/// the result may be empty. Errors: xla.program.missing, .other, .ambiguous.
Result<std::optional<Program>> find_program(const Inputs& inputs, const Profile& profile, std::string_view module,
                                            int64_t id, const ExecutedParts& executed, bool lenient);

}  // namespace chakra::xla
