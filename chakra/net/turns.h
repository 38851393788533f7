// Turns: rotations that map a graph onto itself, by coordinates of the devices. In a leaf-spine fabric one turn moves
// every rank to the next place of its leaf, another one moves every leaf, with its ranks, to the next leaf. Devices
// that turns map onto each other have the same routes, turned: ways to one device of an orbit stand for the ways to all
// (shortest_paths.h), and groups of ranks that turns map onto each other have equivalent places (Fabric::placement).
//
// A turn must map each link to a link of the same rate and latency, and each group (Graph::groups) to a group. The
// shapes list their turns, and the tests check every link.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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
  /// `rows`: in the order of the devices, the first row from device 0 on. Requires extents > 0, at most kMost.
  Turns(std::vector<uint32_t> extents, std::vector<Row> rows);

  size_t count() const { return extents_.size(); }
  bool empty() const { return extents_.empty(); }
  uint32_t extent(size_t turn) const { return extents_[turn]; }
  bool moves(size_t turn, uint32_t device) const { return row_of(device).strides[turn] > 0; }
  /// Return the coordinates; 0 for turns that leave the device in place. Cost of all functions: O(rows + turns).
  Steps place(uint32_t device) const;
  /// Return the device that is `steps[t]` < extent(t) further along each turn t, or, with `back`, before.
  uint32_t turned(uint32_t device, const Steps& steps, bool back) const;

 private:
  const Row& row_of(uint32_t device) const;

  std::vector<uint32_t> extents_;
  std::vector<Row> rows_;
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
  bool moves(size_t turn, uint32_t device) const {
    return (used_ >> turn & 1) != 0 && turns_.moves(turn, first_of(device));
  }
  /// Leave out a turn.
  void drop(size_t turn) { used_ &= ~(1u << turn); }
  Turns::Steps place(uint32_t device) const;
  uint32_t turned(uint32_t device, const Turns::Steps& steps, bool back) const {
    if (used_ == 0) return device;
    const uint32_t to = turns_.turned(first_of(device), steps, back);
    return of_.empty() ? to : of_[to];
  }
  /// Return the number of devices that turns map the device to, itself included.
  uint64_t orbit(uint32_t device) const;

 private:
  uint32_t first_of(uint32_t device) const { return first_.empty() ? device : first_[device]; }

  Turns turns_;
  uint32_t used_ = 0;                 ///< bit t: turn t
  std::vector<uint32_t> first_, of_;  ///< by class: a device; by device: its class; empty if devices are no classes
};

}  // namespace chakra::net
