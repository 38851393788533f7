#include "chakra/edit/layer_places.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "chakra/trace/metadata.h"

namespace chakra::edit {

using trace::Comm;
using trace::EdgeKind;
using trace::NodeId;
using trace::NodeType;
using trace::Trace;

namespace {

constexpr uint32_t kUnknown = UINT32_MAX;

/// Operations that are in no layer: a part with one of them is a micro-batch or a step.
bool is_outside_layers(std::string_view name) {
  for (const std::string_view start : {"aten::embedding", "aten::cross_entropy_loss", "aten::nll_loss",
                                       "aten::_log_softmax", "ProfilerStep", "Optimizer."})
    if (name.starts_with(start)) return true;
  return false;
}
bool calls_message(std::string_view name) { return name.starts_with("c10d::send") || name.starts_with("c10d::recv"); }

/// Calls of the runtime and of communication libraries come at other places in each layer.
bool is_call(std::string_view name) {
  for (const std::string_view start :
       {"cuda", "hip", "cuLaunch", "nccl", "rccl", "gloo", "c10d::", "record_param_comms", "[chakra|"})
    if (name.starts_with(start)) return true;
  return false;
}

}  // namespace

Layers::Layers(const Trace& t)
    : t_(t),
      micro_batch_(t.strings.find("micro_batch")),
      has_ring_(trace::metadata_number(t, "cp").value_or(1) > 1),
      places_(t.size()),
      kind_(t.size(), kUnknown) {
  set_sequences();
  found_ = find_layers(kinds_of(sequences_));
  place_operations(0);
  if (has_threads_) {
    place_scattered();
    place_on_threads();
  }
  place_others();
}

uint32_t Layers::kind_of(NodeId n) {
  if (kind_[n] != kUnknown) return kind_[n];
  const Comm* const comm = t_.comm(n);
  const StringId shapes = t_.io_row[n] == trace::kNoRow ? 0 : trace::Io(t_.ios[t_.io_row[n]]).inputs.shapes;
  const auto key = std::tuple(stem_of(t_.name[n]),
                              static_cast<uint32_t>(t_.type[n]) << 8 | (comm ? static_cast<uint32_t>(comm->type) : 0U),
                              comm ? comm->group : shapes, micro_batch_of(n));
  return kind_[n] = kinds_.emplace(key, static_cast<uint32_t>(kinds_.size())).first->second;
}

uint32_t Layers::micro_batch_of(NodeId n) const {
  if (micro_batch_ == 0) return 0;
  for (const trace::Attr& attr : t_.attrs_of(n))
    if (attr.name == micro_batch_) return static_cast<uint32_t>(attr.integer().value_or(0)) + 1;
  return 0;
}

bool Layers::is_message(NodeId n) const {
  return !has_ring_ && (t_.type[n] == NodeType::send || t_.type[n] == NodeType::recv || calls_message(t_.name_of(n)));
}

bool Layers::is_on_thread(NodeId n) const {
  return t_.lane[n] != trace::kNoLane && t_.lanes[t_.lane[n]].kind == trace::Lane::Kind::thread;
}

bool Layers::is_operation(NodeId n) const {
  if (t_.type[n] == NodeType::metadata || t_.part_of[n] != trace::kNoNode) return false;
  if (!has_threads_) return !t_.name_of(n).starts_with("[chakra|");
  if (is_on_thread(n) && is_message(n)) return true;
  return is_on_thread(n) && !trace::is_comm(t_.type[n]) && !is_call(t_.name_of(n));
}

void Layers::set_sequences() {
  has_threads_ = std::any_of(t_.nodes().begin(), t_.nodes().end(), [&](NodeId n) {
    return is_on_thread(n) && t_.type[n] == NodeType::comp && t_.part_of[n] == trace::kNoNode;
  });
  sequences_.resize(has_threads_ ? t_.lanes.size() : 1);
  for (const NodeId n : t_.nodes())
    if (is_operation(n)) sequences_[has_threads_ ? t_.lane[n] : 0].push_back(n);
}

uint32_t Layers::stem_of(StringId name) {
  if (stems_.size() <= name) stems_.resize(t_.strings.size(), kUnknown);
  uint32_t& stem = stems_[name];
  if (stem != kUnknown) return stem;
  std::string text(t_.strings[name]);
  std::erase_if(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  return stem = stem_numbers_.emplace(std::move(text), static_cast<uint32_t>(stem_numbers_.size())).first->second;
}

std::vector<std::vector<uint32_t>> Layers::kinds_of(std::span<const std::vector<NodeId>> sequences) {
  std::vector<std::vector<uint32_t>> kinds;
  for (const std::vector<NodeId>& sequence : sequences) {
    std::vector<uint32_t>& of = kinds.emplace_back();
    for (const NodeId n : sequence)
      of.push_back(is_message(n) || is_outside_layers(t_.name_of(n)) ? Place::kNone - once_++ : kind_of(n));
  }
  return kinds;
}

void Layers::place_scattered() {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<NodeId>> by_stem;
  for (const NodeId n : t_.nodes())
    if (is_operation(n) && !places_[n]) by_stem[{t_.lane[n], stem_of(t_.name[n])}].push_back(n);
  std::vector<std::vector<NodeId>> sequences;
  for (auto& [stem, nodes] : by_stem) sequences.push_back(std::move(nodes));
  const size_t first = found_.runs.size();
  for (Run run : find_runs(kinds_of(sequences), found_.layers)) {
    run.lane += sequences_.size();
    found_.runs.push_back(run);
  }
  sequences_.insert(sequences_.end(), std::make_move_iterator(sequences.begin()),
                    std::make_move_iterator(sequences.end()));
  place_operations(static_cast<uint32_t>(first));
}

void Layers::place_operations(uint32_t first) {
  for (uint32_t r = first; r < found_.runs.size(); ++r) {
    const Run& run = found_.runs[r];
    for (size_t i = 0; i < run.period * run.count; ++i)
      places_[sequences_[run.lane][run.begin + i]] = {r, static_cast<uint32_t>(i / run.period),
                                                      static_cast<uint32_t>(i % run.period), true};
  }
}

std::optional<Place> Layers::owner(NodeId n) const {
  if (t_.part_of[n] != trace::kNoNode) return beside(t_.part_of[n]);
  for (size_t e = t_.deps.begin[n]; e < t_.deps.begin[n + 1]; ++e) {
    const EdgeKind kind = t_.deps.kind.empty() ? EdgeKind::given : trace::kind_of(t_.deps.kind[e]);
    const bool waited = t_.name_of(t_.deps.node[e]) == trace::kHostGap;  // a thread that waits for calls of others
    if (kind == EdgeKind::launch || kind == EdgeKind::comm || waited) return beside(t_.deps.node[e]);
  }
  return std::nullopt;
}

void Layers::place_on_threads() {
  std::vector<NodeId> last(t_.lanes.size(), trace::kNoNode);
  for (const NodeId n : t_.nodes()) {
    if (!is_on_thread(n)) continue;
    if (is_operation(n)) last[t_.lane[n]] = n;
    else if (t_.part_of[n] != trace::kNoNode) places_[n] = beside(t_.part_of[n]);
    else if (last[t_.lane[n]] != trace::kNoNode && t_.type[n] != NodeType::metadata)
      places_[n] = beside(last[t_.lane[n]]);
  }
}

void Layers::place_others() {
  NodeId last = trace::kNoNode;
  for (const NodeId n : t_.nodes()) {
    if (is_operation(n)) {
      last = n;
      continue;
    }
    if (places_[n] || t_.type[n] == NodeType::metadata) continue;
    if (const auto place = owner(n)) places_[n] = *place;
    else if (!has_threads_ && last != trace::kNoNode) places_[n] = beside(last);
  }
}

}  // namespace chakra::edit
