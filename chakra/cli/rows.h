// Functions of the rows of kCommands, one file each.
#pragma once

#include "chakra/cli/cli.h"

namespace chakra::cli {

Syntax link_syntax(), check_syntax(), sim_syntax(), replay_syntax(), view_syntax(), import_syntax(), analyze_syntax(),
    diff_syntax(), gen_syntax(), calibrate_syntax(), info_syntax(), convert_syntax(), pack_syntax(), unpack_syntax(),
    report_syntax(), select_syntax(), sweep_syntax(), fleet_syntax(), certify_syntax(), obfuscate_syntax(),
    query_syntax(), list_syntax(), doctor_syntax(), whatif_syntax(), completion_syntax(), manual_syntax();

}  // namespace chakra::cli
