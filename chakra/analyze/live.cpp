// Which storages are live when.
#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <map>

#include "chakra/analyze/analyze.h"
#include "chakra/work/work.h"

namespace chakra::analyze {
namespace {

using trace::NodeId;

/// Where a tensor stands among the arguments: in the list of an argument, or alone.
struct Spot {
  size_t argument = 0, item = 0;
  bool in_list = false;
};

/// Calls visit(numbers, device, spot) for each "[tensor, storage, offset, elements, bytes of one, 'device']" in a text
/// of nested lists.
template <class Visit>
void for_each_tensor(std::string_view text, const Visit& visit) {
  std::array<uint64_t, 5> numbers{};
  size_t count = 0;   // numbers of the innermost list so far, in a row from its begin
  bool fits = false;  // it may still be a tensor
  std::string_view device;
  size_t depth = 0;
  Spot spot;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '[') {
      count = 0, fits = true, device = {};
      if (++depth == 2) spot.item = 0;
      ++at;
    } else if (c == ']') {
      spot.in_list = depth == 3;
      if (fits && count == 5 && !device.empty()) visit(numbers, device, spot);
      fits = false;
      depth -= depth > 0;
      ++at;
    } else if (c == '\'' || c == '"') {
      size_t end = at + 1;
      while (end < text.size() && text[end] != c) end += text[end] == '\\' ? 2 : 1;
      end = std::min(end, text.size());
      if (count == 5 && device.empty()) device = text.substr(at + 1, end - at - 1);
      else fits = false;
      at = end + 1;
    } else if (c == ',' || c == ' ') {
      if (c == ',' && depth == 1) ++spot.argument;
      if (c == ',' && depth == 2) ++spot.item;
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

/// How many elements the memory of each tensor spans, where strides are recorded: an expanded tensor has more elements.
class Spans {
 public:
  explicit Spans(const trace::Trace& t)
      : t_(t), inputs_(t.strings.find("input_strides")), outputs_(t.strings.find("output_strides")) {}

  /// By argument, and by place in its list.
  using Table = std::vector<std::vector<uint64_t>>;
  /// Return null if no strides are recorded.
  const Table* of(NodeId n, const trace::Tensors& side, bool input) {
    const std::string_view strides = side.strides ? t_.strings[side.strides] : attribute(n, input ? inputs_ : outputs_);
    if (strides.empty()) return nullptr;
    const auto [found, added] = tables_.try_emplace({side.shapes, strides});
    if (added) found->second = table(t_.strings[side.shapes], strides);
    return &found->second;
  }

 private:
  static Table table(std::string_view shapes, std::string_view strides) {
    const std::vector<std::string_view> shape_of = work::list_items(shapes), stride_of = work::list_items(strides);
    Table table(std::min(shape_of.size(), stride_of.size()));
    for (size_t a = 0; a < table.size(); ++a) {
      const auto add = [&](std::string_view shape, std::string_view stride) {
        table[a].push_back(work::span_of(shape, stride).value_or(UINT64_MAX));
      };
      if (!shape_of[a].starts_with("[[")) {
        add(shape_of[a], stride_of[a]);
        continue;
      }
      const std::vector<std::string_view> items = work::list_items(shape_of[a]), steps = work::list_items(stride_of[a]);
      for (size_t i = 0; i < items.size(); ++i) add(items[i], i < steps.size() ? steps[i] : std::string_view());
    }
    return table;
  }
  std::string_view attribute(NodeId n, StringId name) const {
    if (name == 0) return {};
    for (const trace::Attr& attr : t_.attrs_of(n))
      if (attr.name == name) return attr.text().value_or(std::string_view());
    return {};
  }

  const trace::Trace& t_;
  StringId inputs_, outputs_;
  absl::flat_hash_map<std::pair<StringId, std::string_view>, Table> tables_;  ///< by shapes and strides
};

struct Storage {
  uint64_t bytes = 0;
  Picoseconds first = 0, last = 0;
  NodeId node = trace::kNoNode;
  bool read_first = false;
};

/// Adds up the storages of a device over time, from `first` on.
void add_up(const std::map<uint64_t, Storage>& of, Picoseconds first, LiveBytes::Device& device) {
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
  device.peak_ps = first;
  device.points.emplace_back(first, now);
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

}  // namespace

LiveBytes live_bytes(const trace::Trace& t, const Schedule& s) {
  CHAKRA_ASSERT(s.start.size() == t.size() && s.end.size() == t.size());
  LiveBytes live;
  const std::vector<Picoseconds> inclusive = s.measured ? trace::inclusive_ends(t) : s.end;
  std::map<std::string, std::map<uint64_t, Storage>, std::less<>> storages;
  Spans spans(t);
  const auto see = [&](NodeId n, const trace::Tensors& side, bool reads) {
    const Spans::Table* const table = spans.of(n, side, reads);
    for_each_tensor(side.values, [&](const std::array<uint64_t, 5>& v, std::string_view device, const Spot& spot) {
      auto [tensor, id, offset, elements, each] = v;
      const size_t item = spot.in_list ? spot.item : 0;
      if (table && spot.argument < table->size() && item < (*table)[spot.argument].size())
        if (const uint64_t span = (*table)[spot.argument][item]; span != UINT64_MAX) elements = span;
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
    see(n, io.inputs, true);
    see(n, io.outputs, false);
  }
  for (const auto& [name, of] : storages) {
    live.known = true;
    LiveBytes::Device& device = live.devices.emplace_back();
    device.name = name;
    device.storages = static_cast<int64_t>(of.size());
    add_up(of, s.first, device);
  }
  return live;
}

}  // namespace chakra::analyze
