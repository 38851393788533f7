// 'chakra sim' of a job that cannot finish: who waits for whom, as JSON.
#pragma once

#include <string>
#include <vector>

#include "chakra/cli/cli.h"
#include "chakra/sim/sim.h"

namespace chakra::cli {

/// `error` {tag, text} and `waits[]`, of which the error's text names the first, to the path of --json; nothing where
/// that is empty or nothing waits.
Result<void> write_waits(const Error& error, const std::vector<sim::Wait>& waits, const std::string& path);

}  // namespace chakra::cli
