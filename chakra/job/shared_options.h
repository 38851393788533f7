// Options that several calls share.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/analyze/analyze.h"
#include "chakra/job/simulate.h"
#include "chakra/options/options.h"

namespace chakra::job {

using options::choice;
using options::names;
using options::one_of;
using options::Option;
using options::Options;
using options::real_number;
using options::required;
using options::whole_number;

/// A list of values separated by commas.
inline Option separated(Option option) {
  option.delimiter = ',';
  return option;
}
/// A list: one value each time that the option is given.
inline Option each_time(Option option) {
  option.one_each = true;
  option.more += std::string(option.more.empty() ? "" : " ") + "You can give it several times.";
  return option;
}

inline constexpr int64_t kMostRanks = int64_t{1} << 30;  ///< of options
inline constexpr const char* kJobHelp = "The job: a prefix (PREFIX.<rank>.et), a folder, a container, or one trace";

Option job_option(std::string& path);
Option groups_option(std::string& file);
Option ranks_option(std::string& text);
Option expand_option(std::string& text);
Option launched_option(analyze::LaunchScope& scope);
Option max_error_option(std::optional<double>& percent);
/// Return the rows with these names ("--steps").
Options named_rows(Options rows, std::span<const std::string_view> names);
/// Return every option with its value, one a line; items of lists stay apart. For digests.
std::string text_of_all(const Options& rows);
/// --device, --stack, --from-device, --unrecorded. `from_needs`: requirements of the last two, for the help.
Options device_options(DeviceOptions& devices, std::string_view from_needs);

/// The options of 'chakra sim' for another call: without the job, groups and files. All except --network need `needs`.
Options simulation_options(SimulateOptions& simulate, std::string_view needs);

}  // namespace chakra::job
