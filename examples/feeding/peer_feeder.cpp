// Written against the feeder of mlcommons/chakra, and built against ours: issues all nodes of a trace, a few at a
// time, as a simulator does.
//
//   peer_feeder TRACE.et
#include <cstdio>
#include <deque>
#include <exception>
#include <memory>

#include "et_feeder.h"

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: peer_feeder TRACE.et\n"), 2;
  try {
    Chakra::ETFeeder feeder(argv[1]);
    std::deque<std::shared_ptr<Chakra::ETFeederNode>> running;
    unsigned long long issued = 0, runtime = 0, bytes = 0;
    while (feeder.hasNodesToIssue()) {
      std::shared_ptr<Chakra::ETFeederNode> node = feeder.getNextIssuableNode();
      if (node && running.size() >= 4) {  // no room: another time
        feeder.pushBackIssuableNode(node->id());
        node = nullptr;
      }
      if (node) {
        running.push_back(node);
        ++issued;
        runtime += node->runtime();
        if (node->type() == ChakraProtoMsg::COMM_COLL_NODE) bytes += node->comm_size();
        continue;
      }
      if (running.empty()) break;
      const uint64_t done = running.front()->id();
      running.pop_front();
      feeder.freeChildrenNodes(done);
      feeder.removeNode(done);
    }
    std::printf("%llu nodes issued, %llu us, %llu bytes in collectives\n", issued, runtime, bytes);
    return feeder.hasNodesToIssue() ? 1 : 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peer_feeder: %s\n", error.what());
    return 1;
  }
}
