// Ctrl-C, SIGTERM and a closed terminal (SIGHUP): the process ends at once and leaves no temporary
// file behind. A program requests this behaviour with end_on_signals(). Library code only registers
// temporary names, and marks the sections that a signal must not interrupt.
#pragma once

#include <string>

namespace chakra {

/// Install handlers: from now on SIGINT, SIGTERM and SIGHUP, unless ignored before, remove the
/// existing temporary files, print base.interrupted on stderr and end the process with 128 +
/// the signal's number: 130 for Ctrl-C. A handler installed later takes precedence.
void end_on_signals();

/// Hold back the signals above while an object of this type exists, in any thread. Objects may be nested.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
};

/// Remove the file of that name if a signal ends the process, until forget(). Cost: O(log names).
void remove_on_signal(const std::string& name);
void forget(const std::string& name);

}  // namespace chakra
