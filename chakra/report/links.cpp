#include "chakra/report/links.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "chakra/analyze/analyze.h"

namespace chakra::report {
namespace {

using result::Timeline;

void add_arrow(uint32_t from, uint32_t to, StringId name, SliceLinks& links) {
  if (from != job::kNoSlice && to != job::kNoSlice && from != to) links.arrows.push_back({from, to, name});
}

/// A call and an operation that it contains: the timeline shows that without an arrow.
bool nest(const Timeline& timeline, uint32_t a, uint32_t b) {
  if (a == job::kNoSlice || b == job::kNoSlice) return false;
  const Timeline::Slice &x = timeline.slices[a], &y = timeline.slices[b];
  const auto contains = [](const Timeline::Slice& outer, const Timeline::Slice& inner) {
    return outer.start_ps <= inner.start_ps && inner.end_ps <= outer.end_ps && inner.start_ps < outer.end_ps &&
           outer.start_ps < inner.end_ps;
  };
  return x.track == y.track && (contains(x, y) || contains(y, x));
}

void add_dependencies(Timeline& timeline, const trace::Trace& t, const std::vector<uint32_t>& slices,
                      SliceLinks& links) {
  for (const trace::NodeId n : t.nodes())
    for (uint32_t e = t.deps.begin[n]; e < t.deps.begin[n + 1]; ++e) {
      const uint32_t from = slices[t.deps.node[e]], to = slices[n];
      const std::string_view kind = trace::name(trace::kind_of(t.deps.kind[e]));
      if (!nest(timeline, from, to)) add_arrow(from, to, timeline.strings.intern(kind), links);
    }
}

void add_collectives(const match::Matching& matching, const std::vector<std::vector<uint32_t>>& slices,
                     SliceLinks& links) {
  for (const match::Collective& collective : matching.collectives) {
    std::vector<uint32_t> members;
    for (const match::NodeRef& member : collective.members) {
      if (member.node == trace::kNoNode) continue;
      const uint32_t slice = slices[member.rank][member.node];
      if (slice != job::kNoSlice) members.push_back(slice);
    }
    if (members.size() > 1) links.collectives.push_back(std::move(members));
  }
}

/// Pieces of one slice that follow each other are one.
void add_piece(SliceLinks::Piece piece, SliceLinks& links) {
  if (piece.slice == job::kNoSlice) return;
  SliceLinks::Piece* const last = links.path.empty() ? nullptr : &links.path.back();
  if (last && last->slice == piece.slice && last->end_ps == piece.start_ps) last->end_ps = piece.end_ps;
  else links.path.push_back(piece);
}

}  // namespace

SliceLinks links_of(Timeline& timeline, const job::SliceFinder& finder, const trace::TraceSet& job,
                    const match::GroupTable& groups) {
  SliceLinks links;
  std::vector<std::vector<uint32_t>> slices;  // by rank and node
  for (const trace::Trace& t : job.ranks) {
    slices.push_back(finder.of(t.rank, t));
    add_dependencies(timeline, t, slices.back(), links);
  }
  const match::Matching matching = match::match(job, groups);
  const StringId name = timeline.strings.intern("message");
  for (const match::Message& message : matching.messages)
    if (message.send.node != trace::kNoNode && message.recv.node != trace::kNoNode)
      add_arrow(slices[message.send.rank][message.send.node], slices[message.recv.rank][message.recv.node], name,
                links);
  add_collectives(matching, slices, links);
  return links;
}

SliceLinks links_of(Timeline& timeline, const job::SliceFinder& finder, const trace::ClassJob& job,
                    const match::GroupTable& groups) {
  trace::TraceSet shown;
  const std::vector<int64_t> ranks = finder.ranks();
  for (size_t i = 0; i < job.ranks.size(); ++i)
    if (std::find(ranks.begin(), ranks.end(), job.ranks[i].rank) != ranks.end())
      shown.ranks.push_back(trace::concrete(job, i));
  return links_of(timeline, finder, shown, groups);
}

void add_path(const job::SliceFinder& finder, std::span<const sim::PathPiece> path, SliceLinks& links) {
  for (const sim::PathPiece& piece : path)
    if (piece.kind != sim::PathPiece::Kind::lag && piece.kind != sim::PathPiece::Kind::start)
      add_piece({finder.of(piece.rank, piece.node), piece.start_ps, piece.end_ps}, links);
  links.path_of = "the step";
}

Result<void> add_path(const Timeline& timeline, const job::SliceFinder& finder, const trace::TraceSet& job,
                      SliceLinks& links) {
  Findings known;  // the analysis reports these
  const trace::Trace* longest = nullptr;
  analyze::Schedule of_longest;
  for (const trace::Trace& t : job.ranks) {
    CHAKRA_ASSIGN(analyze::Schedule schedule, analyze::schedule_of(t, known));
    if (longest && schedule.last - schedule.first <= of_longest.last - of_longest.first) continue;
    longest = &t;
    of_longest = std::move(schedule);
  }
  if (!longest) return {};
  CHAKRA_ASSIGN(const analyze::CriticalPath path, analyze::critical_path(*longest, of_longest));
  const std::vector<uint32_t> slices = finder.of(longest->rank, *longest);
  const Picoseconds offset = job::offset_of(timeline, slices, of_longest, *longest);
  for (const analyze::CriticalPath::Piece& piece : path.pieces)
    if (piece.bound != analyze::Bound::lag && piece.bound != analyze::Bound::unexplained &&
        piece.bound != analyze::Bound::start)
      add_piece({slices[piece.node], piece.start_ps + offset, piece.end_ps + offset}, links);
  links.path_of = fmt::format("rank {}", longest->rank);
  return {};
}

}  // namespace chakra::report
