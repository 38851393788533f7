#include "chakra/job/shared_options.h"

namespace chakra::job {

Option job_option(std::string& path) { return required({"path", &path, kJobHelp, "PATH"}); }

Option groups_option(std::string& file) { return {"--groups", &file, "Process groups, name -> ranks (JSON)", "FILE"}; }

Option ranks_option(std::string& text) {
  return {"--ranks", &text, "Only these ranks, for example 0:8 (the first eight) or 0,2,5", "FIRST:COUNT"};
}

Option expand_option(std::string& text) {
  return {"--expand", &text, "Make a job of N ranks: those without a trace are copies of RANK",
          "N[:RANK]", {},    "Without RANK, they are copies of the lowest rank that has a trace."};
}

Option max_error_option(std::optional<double>& percent) {
  return {
      "--max-error",
      &percent,
      "Exit with 1 if the self-check is off by more than P percent, up or down",
      "P",
      real_number(0, 1e6),
      "The self-check runs the recorded job on its own graph with its recorded transfers, and compares the time with "
      "the measured one. The result is written all the same."};
}

Options device_options(DeviceOptions& devices, std::string_view from_needs) {
  Option from{"--from-device", &devices.from_device,
              "The device that the recording was made on, whatever the traces say", "NAME|FILE"};
  Option unrecorded{"--unrecorded",
                    choice(devices.unrecorded, kUnrecordedNames),
                    "Whether device work that the recording lacks is scaled, or keeps its time",
                    "KIND",
                    {},
                    "Scaling counts both another device and the speed of a rank."};
  from.needs = unrecorded.needs = from_needs;
  Option stack{"--stack",
               &devices.stack,
               "The software on the device: a name of 'chakra list stacks', or a file",
               "NAME|FILE",
               {},
               "Without it, the stack is 'kernels'."};
  stack.needs = "--device";
  return {{"--device",
           &devices.device,
           "The device to compute on: a name of 'chakra list devices', or a file",
           "NAME|FILE",
           {},
           "Measured times are scaled to it."},
          std::move(stack),
          std::move(from),
          std::move(unrecorded)};
}

}  // namespace chakra::job
