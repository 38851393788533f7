// Collectives that do not move the same number of bytes on every rank.
#include <algorithm>
#include <map>

#include "chakra/analyze/analyze.h"

namespace chakra::analyze {

std::vector<Imbalance> imbalances(const trace::TraceSet& job, const match::Matching& matching) {
  using Key = std::tuple<uint32_t, trace::CommType, bool>;  // group, type, received
  std::map<Key, Imbalance> all;
  for (const match::Collective& c : matching.collectives) {
    if (c.doubt == match::Doubt::ends) continue;
    for (const bool received : {false, true}) {
      std::vector<uint64_t> bytes(c.members.size());
      size_t present = 0, known = 0;
      for (size_t i = 0; i < c.members.size(); ++i) {
        const match::NodeRef& ref = c.members[i];
        if (ref.node == trace::kNoNode) continue;
        const trace::Comm* comm = job.ranks[ref.rank].comm(ref.node);
        if (!comm) continue;
        ++present;
        bytes[i] = received ? comm->out_bytes : comm->bytes != 0 ? comm->bytes : comm->in_bytes;
        known += bytes[i] != 0;
      }
      // What comes out is often not said at all.
      if (present < 2 || (received && known == 0)) continue;
      Imbalance& sum = all[{c.group, c.type, received}];
      if (sum.collectives++ == 0) {
        sum.group = matching.groups[c.group].name;
        sum.type = c.type;
        sum.received = received;
        sum.ranks = matching.groups[c.group].ranks;
        sum.ranks.resize(c.members.size(), -1);
        sum.rank_bytes.resize(c.members.size());
      }
      double total = 0;
      uint64_t most = 0, least = UINT64_MAX;
      for (size_t i = 0; i < bytes.size() && i < sum.rank_bytes.size(); ++i) {
        if (c.members[i].node == trace::kNoNode) continue;
        total += static_cast<double>(bytes[i]);
        most = std::max(most, bytes[i]);
        least = std::min(least, bytes[i]);
        sum.rank_bytes[i] = bytes[i] > UINT64_MAX - sum.rank_bytes[i] ? UINT64_MAX : sum.rank_bytes[i] + bytes[i];
      }
      if (most == least) continue;
      const double ratio = static_cast<double>(most) / (total / static_cast<double>(present));
      sum.worst = std::max(sum.worst, ratio);
      sum.rows.push_back({c.index, std::move(bytes), ratio});
    }
  }
  std::vector<Imbalance> out;
  for (auto& [key, sum] : all)
    if (!sum.rows.empty()) out.push_back(std::move(sum));
  std::stable_sort(out.begin(), out.end(), [](const Imbalance& a, const Imbalance& b) { return a.worst > b.worst; });
  return out;
}

}  // namespace chakra::analyze
