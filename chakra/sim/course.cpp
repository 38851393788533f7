#include "chakra/sim/course.h"

#include <algorithm>
#include <utility>

namespace chakra::sim {

Picoseconds LinkClasses::uses(const net::Fabric& fabric, const net::Message& message, double count,
                              std::vector<net::Use>& out) const {
  thread_local std::vector<net::Use> route;
  route.clear();
  const size_t first = out.size();
  const Picoseconds latency = fabric.uses(message.from, message.to, message.flow, route);
  for (const net::Use& use : route) {
    const auto of_trunk = std::lower_bound(class_of.begin(), class_of.end(), std::pair(use.trunk, uint32_t{0}));
    CHAKRA_ASSERT(of_trunk != class_of.end() && of_trunk->first == use.trunk);
    const std::vector<net::TrunkId>& equal = trunks[of_trunk->second];
    const double share = use.share * count / static_cast<double>(equal.size());
    const auto known = std::find_if(out.begin() + static_cast<ptrdiff_t>(first), out.end(),
                                    [&](const net::Use& u) { return u.trunk == equal.front(); });
    if (known == out.end()) out.push_back({equal.front(), share});
    else known->share += share;
  }
  std::sort(out.begin() + static_cast<ptrdiff_t>(first), out.end(),
            [](const net::Use& a, const net::Use& b) { return a.trunk < b.trunk; });
  return latency;
}

namespace {

class CourseMaker {
 public:
  CourseMaker(const coll::Plan& plan, std::span<const uint32_t> order, std::span<const int64_t> ranks, uint64_t flow,
              const Parts& parts, const net::Fabric& fabric, const LinkClasses& links)
      : plan_(plan), order_(order), ranks_(ranks), flow_(flow), parts_(parts), fabric_(fabric), links_(links) {}

  Course run() {
    out_.parts = static_cast<uint32_t>(parts_.ranks.size());
    plays_.assign(out_.parts, UINT32_MAX);
    members_.assign(out_.parts, 0);
    for (uint32_t m = 0; m < plan_.members; ++m) {
      ++members_[part(m)];
      if (plays_[part(m)] == UINT32_MAX) plays_[part(m)] = m;
    }
    for (const coll::Round& round : plan_.rounds) add(round);
    out_.first_send.push_back(static_cast<uint32_t>(out_.sends.size()));
    return std::move(out_);
  }

 private:
  uint32_t place(uint32_t member) const { return order_.empty() ? member : order_[member]; }
  uint32_t part(uint32_t member) const { return parts_.of_place[place(member)]; }

  void add(const coll::Round& round) {
    const size_t first_open = out_.open.size();
    out_.open.resize(first_open + out_.parts, 1);
    std::vector<std::vector<coll::Transfer>> of_part(out_.parts);
    const auto take = [&](uint32_t from, uint32_t to, uint64_t bytes) {
      if (plays_[part(from)] == from) of_part[part(from)].push_back({from, to, bytes});
    };
    if (round.list.empty())
      for (const uint32_t m : plays_) coll::each_transfer_of(plan_, round, m, take);
    else coll::each_transfer(plan_, round, take);
    for (uint32_t p = 0; p < out_.parts; ++p) {
      out_.first_send.push_back(static_cast<uint32_t>(out_.sends.size()));
      for (const coll::Transfer& t : of_part[p]) add(t, out_.first_send.back());
      for (size_t s = out_.first_send.back(); s < out_.sends.size(); ++s) end(out_.sends[s], p, first_open);
    }
    out_.rows.push_back(round.together() ? rows_of(round) : std::vector<Course::Row>());
  }

  /// A transfer of a member; equal ones become one.
  void add(const coll::Transfer& t, size_t first) {
    Course::Send send{.to = part(t.to), .bytes = t.bytes, .first_use = static_cast<uint32_t>(out_.uses.size())};
    const double ranks = static_cast<double>(parts_.ranks[part(t.from)]);
    const net::Message message{ranks_[place(t.from)], ranks_[place(t.to)], t.bytes, 0, flow_};
    send.latency = links_.uses(fabric_, message, ranks, out_.uses);
    send.last_use = static_cast<uint32_t>(out_.uses.size());
    const auto same = std::find_if(out_.sends.begin() + static_cast<ptrdiff_t>(first), out_.sends.end(),
                                   [&](const Course::Send& known) { return equal(known, send); });
    if (same == out_.sends.end()) {
      out_.sends.push_back(send);
      return;
    }
    ++same->left;
    out_.uses.resize(send.first_use);
  }
  bool equal(const Course::Send& a, const Course::Send& b) const {
    constexpr double kRounding = 1e-9;  // shares are sums
    const auto same = [](const net::Use& x, const net::Use& y) {
      return x.trunk == y.trunk && std::abs(x.share - y.share) <= kRounding * std::max(x.share, y.share);
    };
    return a.to == b.to && a.bytes == b.bytes && a.latency == b.latency &&
           std::ranges::equal(out_.uses_of(a), out_.uses_of(b), same);
  }

  /// All transfers that equal this one are counted now.
  void end(Course::Send& send, uint32_t from, size_t first_open) {
    const uint64_t sent = uint64_t{send.left} * members_[from];
    CHAKRA_ASSERT(sent % members_[send.to] == 0);  // members of a part receive equally much
    send.arrived = static_cast<uint32_t>(sent / members_[send.to]);
    for (uint32_t u = send.first_use; u < send.last_use; ++u) out_.uses[u].share *= send.left;
    out_.open[first_open + from] += send.left;
    out_.open[first_open + send.to] += send.arrived;
  }

  std::vector<Course::Row> rows_of(const coll::Round& round) const {
    const coll::Rows rows(plan_, round);
    std::vector<Course::Row> out;
    std::vector<uint32_t> number_of(rows.count(), UINT32_MAX);
    for (uint32_t p = 0; p < out_.parts; ++p) {
      uint32_t& number = number_of[rows.of(plays_[p])];
      if (number == UINT32_MAX) {
        number = static_cast<uint32_t>(out.size());
        Course::Row& row = out.emplace_back();
        row.members = rows.extent;
        row.of_part.assign(out_.parts, 0);
        for (uint32_t c = 0; c < rows.extent; ++c) ++row.of_part[part(rows.member(rows.of(plays_[p]), c))];
      }
      out[number].leave.push_back(p);
    }
    return out;
  }

  const coll::Plan& plan_;
  std::span<const uint32_t> order_;
  std::span<const int64_t> ranks_;
  uint64_t flow_;
  const Parts& parts_;
  const net::Fabric& fabric_;
  const LinkClasses& links_;
  std::vector<uint32_t> plays_;    ///< by part: the first member of the plan
  std::vector<uint32_t> members_;  ///< by part: number of members
  Course out_;
};

}  // namespace

Course course_of(const coll::Plan& plan, std::span<const uint32_t> order, std::span<const int64_t> ranks, uint64_t flow,
                 const Parts& parts, const net::Fabric& fabric, const LinkClasses& links) {
  return CourseMaker(plan, order, ranks, flow, parts, fabric, links).run();
}

}  // namespace chakra::sim
