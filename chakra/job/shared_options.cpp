#include "chakra/job/shared_options.h"

namespace chakra::job {

Option job_option(std::string& path) { return required({"path", &path, kJobHelp, "PATH"}); }

Option groups_option(std::string& file) { return {"--groups", &file, "Process groups, name -> ranks (JSON)", "FILE"}; }

Option ranks_option(std::string& text) {
  return {"--ranks", &text, "Only these ranks, for example 0:8 (the first eight) or 0,2,5", "FIRST:COUNT"};
}

Option expand_option(std::string& text) {
  return {"--expand", &text, "Expand the job to N ranks; ranks without a trace copy RANK",
          "N[:RANK]", {},    "RANK defaults to the lowest rank that has a trace."};
}

Option launched_option(analyze::LaunchScope& scope) {
  return {"--launched",
          choice(scope, analyze::kLaunchScopes),
          "Device operations to include, by the time of their launch",
          "SCOPE",
          {},
          "all: launched at any time. steps: launched before the last ProfilerStep ends. before-last-step: launched "
          "before the last ProfilerStep begins."};
}

Option max_error_option(std::optional<double>& percent) {
  return {"--max-error",
          &percent,
          "Exit with 1 if the self-check error exceeds P percent in either direction",
          "P",
          real_number(0, 1e6),
          "The self-check simulates the linked graph with recorded transfers, and compares the total with the measured "
          "time. The result is written in either case."};
}

Options device_options(DeviceOptions& devices, std::string_view from_needs) {
  Option from{"--from-device", &devices.from_device,
              "Device of the recording; overrides the device named in the traces", "NAME|FILE"};
  Option unrecorded{"--unrecorded",
                    choice(devices.unrecorded, kUnrecordedNames),
                    "Scale device work that the recording lacks, or keep its time",
                    "KIND",
                    {},
                    "Scaling applies to another device and to the speed of a rank."};
  from.needs = unrecorded.needs = from_needs;
  Option stack{"--stack",
               &devices.stack,
               "Software stack on --device: a name of 'chakra list stacks', or a file",
               "NAME|FILE",
               {},
               "Default: kernels."};
  stack.needs = "--device";
  return {{"--device",
           &devices.device,
           "Device to compute on: a name of 'chakra list devices', or a file",
           "NAME|FILE",
           {},
           "Measured times are scaled to the device."},
          std::move(stack),
          std::move(from),
          std::move(unrecorded)};
}

std::string text_of_all(const Options& rows) {
  std::string all;
  const auto add = [&](const std::string& text) { append_json_string(all, text); };
  for (const Option& row : rows) {
    all += options::key_of(row) + "=";
    if (const auto* const texts = std::get_if<std::vector<std::string>*>(&row.target))
      for (const std::string& text : **texts) add(text);
    else add(options::text_of(row));
    all += '\n';
  }
  return all;
}

Options named_rows(Options rows, std::span<const std::string_view> names) {
  std::erase_if(rows, [&](const Option& row) {
    return std::find(names.begin(), names.end(), options::name_of(row)) == names.end();
  });
  return rows;
}

}  // namespace chakra::job
