// Runs a trace on a machine that does NODES_AT_ONCE nodes at once, longest remaining path first, and says how long that
// takes. Of the trace, 16 MiB are in memory at a time.
//
//   feed_trace TRACE.et [NODES_AT_ONCE]
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <queue>
#include <vector>

#include "chakra/feed/feed.h"
#include "chakra/io/io.h"

using namespace chakra;

static Result<void> run(const char* path, size_t at_once) {
  CHAKRA_ASSIGN(trace::NodeSource nodes, io::open_nodes(path, {.durations = true}));
  feed::StreamFeeder feeder(std::move(nodes), {.budget_bytes = 16 << 20, .policy = feed::Policy::critical_path});

  struct Running {
    Picoseconds end;
    uint64_t id;
    bool operator>(const Running& other) const { return end != other.end ? end > other.end : id > other.id; }
  };
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running;
  Picoseconds now = 0;
  uint64_t communication = 0;
  io::NodeRecord record;
  for (;;) {
    const trace::StreamedNode* node = nullptr;
    if (running.size() < at_once) {
      CHAKRA_ASSIGN(node, feeder.next());
    }
    if (node) {
      CHAKRA_TRY(io::decode(node->message, record));  // all there is to know about it
      communication += trace::is_comm(static_cast<trace::NodeType>(record.type));
      running.push({add_saturated(now, node->duration), node->id});
    } else if (!running.empty()) {
      now = running.top().end;
      CHAKRA_TRY(feeder.done(running.top().id));
      running.pop();
    } else {
      break;
    }
  }
  const feed::FeedStats stats = feeder.stats();
  std::printf("%llu nodes, %llu of them communication, in %s\n", static_cast<unsigned long long>(stats.done),
              static_cast<unsigned long long>(communication), show_time(now).c_str());
  return {};
}

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: feed_trace TRACE.et [NODES_AT_ONCE]\n"), 2;
  const auto done = run(argv[1], argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  if (!done) std::fprintf(stderr, "feed_trace: %s\n", done.error().message().c_str());
  return done ? 0 : static_cast<int>(done.error().code);
}
