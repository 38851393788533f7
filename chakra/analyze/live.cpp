// Which storages are live when.
#include <algorithm>
#include <map>

#include "chakra/analyze/analyze.h"

namespace chakra::analyze {
namespace {

using trace::NodeId;

/// Calls visit(storage, bytes, device) for each "[tensor, storage, offset, elements, bytes of one, 'device']" in a
/// text of nested lists.
template <class Visit>
void for_each_tensor(std::string_view text, const Visit& visit) {
  std::array<uint64_t, 5> numbers{};
  size_t count = 0;   // numbers of the innermost list so far, in a row from its begin
  bool fits = false;  // it may still be a tensor
  std::string_view device;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '[') {
      count = 0, fits = true, device = {};
      ++at;
    } else if (c == ']') {
      if (fits && count == 5 && !device.empty()) visit(numbers, device);
      fits = false;
      ++at;
    } else if (c == '\'' || c == '"') {
      size_t end = at + 1;
      while (end < text.size() && text[end] != c) end += text[end] == '\\' ? 2 : 1;
      end = std::min(end, text.size());
      if (count == 5 && device.empty()) device = text.substr(at + 1, end - at - 1);
      else fits = false;
      at = end + 1;
    } else if (c == ',' || c == ' ') {
      ++at;
    } else {
      size_t end = at;
      while (end < text.size() && text[end] != ',' && text[end] != ']' && text[end] != '[' && text[end] != ' ') ++end;
      if (end == at) ++end;
      uint64_t number = 0;
      if (count < 5 && device.empty() && parse_unsigned(text.substr(at, end - at), number)) numbers[count++] = number;
      else fits = false;
      at = end;
    }
  }
}

struct Storage {
  uint64_t bytes = 0;
  Picoseconds first = 0, last = 0;
  NodeId node = trace::kNoNode;
  bool read_first = false;
};

}  // namespace

LiveBytes live_bytes(const trace::Trace& t, const Schedule& s) {
  CHAKRA_ASSERT(s.start.size() == t.size() && s.end.size() == t.size());
  LiveBytes live;
  const std::vector<Picoseconds> inclusive = s.measured ? trace::inclusive_ends(t) : s.end;
  std::map<std::string, std::map<uint64_t, Storage>, std::less<>> storages;
  const auto see = [&](NodeId n, std::string_view values, bool reads) {
    for_each_tensor(values, [&](const std::array<uint64_t, 5>& v, std::string_view device) {
      const auto [tensor, id, offset, elements, each] = v;
      uint64_t end = 0, bytes = 0;
      if (id == 0 || __builtin_add_overflow(offset, elements, &end) || __builtin_mul_overflow(end, each, &bytes))
        return;
      auto found = storages.find(device);
      if (found == storages.end()) found = storages.emplace(std::string(device), std::map<uint64_t, Storage>()).first;
      Storage& storage = found->second[id];
      const Picoseconds end_ps = std::max(inclusive[n], s.end[n]);
      if (storage.node == trace::kNoNode || s.start[n] < storage.first) {
        storage.first = s.start[n];
        storage.read_first = reads;
        if (storage.node == trace::kNoNode) storage.last = end_ps;
        storage.node = n;
      } else if (s.start[n] == storage.first && reads) {
        storage.read_first = true;
      }
      storage.bytes = std::max(storage.bytes, bytes);
      storage.last = std::max(storage.last, end_ps);
    });
  };
  for (const NodeId n : t.nodes()) {
    if (t.io_row[n] == trace::kNoRow) continue;
    const trace::Io& io = t.ios[t.io_row[n]];
    see(n, io.inputs.values, true);
    see(n, io.outputs.values, false);
  }
  for (const auto& [name, of] : storages) {
    live.known = true;
    LiveBytes::Device& device = live.devices.emplace_back();
    device.name = name;
    device.storages = static_cast<int64_t>(of.size());
    struct Change {
      Picoseconds time;
      bool frees;  ///< what is freed at a moment is not counted with what is taken then
      uint64_t bytes;
      NodeId node;
    };
    std::vector<Change> changes;
    uint64_t now = 0;
    const auto take = [&](uint64_t bytes) { now = bytes > UINT64_MAX - now ? UINT64_MAX : now + bytes; };
    for (const auto& [id, storage] : of) {
      if (!storage.read_first && storage.first == storage.last) continue;  // nodes that take no time
      if (storage.read_first) take(storage.bytes);
      else changes.push_back({storage.first, false, storage.bytes, storage.node});
      changes.push_back({storage.last, true, storage.bytes, trace::kNoNode});
    }
    device.at_start = device.peak = now;
    device.peak_ps = s.first;
    device.points.emplace_back(s.first, now);
    std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      return a.time != b.time ? a.time < b.time : a.frees > b.frees;
    });
    for (const Change& change : changes) {
      if (change.frees) now -= std::min(now, change.bytes);
      else take(change.bytes);
      if (now > device.peak) device.peak = now, device.peak_ps = change.time, device.peak_node = change.node;
      if (device.points.back().first == change.time) device.points.back().second = now;
      else device.points.emplace_back(change.time, now);
    }
  }
  return live;
}

}  // namespace chakra::analyze
