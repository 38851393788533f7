// Equivalent links, and the part of a collective that one of each kind of its members plays. Where ranks are folded on
// shared links (equal_links.h), a member stands for all members that do the same at the same times, and a link for all
// links that carry the same. A transfer then takes as much of a link as all equivalent transfers over that link.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "chakra/coll/coll.h"
#include "chakra/net/net.h"

namespace chakra::sim {

struct LinkClasses {
  std::vector<std::pair<net::TrunkId, uint32_t>> class_of;  ///< of each trunk that carries something, by trunk
  std::vector<std::vector<net::TrunkId>> trunks;            ///< by class; the first trunk stands for all

  /// Append the trunks that stand for the route of one of `count` equivalent messages, with the bytes that all of them
  /// put on such a trunk, as a share of the bytes of one message. Return the latency of the route.
  Picoseconds uses(const net::Fabric& fabric, const net::Message& message, double count,
                   std::vector<net::Use>& out) const;
};

/// Members of a group that do the same are one part.
struct Parts {
  std::span<const uint32_t> of_place;
  std::vector<int64_t> ranks;  ///< by part: number of ranks of the job that do the same
};

/// What the parts of a collective send, round by round.
struct Course {
  struct Send {
    uint32_t to = 0;  ///< part
    uint64_t bytes = 0;
    uint32_t left = 1;     ///< equal transfers of a member
    uint32_t arrived = 1;  ///< equal transfers to a member
    Picoseconds latency = 0;
    uint32_t first_use = 0, last_use = 0;
  };
  /// Members whose bytes leave when all of them have begun.
  struct Row {
    uint32_t members = 0;
    std::vector<uint32_t> of_part;  ///< by part: number of members
    std::vector<uint32_t> leave;    ///< the parts whose transfers leave then
  };

  uint32_t parts = 0;
  std::vector<uint32_t> first_send;    ///< by round and part, and the end
  std::vector<uint32_t> open;          ///< by round and part: sends and receives, and the begin
  std::vector<std::vector<Row>> rows;  ///< by round; empty: members begin one by one
  std::vector<Send> sends;
  std::vector<net::Use> uses;

  std::span<const Send> sends_of(size_t round, uint32_t part) const {
    const size_t at = round * parts + part;
    return std::span(sends).subspan(first_send[at], first_send[at + 1] - first_send[at]);
  }
  std::span<const net::Use> uses_of(const Send& send) const {
    return std::span(uses).subspan(send.first_use, send.last_use - send.first_use);
  }
};

/// Return the course of a collective of `ranks`, by place. `order`: place of each member of the plan, or empty (as
/// coll::Choice). Requires parts and links that equal_links.h found. Cost: O(transfers of the plan's lists + rounds x
/// (parts + links of the routes of their transfers)).
Course course_of(const coll::Plan& plan, std::span<const uint32_t> order, std::span<const int64_t> ranks, uint64_t flow,
                 const Parts& parts, const net::Fabric& fabric, const LinkClasses& links);

}  // namespace chakra::sim
