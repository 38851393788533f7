// The buffer assignment of a program (BufferAssignmentProto) -> bytes of memory.
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <fmt/core.h>

#include <algorithm>

#include "chakra/xla/program.h"
#include "chakra/xla/wire.h"

namespace chakra::xla {
namespace {

using protozero::pbf_reader;

struct Allocation {
  int64_t index = 0;
  uint64_t size = 0;
  bool thread_local_ = false, parameter = false, constant = false, live_out = false;
  int64_t color = 0;
  std::vector<int64_t> buffers;
  bool is_temporary() const { return !thread_local_ && !parameter && !constant && !live_out; }
};
struct Event {
  int64_t kind = 0, buffer = 0, with = 0;
};
struct Heap {
  std::vector<Event> events;
  int64_t allocation = 0;
};
struct Buffer {
  uint64_t size = 0;
  int64_t color = 0;
};

class MemoryReader {
 public:
  explicit MemoryReader(Program& program) : p_(program) {}

  void read(pbf_reader reader) {
    while (reader.next()) {
      if (!is_text(reader)) skip(reader, "BufferAssignmentProto", p_.unknown);
      else if (reader.tag() == 1) buffer(reader.get_message());
      else if (reader.tag() == 3) allocation(reader.get_message());
      else if (reader.tag() == 4) heap(reader.get_message());
      else if (reader.tag() == 2) reader.skip();
      else skip(reader, "BufferAssignmentProto", p_.unknown);
    }
  }

  /// The peak as XLA's memory viewer computes it: the heap of intermediate values at its largest, and every allocation
  /// that the heap does not use, because it lives throughout the program.
  void sum() {
    Memory& m = p_.memory;
    m.known = true;
    absl::flat_hash_set<int64_t> in_heap;  // allocations
    const Heap* const temporary = temporary_heap();
    if (temporary) {
      absl::flat_hash_set<int64_t> seen;
      for (const Event& event : temporary->events) seen.insert(event.buffer);
      for (const Allocation& a : allocations_)
        if (std::any_of(a.buffers.begin(), a.buffers.end(), [&](int64_t b) { return seen.contains(b); }))
          in_heap.insert(a.index);
      m.live = most_alive(*temporary);
    }
    m.peak = m.live;
    for (const Allocation& a : allocations_) {
      if (a.color != 0) continue;
      if (!a.thread_local_) m.allocated = add_bytes(m.allocated, a.size);
      if (a.parameter) m.arguments = add_bytes(m.arguments, a.size);
      else if (a.live_out) m.outputs = add_bytes(m.outputs, a.size);
      else if (a.constant) m.constants = add_bytes(m.constants, a.size);
      else if (!a.thread_local_) m.temporary = add_bytes(m.temporary, a.size);
      if (!a.thread_local_ && !in_heap.contains(a.index) && !a.buffers.empty()) m.peak = add_bytes(m.peak, a.size);
    }
  }

 private:
  void buffer(pbf_reader reader) {
    int64_t id = 0;
    Buffer of;
    while (reader.next()) {
      if (!is_varint(reader)) reader.skip();
      else if (reader.tag() == 1) id = reader.get_int64();
      else if (reader.tag() == 2) of.size = reader.get_uint64();
      else if (reader.tag() == 4) of.color = reader.get_int64();
      else reader.skip();
    }
    buffers_[id] = of;
  }

  void allocation(pbf_reader reader) {
    Allocation& a = allocations_.emplace_back();
    while (reader.next()) {
      const uint32_t field = reader.tag();
      if (field == 9 && is_text(reader)) {
        int64_t id = 0;
        for (pbf_reader assigned = reader.get_message(); assigned.next();)
          if (assigned.tag() == 1 && is_varint(assigned)) id = assigned.get_int64();
          else assigned.skip();
        a.buffers.push_back(id);
      } else if (!is_varint(reader)) {
        reader.skip();
      } else {
        const int64_t value = reader.get_int64();
        if (field == 1) a.index = value;
        else if (field == 2) a.size = static_cast<uint64_t>(std::max<int64_t>(0, value));
        else if (field == 3) a.thread_local_ = value != 0;
        else if (field == 5) a.parameter = value != 0;
        else if (field == 7) a.live_out = value != 0;
        else if (field == 8) a.color = value;
        else if (field == 12) a.constant = value != 0;
      }
    }
  }

  void heap(pbf_reader reader) {
    Heap& heap = heaps_.emplace_back();
    while (reader.next()) {
      if (reader.tag() == 1 && is_text(reader)) {
        Event& event = heap.events.emplace_back();
        for (pbf_reader fields = reader.get_message(); fields.next();) {
          if (!is_varint(fields)) fields.skip();
          else if (fields.tag() == 1) event.kind = fields.get_int64();
          else if (fields.tag() == 2) event.buffer = fields.get_int64();
          else if (fields.tag() == 5) event.with = fields.get_int64();
          else fields.skip();
        }
      } else if (reader.tag() == 3 && is_varint(reader)) heap.allocation = reader.get_int64();
      else reader.skip();
    }
  }

  /// That of an allocation for intermediate values, else the one with the most events.
  const Heap* temporary_heap() const {
    for (const Heap& heap : heaps_)
      for (const Allocation& a : allocations_)
        if (heap.allocation != 0 && a.index == heap.allocation && a.color == 0 && a.is_temporary()) return &heap;
    const Heap* best = nullptr;
    std::ptrdiff_t most = 0;
    for (const Heap& heap : heaps_) {
      const auto count = std::count_if(heap.events.begin(), heap.events.end(), [&](const Event& event) {
        const auto found = buffers_.find(event.buffer);
        return found != buffers_.end() && found->second.color == 0;
      });
      if (count > most) most = count, best = &heap;
    }
    return best;
  }

  uint64_t most_alive(const Heap& heap) const {
    constexpr int64_t kAllocate = 0, kFree = 1;
    absl::flat_hash_map<int64_t, int64_t> shares, users;
    uint64_t now = 0, most = 0;
    const auto size = [&](int64_t buffer) {
      const auto found = buffers_.find(buffer);
      return found == buffers_.end() ? 0 : found->second.size;
    };
    for (const Event& event : heap.events) {
      if (event.kind == kFree) {
        const auto shared = shares.find(event.buffer);
        const int64_t buffer = shared == shares.end() ? event.buffer : shared->second;
        if (--users[buffer] == 0) now -= std::min(now, size(buffer));
        continue;
      }
      if (event.kind != kAllocate) shares[event.buffer] = event.with;
      const int64_t buffer = event.kind == kAllocate ? event.buffer : event.with;
      int64_t& count = users[buffer];
      count = event.kind == kAllocate ? 1 : count + 1;
      if (count == 1) now = add_bytes(now, size(buffer));
      most = std::max(most, now);
    }
    return most;
  }

  Program& p_;
  absl::flat_hash_map<int64_t, Buffer> buffers_;
  std::vector<Allocation> allocations_;
  std::vector<Heap> heaps_;
};

}  // namespace

Result<void> parse_memory(std::string_view part, Program& program) {
  MemoryReader memory(program);
  memory.read(pbf_reader(part.data(), part.size()));
  memory.sum();
  return {};
}

}  // namespace chakra::xla
