#include "chakra/astra/algorithms.h"

#include <algorithm>
#include <bit>

#include "chakra/base/base.h"

namespace chakra::astra {

using trace::CommType;

std::optional<Algorithm> algorithm_named(std::string_view name) {
  Algorithm a;
  if (name.starts_with("one")) {
    a.one_line = true;
    name.remove_prefix(3);
    if (name == "Ring") return a;
    if (name == "HalvingDoubling") return a.kind = AlgorithmKind::halving_doubling, a;
    if (!name.starts_with("Direct")) return std::nullopt;
    name.remove_prefix(6);
  } else {
    if (name == "ring") return a;
    if (name == "halvingDoubling") return a.kind = AlgorithmKind::halving_doubling, a;
    if (name == "doubleBinaryTree") return a.kind = AlgorithmKind::tree, a;
    if (!name.starts_with("direct")) return std::nullopt;
    name.remove_prefix(6);
  }
  a.direct = true;
  if (!name.empty() && (!parse_integer(name, a.window) || a.window < 1)) return std::nullopt;
  return a;
}

uint32_t neighbour(uint32_t place, uint32_t places, bool forward) {
  if (forward) return place + 1 == places ? 0 : place + 1;
  return place == 0 ? places - 1 : place - 1;
}

uint64_t message_bytes(CommType type, uint32_t n, uint64_t bytes) {
  return type == CommType::all_gather ? bytes : bytes / n;
}

int64_t ring_steps(CommType type, uint32_t places) {
  const auto n = static_cast<int64_t>(places);
  if (type == CommType::all_reduce) return 2 * (n - 1);
  return type == CommType::all_to_all ? n * (n - 1) / 2 : n - 1;
}

bool ring_reduces(CommType type, uint32_t n, int64_t step) {
  return type == CommType::reduce_scatter || (type == CommType::all_reduce && step < n);
}

Phase::Phase(const Algorithm& algorithm, CommType type, uint32_t self, uint32_t places, uint64_t bytes, bool clockwise,
             bool whole, bool max_root)
    : algorithm_(algorithm), type_(type), self_(self), places_(places), clockwise_(clockwise) {
  const auto n = static_cast<int64_t>(places);
  if (algorithm.kind == AlgorithmKind::tree) {
    message_ = bytes;
    find_tree_neighbours(max_root);
    return;
  }
  if (algorithm.kind == AlgorithmKind::halving_doubling) {
    const int64_t steps = std::bit_width(places) - 1;
    sends_left_ = type == CommType::all_reduce ? 2 * steps : steps;
    reducing_length_ = steps - 1;
    growing_ = type == CommType::all_gather;
    message_ = growing_ ? bytes : bytes / 2;
    distance_ = growing_ ? places / 2 : 1;
  } else {
    message_ = message_bytes(type, places, bytes);
    sends_left_ = algorithm.direct && type == CommType::all_to_all ? n - 1 : ring_steps(type, places);
    if (algorithm.direct) parallel_ = algorithm.window == 0 ? n - 1 : std::min(algorithm.window, n - 1);
    reducing_length_ = algorithm.direct && whole ? parallel_ : (n - 1) * parallel_;
  }
  to_ = neighbour(self, places, clockwise);
  from_ = neighbour(self, places, !clockwise);
}

void Phase::start(Actions& out) {
  if (algorithm_.kind == AlgorithmKind::tree) return tree_start(out);
  for (int64_t i = 0; i < parallel_; ++i) insert(out);
}

void Phase::received(Actions& out) {
  if (algorithm_.kind == AlgorithmKind::tree) return tree_received(out);
  ++received_;
  insert(out);
}

void Phase::bundle_done(Actions& out) {
  if (algorithm_.kind == AlgorithmKind::tree) return tree_bundle_done(out);
  ++free_;
  const auto half = static_cast<int64_t>(places_) - 1;
  if (algorithm_.direct && type_ == CommType::all_reduce && sends_left_ <= half) {
    if (received_ < half) return;
    for (int64_t i = 0; i < parallel_; ++i) send_one(out);
  } else {
    send_one(out);
  }
  if (sends_left_ == 0 && free_ == parallel_) out.push_back({Action::Kind::end, 0, 0, false});
}

/// The next packet, whose bundle begins: `parallel_` plain ones, then those that may reduce, and so on.
void Phase::insert(Actions& out) {
  if (plain_ == 0 && later_ == 0) {
    plain_ = parallel_;
    later_ = reducing_length_;
    odd_cycle_ = !odd_cycle_;
  }
  bool reduces = false;
  if (plain_ > 0) {
    --plain_;
  } else {
    --later_;
    reduces = type_ == CommType::reduce_scatter || (type_ == CommType::all_reduce && odd_cycle_);
  }
  if (algorithm_.kind == AlgorithmKind::halving_doubling) {
    const bool even = (self_ / distance_) % 2 == 0;
    to_ = from_ = static_cast<uint32_t>(even ? self_ + distance_ : self_ - distance_);
  }
  packets_.push_back({to_, from_, message_});
  out.push_back({Action::Kind::bundle, 0, message_, reduces});
  next_peer();
}

void Phase::next_peer() {
  if (algorithm_.kind == AlgorithmKind::halving_doubling) {
    if (growing_) {
      distance_ /= 2;
      message_ *= 2;
    } else {
      distance_ *= 2;
      message_ /= 2;
      if (distance_ == places_ && type_ == CommType::all_reduce) {  // and back
        growing_ = true;
        distance_ /= 2;
        message_ *= 2;
      }
    }
    distance_ = std::max<uint64_t>(distance_, 1);
  } else if (algorithm_.direct) {
    do to_ = neighbour(to_, places_, clockwise_);
    while (to_ == self_);
    do from_ = neighbour(from_, places_, !clockwise_);
    while (from_ == self_);
  }
}

void Phase::send_one(Actions& out) {
  if (next_ == packets_.size() || sends_left_ == 0 || free_ == 0) return;
  const Packet packet = packets_[next_++];
  if (next_ == packets_.size()) {
    packets_.clear();
    next_ = 0;
  }
  out.push_back({Action::Kind::send, packet.to, packet.bytes, false});
  out.push_back({Action::Kind::receive, packet.from, packet.bytes, false});
  --sends_left_;
  --free_;
}

// ---- the tree --------------------------------------------------------------------------------------------------

/// A root with one perfect binary tree below it, numbered in order: the root is the last place or the first.
void Phase::find_tree_neighbours(bool max_root) {
  const uint32_t below = places_ - 1, shift = max_root ? 0 : 1, top = below / 2 + shift;
  const uint32_t root = max_root ? places_ - 1 : 0;
  if (self_ == root) {
    left_ = top;
    return;
  }
  // Down from the top: the subtree [low, low + size) has its own top in the middle.
  uint32_t low = shift, size = below, parent = root;
  for (;;) {
    const uint32_t middle = low + size / 2;
    if (self_ == middle) {
      parent_ = parent;
      if (size > 1) {
        left_ = low + size / 4;
        right_ = middle + 1 + size / 4;
      }
      return;
    }
    parent = middle;
    if (self_ > middle) low = middle + 1;
    size /= 2;
  }
}

void Phase::tree_start(Actions& out) {
  if (left_ == kNobody) {  // a leaf
    out.push_back({Action::Kind::bundle, 0, message_, false});
    return;
  }
  out.push_back({Action::Kind::receive, left_, message_, false});
  if (right_ != kNobody) out.push_back({Action::Kind::receive, right_, message_, false});
}

void Phase::tree_received(Actions& out) {
  ++received_;
  const bool leaf = left_ == kNobody;
  out.push_back({Action::Kind::bundle, 0, message_, !leaf});
}

void Phase::tree_bundle_done(Actions& out) {
  ++bundles_;
  const bool leaf = left_ == kNobody, root = parent_ == kNobody;
  const int64_t children = root ? 1 : 2;
  const auto ask_parent = [&] {
    out.push_back({Action::Kind::send, parent_, message_, false});
    out.push_back({Action::Kind::receive, parent_, message_, false});
  };
  if (leaf) {
    if (bundles_ == 1) ask_parent();
    else out.push_back({Action::Kind::end, 0, 0, false});
  } else if (!root && bundles_ == children) {
    ask_parent();
  } else if (root || bundles_ > children) {
    out.push_back({Action::Kind::send, left_, message_, false});
    if (right_ != kNobody) out.push_back({Action::Kind::send, right_, message_, false});
    out.push_back({Action::Kind::end, 0, 0, false});
  }
}

}  // namespace chakra::astra
