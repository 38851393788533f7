// Opens a job, checks it, simulates it and asks what faster computation would change:
//   ask TRACES NETWORK.yml
#include <chakra/chakra.h>

#include <iostream>

static chakra::Result<void> ask(const char* traces, const char* network) {
  CHAKRA_ASSIGN(const chakra::Job job, chakra::open(traces));
  CHAKRA_ASSIGN(const chakra::Answer checked, job.check());
  CHAKRA_ASSIGN(const chakra::Answer run, job.simulate({.network = network}));
  CHAKRA_ASSIGN(const chakra::Answer changed, job.what_if({.from_network = network, .scale = {"compute=0.5"}}));
  std::cout << checked.to_text() << changed.to_text();
  std::cout << "makespan " << run.real("makespan_ps").value_or(0) / 1e9 << " ms\n";
  const auto finish = run.table("ranks")->find("finish_ps");
  for (const int64_t ps : finish->whole()) std::cout << "a rank ends after " << double(ps) / 1e9 << " ms\n";

  chakra::SimulateOptions options;
  return chakra::set(options, "congestion", "fliud");  // an error: did you mean fluid?
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto done = ask(argv[1], argv[2]);
  if (!done) std::cerr << done.error().message() << "\n";
  return done ? 0 : int(done.error().code);
}
