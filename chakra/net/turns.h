// Turns: rotations that map a graph onto itself, by coordinates of the devices. In a leaf-spine fabric one turn moves
// every rank to the next place of its leaf, another one moves every leaf, with its ranks, to the next leaf. Devices
// that turns map onto each other have the same routes, turned: ways to one device of an orbit stand for the ways to all
// (shortest_paths.h), and groups of ranks that turns map onto each other have equivalent places (Fabric::placement).
//
// A turn must map each link to a link of the same rate and latency, and each group (Graph::groups) to a group. If every
// permutation of a coordinate does so, not only rotations, the coordinate is free: the leaves of a leaf-spine fabric
// may change places in any way. The shapes list their turns, and the tests check every link.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace chakra::net {

class Turns {
 public:
  static constexpr size_t kMost = 20;  ///< number of turns
  using Steps = std::array<uint32_t, kMost>;

  /// Devices with consecutive numbers. The coordinate of turn t is (device - first) / strides[t] % extents[t];
  /// stride 0: turn t leaves these devices in place. Missing strides are 0.
  struct Row {
    uint32_t first = 0;
    std::vector<uint32_t> strides;
  };

  Turns() = default;
  /// `rows`: in the order of the devices, the first row from device 0 on. Bit t of `free`: coordinate t is free.
  /// Requires extents > 0, at most kMost.
  Turns(std::vector<uint32_t> extents, std::vector<Row> rows, uint32_t free);

  size_t count() const { return extents_.size(); }
  bool empty() const { return extents_.empty(); }
  uint32_t extent(size_t turn) const { return extents_[turn]; }
  bool free(size_t turn) const { return (free_ >> turn & 1) != 0; }
  bool moves(size_t turn, uint32_t device) const { return row_of(device).strides[turn] > 0; }
  /// Return the coordinates; 0 for turns that leave the device in place. Cost of all functions: O(rows + turns).
  Steps place(uint32_t device) const;
  /// Return the device that is `steps[t]` < extent(t) further along each turn t, or, with `back`, before.
  uint32_t turned(uint32_t device, const Steps& steps, bool back) const;

 private:
  const Row& row_of(uint32_t device) const;

  std::vector<uint32_t> extents_;
  std::vector<Row> rows_;
  uint32_t free_ = 0;
};

/// The turns of the devices of a graph, or of classes of them (trunks.h).
class DeviceTurns {
 public:
  DeviceTurns() = default;
  explicit DeviceTurns(Turns turns) : turns_(std::move(turns)), used_((1u << turns_.count()) - 1) {}
  /// Of the classes: `of`, by device. Turns that move devices within a class are left out. Cost: O(devices x turns).
  DeviceTurns(Turns turns, const std::vector<uint32_t>& of, uint32_t classes);

  bool empty() const { return used_ == 0; }
  size_t count() const { return turns_.count(); }
  uint32_t extent(size_t turn) const { return turns_.extent(turn); }
  bool free(size_t turn) const { return turns_.free(turn); }
  bool moves(size_t turn, uint32_t device) const { return uses(turn) && turns_.moves(turn, first_of(device)); }
  /// Return whether the turn is not left out.
  bool uses(size_t turn) const { return (used_ >> turn & 1) != 0; }
  Turns::Steps place(uint32_t device) const;
  uint32_t turned(uint32_t device, const Turns::Steps& steps, bool back) const {
    if (used_ == 0) return device;
    const uint32_t to = turns_.turned(first_of(device), steps, back);
    return classes_ ? classes_->of[to] : to;
  }
  /// Return the number of devices that turns map the device to, itself included.
  uint64_t orbit(uint32_t device) const;

 private:
  /// Leave out a turn.
  void drop(size_t turn) { used_ &= ~(1u << turn); }
  uint32_t first_of(uint32_t device) const { return classes_ ? classes_->first[device] : device; }

  struct Classes {
    std::vector<uint32_t> first, of;  ///< by class: a device; by device: its class
  };

  Turns turns_;
  uint32_t used_ = 0;                       ///< bit t: turn t
  std::shared_ptr<const Classes> classes_;  ///< null if devices are no classes; copies share it
};

/// Permutations, one for each turn, that map a set of devices onto itself: a coordinate goes round the values that
/// occur in the set. If the coordinate is free, other values stay; else the values must be evenly spaced round all, and
/// the rotation by their distance is taken. A turn without such a permutation is left out.
class Cycles {
 public:
  Cycles() = default;
  /// `devices`: different ones. Cost: O(devices x turns). The turns must outlive this object.
  Cycles(const DeviceTurns& turns, std::span<const int64_t> devices);

  bool empty() const { return used_ == 0; }
  bool uses(size_t turn) const { return (used_ >> turn & 1) != 0; }
  void drop(size_t turn) { used_ &= ~(1u << turn); }
  /// Return whether the permutations are among those of others.
  bool are_among(const Cycles& others) const;
  /// Return the device that the permutation of a turn makes of a device.
  uint32_t next(size_t turn, uint32_t device) const;
  /// Return whether the device is the first of its orbit. Cost: O(rows + turns).
  bool is_first(uint32_t device) const;
  /// Return the number of devices to which the permutation of the turn, repeated, maps the device.
  uint32_t length(size_t turn, uint32_t device) const;
  /// Return the number of devices in the orbit of a device.
  uint64_t orbit(uint32_t device) const;

 private:
  struct Cycle {
    std::vector<uint32_t> next;   ///< by coordinate
    std::vector<uint32_t> index;  ///< by coordinate: number in its cycle
    std::vector<uint32_t> length;
  };
  static std::optional<Cycle> cycle(const std::vector<char>& occurs, bool free);

  const DeviceTurns* turns_ = nullptr;
  std::vector<Cycle> cycles_;  ///< by turn
  uint32_t used_ = 0;          ///< bit t: turn t
};

}  // namespace chakra::net
