// The files of a recording of XLA. Inside the room.
#pragma once

#include <memory>
#include <optional>
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
  std::vector<Profile> profiles;
  std::vector<Program> dumps;
};
/// Read the files. Errors: xla.profile.none if no file is a profile, and the errors of the parsers.
Result<Inputs> read_inputs(const std::vector<std::string>& files);

std::string program_name(std::string_view module, int64_t id);

/// Find the program of a module with all executed instructions (`ops`): from the profiles, else from the dumps, with
/// the same number if several have the same name. `lenient`: the program of the profile may lack instructions, and the
/// result may be empty. Errors: xla.program.missing, xla.program.other.
Result<std::optional<Program>> find_program(const Inputs& inputs, std::string_view module, int64_t id,
                                            const std::vector<std::string_view>& ops, bool lenient);

}  // namespace chakra::xla
