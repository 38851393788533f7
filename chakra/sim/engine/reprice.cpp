#include "chakra/sim/engine/reprice.h"

#include "chakra/base/times.h"
#include "chakra/sim/engine/collective_ends.h"

namespace chakra::sim {
namespace {

using match::NodeRef;

class Repricer {
 public:
  Repricer(const Run& run, const net::Fabric& fabric)
      : run_(run), fabric_(fabric), prices_(fabric, run.in.collectives, false), ends_(run, prices_) {}

  Picoseconds sum() {
    Picoseconds sum = 0;
    for (const PathPiece& piece : run_.report.critical_path) {
      const NodeRef at{piece.actor, piece.row};
      if (piece.kind == PathPiece::Kind::collective && !run_.transfer(at.rank, at.node))
        sum += ends_.since(at, piece.start_ps);
      if (piece.kind == PathPiece::Kind::message && !run_.transfer(at.rank, at.node)) sum += message_time(at);
    }
    return sum;
  }

 private:
  Picoseconds message_time(NodeRef at) const {
    const match::Message& message = run_.job.matching.messages[run_.job.match_of(at.rank, at.node)];
    const trace::Trace& sender = run_.job.trace(message.send.rank);
    const int64_t to = run_.job.folded.peer[message.send.rank][sender.comm_row[message.send.node]];
    const net::Path path = fabric_.alone(sender.rank, to);
    const Picoseconds bytes = net::serialization(message.bytes, path.bytes_per_s);
    const bool receives = run_.job.trace(at.rank).type[at.node] == trace::NodeType::recv;
    return times(receives ? add_saturated(bytes, path.latency_ps) : bytes, run_.transfer_factor(at.rank, at.node));
  }

  const Run& run_;
  const net::Fabric& fabric_;
  Prices prices_;
  CollectiveEnds ends_;
};

}  // namespace

std::vector<Picoseconds> reprice_path(const Run& run) {
  CHAKRA_ASSERT(run.in.congestion == Congestion::closed);
  const Picoseconds here = Repricer(run, run.in.fabric).sum();
  std::vector<Picoseconds> longer;
  for (const net::Fabric& fabric : run.in.other_fabrics) longer.push_back(Repricer(run, fabric).sum() - here);
  return longer;
}

}  // namespace chakra::sim
