// Recordings of a job in, what it takes on a described network out:
//   link_and_simulate RECORDINGS TRACES/ NETWORK.yml
#include <chakra/chakra.h>

#include <cstdio>

using namespace chakra;

Result<void> run(const char* recordings, const char* traces, const char* network) {
  CHAKRA_ASSIGN(const Job job, chakra::link({recordings}, {.output = traces}));  // TRACES/trace.<rank>.et
  std::puts(job.made().to_text().c_str());

  CHAKRA_ASSIGN(const Answer answer, job.simulate({.network = network}));
  std::fputs(answer.to_text().c_str(), stdout);
  return {};
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const Result<void> done = run(argv[1], argv[2], argv[3]);
  if (!done) std::fprintf(stderr, "%s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
