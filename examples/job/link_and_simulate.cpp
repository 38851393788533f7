// Recordings of a job in, what it takes on a described network out:
//   link_and_simulate RECORDINGS TRACES NETWORK.yml
#include <chakra/chakra.h>

#include <iostream>

using namespace chakra;

Result<void> run(const std::string& recordings, const std::string& traces, const std::string& network) {
  CHAKRA_ASSIGN(job::LinkedJob linked, job::link_job({.inputs = {recordings}, .output = traces}));
  CHAKRA_TRY(linked.commit());  // TRACES/trace.<rank>.et
  std::cout << view::to_text(job::report_of(linked)) << "\n";

  CHAKRA_ASSIGN(const job::SimulateResult result, job::simulate_job({.path = traces, .network = network}));
  std::cout << view::to_text(job::report_of(result));
  return {};
}

int main(int arguments, char** argument) {
  if (arguments != 4) return 2;
  const Result<void> done = run(argument[1], argument[2], argument[3]);
  if (!done) std::cerr << done.error().message() << "\n";
  return done ? 0 : 1;
}
