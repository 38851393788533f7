#include "chakra/edit/hide.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>

#include "chakra/edit/hidden_job.h"
#include "chakra/trace/metadata.h"
#include "chakra/trace/roles.h"
#include "chakra/work/work.h"

namespace chakra::edit {

// `edit.hide.equal` (1): two names of a job have the same hidden name; another key helps
// `edit.hide.time` (1): a rank starts more than a day before the first rank

namespace {

using trace::Attr;
using trace::NodeId;
using trace::Trace;

constexpr StringId kUnseen = UINT32_MAX;

// ---- the allow-list ------------------------------------------------------------------------------------------------

/// The values with which an attribute passes.
enum class Form : uint8_t {
  number,   ///< any number or truth value
  words,    ///< a text of numbers and public words; other words become "?"
  word,     ///< a public name, or public names joined by '-'
  kernel,   ///< the kind of a kernel and its sizes
  version,  ///< digits and points
  device,   ///< the published name of a device
  tier,     ///< the name of a storage tier, which is hidden as a name
  run       ///< the name of a run, which is hidden as a name
};
struct Allowed {
  std::string_view name;
  Form form = Form::number;
  bool shows_size = false;  ///< of tensors, or of the work that follows from them
};
constexpr bool kShowsSize = true;

/// Attributes of nodes that have no column.
constexpr auto kOfNodes = std::to_array<Allowed>({
    {"annotation"},
    {"bytes", Form::number, kShowsSize},
    {"call_dur_ns"},
    {"call_late_ns"},
    {"channel_id"},
    {"chunk"},
    {"comm_request"},
    {"comm_wait"},
    {"correlation"},
    {"duration_micros"},
    {"folded_iterations"},
    {"fw_parent"},
    {"fw_tid"},
    {"inside_dur_ns"},
    {"io_kind", Form::word},
    {"kernel", Form::kernel, kShowsSize},
    {"kernel_backend", Form::words},
    {"micro_batch"},
    {"pass", Form::word},
    {"phase", Form::word},
    {"rf_id"},
    {"scope"},
    {"seq_id"},
    {"shapes", Form::words, kShowsSize},
    {"storage_tier", Form::tier},
    {"unknown_work"},
    {"weight_bytes", Form::number, kShowsSize},
    {trace::kXlaRun},
});
/// Attributes of a file. "device_name_N" and "xla_run_N" are those without a number.
constexpr auto kOfFiles = std::to_array<Allowed>({
    {"chunks"},
    {"clock_drift_ppb"},
    {"cp"},
    {"device_name", Form::device},
    {"dp"},
    {"ep"},
    {"etp"},
    {"experts"},
    {"flop_per_s", Form::number, kShowsSize},
    {"fp8_flop_per_s", Form::number, kShowsSize},
    {"linked_iteration"},
    {trace::kMemoryPerRank, Form::number, kShowsSize},
    {"memory_bytes_per_s", Form::number, kShowsSize},
    {"model_operations_per_rank", Form::number, kShowsSize},
    {"model_fp8_operations_per_rank", Form::number, kShowsSize},
    {"order", Form::word},
    {"rank_start_ns"},
    {"recorded_part"},
    {"recorded_unaligned"},
    {"schedule", Form::word},
    {"schema", Form::version},
    {trace::kSharedClock},
    {"stage"},
    {"stages"},
    {"tokens", Form::number, kShowsSize},
    {"tp"},
    {"version", Form::version},
    {trace::kXlaRuns},
    {"zero"},
    {"zero_ranks"},
});
constexpr auto kNumbered = std::to_array<Allowed>({{"device_name", Form::device}, {trace::kXlaRun, Form::run}});

template <class Rows>
const Allowed* find_allowed(const Rows& rows, std::string_view name) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Allowed& r) { return r.name == name; });
  return row == rows.end() ? nullptr : &*row;
}

const Allowed* allowed_of_file(std::string_view name) {
  if (const Allowed* row = find_allowed(kOfFiles, name)) return row;
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  if (digits == name.size() || digits == 0 || name[digits - 1] != '_') return nullptr;
  return find_allowed(kNumbered, name.substr(0, digits - 1));
}

bool is_version(std::string_view text) { return text.find_first_not_of("0123456789.") == text.npos; }

Failure equal_names(std::string_view name) {
  return fail(Code::bad_input, "edit.hide.equal",
              fmt::format("two names would both become {}; take another key", name));
}

bool separates(char c) { return std::string_view(" \t\n\r\f\v[](),'").find(c) != std::string_view::npos; }

// ---- texts ---------------------------------------------------------------------------------------------------------

/// The texts of one job. Hidden texts are collected.
class Texts {
 public:
  Texts(const Hiding& hiding, Hidden& hidden) : h_(hiding), hidden_(hidden) {}

  /// "KIND.TOKEN".
  std::string hide(std::string_view kind, std::string_view text) {
    std::string name = fmt::format("{}.{}", kind, h_.token(kind, text));
    const auto [at, added] = hidden_.texts.emplace(name, text);
    if (!added && at->second != text && !equal_) equal_ = name;
    return name;
  }
  std::string name(std::string_view text, bool on_device) {
    if (text.empty() || h_.is_public_name(text)) return std::string(text);
    return hide(work::hidden_kind(text, on_device), text);
  }
  /// Numbers that frameworks give to groups stay, unless they show how many groups there are. The same for all ranks:
  /// the text alone decides.
  std::string group(std::string_view text) {
    constexpr int64_t kShowsCounts = 2;
    if ((h_.level <= kShowsCounts || text == "0" || text.empty()) && text.size() < 10 &&
        text.find_first_not_of("0123456789") == text.npos)
      return std::string(text);
    const trace::Role role = trace::role_named(text);
    return hide(role == trace::Role::unknown ? "group" : trace::name(role), text);
  }
  void hide(trace::ProcessGroup& group) {
    const trace::Role role = trace::role_of(group);
    group.name = this->group(group.name);
    group.description = role == trace::Role::unknown ? "" : std::string(trace::name(role));
    if (!has_names(group.backend, ":,")) group.backend.clear();
  }
  /// A list as Python prints lists: numbers outside of quotes stay, and public words.
  std::string words(std::string_view text) {
    std::string made;
    bool quoted = false;
    for (size_t at = 0; at < text.size();) {
      if (separates(text[at])) {
        quoted ^= text[at] == '\'';
        made += text[at++];
        continue;
      }
      const size_t begin = at;
      while (at < text.size() && !separates(text[at])) ++at;
      const std::string_view word = text.substr(begin, at - begin);
      const bool stays = quoted ? h_.is_public_name(word) : h_.is_public_word(word);
      if (!stays) ++hidden_.words;
      made += stays ? word : "?";
    }
    return made;
  }
  /// Whether each part between `separators` is a public name.
  bool has_names(std::string_view text, std::string_view separators) const {
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find_first_of(separators, begin), text.size());
      if (!h_.is_public_name(text.substr(begin, end - begin))) return false;
      begin = end + 1;
    }
    return true;
  }
  Result<void> whole() const {
    if (equal_) return equal_names(*equal_);
    return {};
  }

 private:
  const Hiding& h_;
  Hidden& hidden_;
  std::optional<std::string> equal_;
};

/// Texts of a pool by id, each made once.
template <class Make>
class ByText {
 public:
  ByText(const StringPool& from, StringPool& to, Make make)
      : from_(from), to_(to), make_(std::move(make)), of_(from.size(), kUnseen) {}
  StringId operator()(StringId text) {
    StringId& made = of_[text];
    if (made == kUnseen) made = text == 0 ? 0 : to_.intern(make_(from_[text]));
    return made;
  }

 private:
  const StringPool& from_;
  StringPool& to_;
  Make make_;
  std::vector<StringId> of_;
};

// ---- a trace -------------------------------------------------------------------------------------------------------

class Hider {
 public:
  Hider(const Trace& trace, const Hiding& hiding, Hidden& hidden)
      : t_(trace), h_(hiding), hidden_(hidden), texts_(hiding, hidden) {}

  Result<Trace> run() {
    out_ = t_;
    out_.file.clear();
    out_.strings = StringPool();
    out_.texts = Arena();
    out_.defects.clear();
    hidden_.edges += static_cast<int64_t>(t_.defects.size());
    CHAKRA_TRY(set_times());
    set_ids();
    set_lanes();
    set_names();
    set_comms();
    set_tensors();
    set_attrs();
    for (trace::ProcessGroup& group : out_.groups) texts_.hide(group);
    set_metadata();
    CHAKRA_TRY(texts_.whole());
    trace::assert_whole(out_);
    return std::move(out_);
  }

 private:
  Result<void> set_times() {
    out_.base_ns = t_.base_ns - h_.zero_ns;
    if (h_.zero_ns == 0) return {};
    for (const NodeId n : t_.nodes())
      if (t_.has_start(n) && out_.base_ns + t_.start_ps[n] / kPsPerNs < 0)
        return fail(Code::bad_input, "edit.hide.time",
                    fmt::format("node {} of rank {} starts more than a day before the first rank", t_.id[n], t_.rank),
                    {t_.file});
    return {};
  }

  void set_ids() {
    if (t_.id.ascend()) {
      out_.id = trace::Ids::counting(1, t_.size());
      return;
    }
    std::vector<NodeId> order(t_.nodes().begin(), t_.nodes().end());
    std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return t_.id[a] < t_.id[b]; });
    for (size_t place = 0; place < order.size(); ++place) out_.id.set(order[place], place + 1);
  }

  /// Processes and threads: the main thread of a process has the number of the process.
  void set_lanes() {
    std::vector<int64_t> numbers;
    for (const trace::Lane& lane : t_.lanes)
      if (lane.kind == trace::Lane::Kind::thread) numbers.insert(numbers.end(), {lane.process, lane.index});
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    const auto place = [&](int64_t number) {
      return std::lower_bound(numbers.begin(), numbers.end(), number) - numbers.begin() + 1;
    };
    for (trace::Lane& lane : out_.lanes)
      if (lane.kind == trace::Lane::Kind::thread) lane = {lane.kind, place(lane.process), place(lane.index)};
  }

  void set_names() {
    ByText host(t_.strings, out_.strings, [&](std::string_view name) { return texts_.name(name, false); });
    ByText device(t_.strings, out_.strings, [&](std::string_view name) { return texts_.name(name, true); });
    const std::span<StringId> names = out_.name.edit();
    for (const NodeId n : t_.nodes()) {
      names[n] = t_.on_device(n) ? device(t_.name[n]) : host(t_.name[n]);
      hidden_.names += out_.strings[names[n]] != t_.name_of(n);
    }
  }

  void set_comms() {
    ByText groups(t_.strings, out_.strings, [&](std::string_view group) { return texts_.group(group); });
    ByText words(t_.strings, out_.strings, [&](std::string_view text) { return texts_.words(text); });
    if (t_.comms.empty()) return;
    for (trace::Comm& comm : out_.comms.edit()) {
      comm.group = groups(comm.group);
      comm.dtype = words(comm.dtype);
      comm.in_split = out_.texts.add(texts_.words(comm.in_split));
      comm.out_split = out_.texts.add(texts_.words(comm.out_split));
    }
  }

  void set_tensors() {
    if (t_.ios.empty()) return;
    ByText words(t_.strings, out_.strings, [&](std::string_view text) { return texts_.words(text); });
    const auto hidden = [&](trace::Tensors tensors, std::string& values) {
      values = texts_.words(tensors.values);
      return trace::Tensors{values, words(tensors.shapes), words(tensors.types), words(tensors.strides)};
    };
    std::array<std::string, 2> values;
    out_.ios.clear();
    const std::span<uint32_t> rows = out_.io_row.edit();
    for (const NodeId n : t_.nodes()) {
      if (t_.io_row[n] == trace::kNoRow) continue;
      rows[n] = trace::kNoRow;
      if (h_.level > 1 || t_.type[n] == trace::NodeType::metadata) continue;  // of metadata: they describe groups
      const trace::Io io = t_.ios[t_.io_row[n]];
      const trace::Io made{hidden(io.inputs, values[0]), hidden(io.outputs, values[1])};
      rows[n] = static_cast<uint32_t>(out_.ios.size());
      out_.ios.push_back(trace::PackedIo(made, out_.texts));
    }
  }

  void set_attrs() {
    std::vector<const Allowed*> rows(t_.strings.size(), nullptr);
    for (StringId id = 0; id < rows.size(); ++id) rows[id] = find_allowed(kOfNodes, t_.strings[id]);
    std::vector<int64_t> dropped(rows.size(), 0);
    std::string text;
    change_attrs(t_, out_, [&](const Attr& attr) {
      const auto stays = rows[attr.name] ? allowed(*rows[attr.name], attr, text) : std::nullopt;
      dropped[attr.name] += !stays;
      return stays;
    });
    for (StringId id = 0; id < rows.size(); ++id)
      if (dropped[id] > 0) hidden_.dropped[std::string(t_.strings[id])] += dropped[id];
  }

  void set_metadata() {
    out_.metadata.clear();
    for (const Attr& attr : t_.metadata) {
      const std::string_view name = t_.strings[attr.name];
      const Allowed* row = allowed_of_file(name);
      std::string text;
      const auto kept = row ? allowed(*row, attr, text) : std::nullopt;
      if (!kept) {
        if (name != "pid") ++hidden_.dropped[std::string(name)];  // the number of a thread's process
        continue;
      }
      Attr& stays = out_.metadata.emplace_back(*kept);
      stays.name = out_.strings.intern(name);
      if (const auto value = stays.text()) stays.value = out_.texts.add(*value);
    }
    out_.metadata.push_back({out_.strings.intern(kHiddenMark), out_.texts.add(h_.mark)});
    if (h_.level > 1) out_.metadata.push_back({out_.strings.intern(kHiddenLevel), h_.level});
  }

  /// The attribute as it may stay. `text`: memory for its value.
  std::optional<Attr> allowed(const Allowed& row, const Attr& attr, std::string& text) {
    if (row.shows_size && h_.level > 1) return std::nullopt;
    const auto value = attr.text();
    if (!value) return row.form == Form::number ? std::optional(attr) : std::nullopt;
    const auto made = [&](std::string other) -> std::optional<Attr> {
      text = std::move(other);
      return Attr{attr.name, std::string_view(text)};
    };
    switch (row.form) {
      case Form::number: return std::nullopt;
      case Form::words: return made(texts_.words(*value));
      case Form::word:
        return h_.is_public_name(*value) || texts_.has_names(*value, "-") ? std::optional(attr) : std::nullopt;
      case Form::kernel: return work::parse_kernel(*value) ? std::optional(attr) : std::nullopt;
      case Form::version: return is_version(*value) ? std::optional(attr) : std::nullopt;
      case Form::device: {
        const std::string_view device = h_.public_device(*value);
        return device.empty() ? std::nullopt : made(std::string(device));
      }
      case Form::tier: hidden_.has_tiers = true; return made(texts_.hide("tier", *value));
      case Form::run: return made(texts_.hide("run", *value));
    }
    return std::nullopt;
  }

  const Trace& t_;
  const Hiding& h_;
  Hidden& hidden_;
  Texts texts_;
  Trace out_;
};

}  // namespace

Result<void> Hidden::add(Hidden&& other) {
  names += other.names;
  words += other.words;
  edges += other.edges;
  has_tiers |= other.has_tiers;
  for (const auto& [name, count] : other.dropped) dropped[name] += count;
  for (auto& [name, text] : other.texts)
    if (const auto [at, added] = texts.emplace(name, text); !added && at->second != text) return equal_names(name);
  return {};
}

Result<Trace> hide(const Trace& trace, const Hiding& hiding, Hidden& hidden) {
  trace::assert_whole(trace);
  return Hider(trace, hiding, hidden).run();
}

Result<trace::ClassJob> hide(const trace::ClassJob& job, const Hiding& hiding, Hidden& hidden) {
  Texts texts(hiding, hidden);
  CHAKRA_ASSIGN(trace::ClassJob out, change(
                                         job, [&](const Trace& cls) { return hide(cls, hiding, hidden); },
                                         [&](trace::ProcessGroup& group) { texts.hide(group); },
                                         [&](const std::string& slot) { return texts.group(slot); }));
  CHAKRA_TRY(texts.whole());
  return out;
}

}  // namespace chakra::edit
