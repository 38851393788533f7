// Runs a trace on a machine that does NODES_AT_ONCE nodes at once, longest remaining path first, and says how long that
// takes. Of the trace, 16 MiB are in memory at a time.
//
//   feed_trace TRACE.et [NODES_AT_ONCE]
#include <chakra/trace.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <queue>
#include <vector>

using namespace chakra;

static Result<void> run(const char* path, size_t at_once) {
  CHAKRA_ASSIGN(Feeder feeder, Feeder::open(path, {.budget_bytes = 16 << 20, .order = Feeder::Order::critical_path}));

  using Running = std::pair<int64_t, uint64_t>;  // end, id
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running;
  int64_t now_ps = 0, communication = 0;
  for (;;) {
    const Feeder::Node* node = nullptr;
    if (running.size() < at_once) {
      CHAKRA_ASSIGN(node, feeder.next());
    }
    if (node) {
      communication += node->type >= NodeType::comm_send;
      running.emplace(now_ps + node->dur_ps, node->id);
    } else if (!running.empty()) {
      now_ps = running.top().first;
      CHAKRA_TRY(feeder.done(running.top().second));
      running.pop();
    } else {
      break;
    }
  }
  std::cout << feeder.nodes_done() << " nodes, " << communication << " of them communication, in "
            << double(now_ps) / 1e6 << " us\n";
  return {};
}

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: feed_trace TRACE.et [NODES_AT_ONCE]\n";
    return 2;
  }
  const auto done = run(argv[1], argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  if (!done) std::cerr << "feed_trace: " << done.error().message() << "\n";
  return done ? 0 : int(done.error().code);
}
