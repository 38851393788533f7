#include "chakra/base/interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <set>
#include <string_view>

namespace chakra {
namespace {

constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGHUP};

/// Held by threads that have the signals blocked, and by the handler. The handler may wait for it: a thread that holds
/// it is not the one that was interrupted, so it goes on and releases it.
std::atomic_flag busy = ATOMIC_FLAG_INIT;
thread_local int held = 0;
thread_local sigset_t before;

/// Never destroyed: a signal may come while the process ends.
std::set<std::string>& names() {
  static auto* const all = new std::set<std::string>();
  return *all;
}

void lock() {
  while (busy.test_and_set(std::memory_order_acquire)) {}
}

void end(int signal) {
  lock();
  for (auto name = names().rbegin(); name != names().rend(); ++name)  // files or folders; what is in one comes after it
    if (::unlink(name->c_str()) != 0) ::rmdir(name->c_str());
  constexpr std::string_view kText =
      "chakra: interrupted ["
      "base.interrupted"
      "]\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText.data(), kText.size());
  ::_exit(128 + signal);
}

}  // namespace

void end_on_signals() {
  names();
  for (const int signal : kSignals) {
    struct sigaction old {};
    if (::sigaction(signal, nullptr, &old) == 0 && old.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = end;
    for (const int other : kSignals) sigaddset(&action.sa_mask, other);
    ::sigaction(signal, &action, nullptr);
  }
}

SignalsHeld::SignalsHeld() {
  if (held++ > 0) return;
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : kSignals) sigaddset(&signals, signal);
  ::pthread_sigmask(SIG_BLOCK, &signals, &before);
  lock();
}

SignalsHeld::~SignalsHeld() {
  if (--held > 0) return;
  busy.clear(std::memory_order_release);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void remove_on_signal(const std::string& name) {
  const SignalsHeld hold;
  names().insert(name);
}
void forget(const std::string& name) {
  const SignalsHeld hold;
  names().erase(name);
}

}  // namespace chakra
