// Ctrl-C, SIGTERM and a terminal that is closed (SIGHUP): the process ends at once and leaves no temporary file behind.
// A program asks for it with end_on_signals(); library code only says which names are temporary, and when it must not
// be cut in two.
#pragma once

#include <string>

namespace chakra {

/// From now on SIGINT, SIGTERM and SIGHUP, unless they were ignored, remove the temporary files that there are, say
/// base.interrupted on stderr and end the process with 128 + the signal's number: 130 for Ctrl-C. A handler that is set
/// later counts instead.
void end_on_signals();

/// While one exists, in any thread, those signals wait. They may be nested.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
};

/// The file of that name is to be removed if a signal ends the process, until forget(). Cost: O(log names).
void remove_on_signal(const std::string& name);
void forget(const std::string& name);

}  // namespace chakra
