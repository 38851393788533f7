// Written against FeederV3 of mlcommons/chakra, as ASTRA-sim includes it, and built against ours: says which nodes are
// free at each step, takes them all, and finishes them.
//
//   free_nodes TRACE.et
#include <cstdio>
#include <exception>
#include <set>

#include "extern/graph_frontend/chakra/src/feeder_v3/et_feeder.h"

using namespace Chakra::FeederV3;

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: free_nodes TRACE.et\n"), 2;
  try {
    ETFeeder feeder(argv[1]);
    auto& resolver = feeder.getDependancyResolver();
    while (!resolver.get_dependancy_free_nodes().empty()) {
      const std::set<NodeId> step(resolver.get_dependancy_free_nodes().begin(),
                                  resolver.get_dependancy_free_nodes().end());
      for (const NodeId id : step) {
        resolver.take_node(id);
        const std::shared_ptr<ETFeederNode> node = feeder.lookupNode(id);
        std::printf("%s%s %llu", id == *step.begin() ? "" : ", ", node->name().c_str(),
                    static_cast<unsigned long long>(node->comm_size<uint64_t>(0)));
      }
      std::printf("\n");
      for (const NodeId id : step) resolver.finish_node(id);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "free_nodes: %s\n", error.what());
    return 1;
  }
}
