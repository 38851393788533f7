#include "chakra/recording/kineto.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>

#include "chakra/base/text_map.h"
#include "chakra/json/json.h"
#include "chakra/recording/broken_times.h"
#include "chakra/recording/json_value.h"
#include "chakra/recording/kineto_args.h"
#include "chakra/recording/repeats.h"
#include "chakra/recording/vendors.h"

namespace chakra::recording {
namespace {

namespace ondemand = simdjson::ondemand;
using Object = ondemand::object;

enum class Category : uint8_t { ignored, op, annotation, call, kernel, copy, memset, sync, python, unknown };

/// The categories' names in lower case, in any of the files since 2021; the first row that fits decides.
struct CategoryRow {
  std::string_view name;  ///< a pattern, see fits()
  Category category;
};
constexpr CategoryRow kCategories[] = {
    {"cpu_op", Category::op},
    {"operator", Category::op},
    {"user_annotation", Category::annotation},
    {"runtime", Category::call},
    {"*_runtime", Category::call},
    {"*_driver", Category::call},
    {"kernel", Category::kernel},
    {"memcpy", Category::copy},
    {"gpu_memcpy", Category::copy},
    {"memset", Category::memset},
    {"gpu_memset", Category::memset},
    {"cuda_sync", Category::sync},
    {"python_function", Category::python},
    // The records of these categories do not stand for separate work.
    {"gpu_user_annotation", Category::ignored},
    {"overhead", Category::ignored},
    {"cpu_instant_event", Category::ignored},
    {"trace", Category::ignored},
    {"ac2g", Category::ignored},
    {"fwdbwd", Category::ignored},
};

/// Of Python's functions, only calls of modules are kept.
constexpr std::string_view kModule = "nn.Module: ";

Category category_of(std::string_view cat) {
  const std::string name = to_lower(cat);
  for (const CategoryRow& row : kCategories)
    if (fits(row.name, name)) return row.category;
  return Category::unknown;
}

/// The categories of the file, each looked up once.
class Categories {
 public:
  explicit Categories(StringPool& strings) : strings_(strings) {}

  Category of(std::string_view cat) {
    if (cat == last_name_) return last_;
    auto found = known_.find(cat);
    if (found == known_.end()) found = known_.emplace(strings_[strings_.intern(cat)], category_of(cat)).first;
    last_name_ = found->first;
    return last_ = found->second;
  }

 private:
  StringPool& strings_;
  TextMap<Category> known_;
  std::string_view last_name_;
  Category last_ = Category::unknown;
};

/// Threads and streams get rows in the order in which records name them.
class Lanes {
 public:
  Lanes(StringPool& strings, Profile& profile) : strings_(strings), profile_(profile) {}

  uint32_t stream(int64_t device, int64_t number, std::string_view pid) {
    const uint32_t row = row_of(profile_.streams, stream_rows_, {trace::Lane::Kind::stream, device, number});
    if (row == profile_.stream_pids.size()) profile_.stream_pids.emplace_back(pid);
    else if (std::string& known = profile_.stream_pids[row]; known != pid && !contains(known, ", "))
      known += ", " + std::string(pid);
    return row;
  }

  uint32_t thread(std::string_view pid, std::string_view tid) {
    if (!profile_.threads.empty() && pid == last_pid_ && tid == last_tid_) return last_thread_;
    // Names instead of numbers ("PyTorch Profiler") get separate, negative numbers. So does a negative pid, which
    // cannot be a process: every negative number of a process then stands for a text.
    const auto number = [&](std::string_view text, int64_t least) {
      int64_t value = 0;
      if (parse_integer(text, value) && value >= least) return value;
      return -1 - static_cast<int64_t>(strings_.intern(text));
    };
    last_pid_ = pid;
    last_tid_ = tid;
    last_thread_ =
        row_of(profile_.threads, thread_rows_, {trace::Lane::Kind::thread, number(pid, 0), number(tid, INT64_MIN)});
    return last_thread_;
  }
  /// Those of the record before, as texts.
  std::string_view last_pid() const { return last_pid_; }
  std::string_view last_tid() const { return last_tid_; }

 private:
  using Rows = absl::flat_hash_map<std::pair<int64_t, int64_t>, uint32_t>;  // process, index
  static uint32_t row_of(std::vector<trace::Lane>& lanes, Rows& rows, const trace::Lane& wanted) {
    const auto [found, added] = rows.try_emplace({wanted.process, wanted.index}, static_cast<uint32_t>(lanes.size()));
    if (added) lanes.push_back(wanted);
    return found->second;
  }

  StringPool& strings_;
  Profile& profile_;
  Rows thread_rows_, stream_rows_;
  std::string last_pid_, last_tid_;
  uint32_t last_thread_ = 0;
};

/// What operators say of their arguments, each combination once.
class Shapes {
 public:
  Shapes(StringPool& strings, RecordedShapes& shapes, ShapesWanted wanted)
      : strings_(strings), shapes_(shapes), asked_(wanted) {}

  /// The row of what the operator's arguments say, if the caller asks for it.
  uint32_t row_of(StringId name, const KinetoArgs& args) {
    const auto [found, added] = wanted_.try_emplace(name);
    if (added) found->second = asked_ ? asked_(strings_[name]) : Wanted{true, true};
    if (!found->second.shapes)
      return args.dims.find_first_of("0123456789") == std::string_view::npos ? trace::kNoRow : kShapesUnused;
    const RecordedShapes::Row row{shapes_.texts.intern(args.dims), shapes_.texts.intern(args.types),
                                  found->second.values ? shapes_.texts.intern(args.values) : 0};
    const auto [at, is_new] =
        rows_.try_emplace({row.dims, row.types, row.values}, static_cast<uint32_t>(shapes_.rows.size()));
    if (is_new) shapes_.rows.push_back(row);
    return at->second;
  }

 private:
  StringPool& strings_;
  RecordedShapes& shapes_;
  ShapesWanted asked_;
  absl::flat_hash_map<StringId, Wanted> wanted_;  ///< by operator
  absl::flat_hash_map<std::tuple<StringId, StringId, StringId>, uint32_t> rows_;
};

/// The number at the end of "stream 7", or of "7".
int64_t trailing_number(std::string_view text) {
  const size_t last = text.find_last_not_of("0123456789");
  int64_t number = 0;
  return parse_integer(last == std::string_view::npos ? text : text.substr(last + 1), number) ? number : 0;
}

class KinetoReader {
 public:
  KinetoReader(ByteSource source, StringPool& strings, Arena& texts, ShapesWanted shapes_wanted, Salvage* salvage)
      : stream_(std::move(source), {"traceEvents"}),
        strings_(strings),
        texts_(texts),
        salvage_(salvage),
        categories_(strings),
        lanes_(strings, out_),
        shapes_(strings, out_.shapes, shapes_wanted) {}

  Result<Profile> run() {
    bool any_event = false;
    CHAKRA_TRY(for_each_element(
        stream_,
        [&](Object& object) {
          any_event = true;
          return read_event(object);
        },
        [&](std::string_view key, ondemand::document& value) { return read_kineto_member(key, value, stream_, out_); },
        salvage_));
    out_.file = stream_.file();
    remove_without_time(out_);
    remove_repeats(out_);
    clip_overruns(out_);
    if (!any_event && !stream_.found_array())
      return fail(Code::bad_input, "pytorch.kineto.not_a_kineto_trace",
                  "the array \"traceEvents\" is missing; is this a Kineto trace?", {out_.file});
    return std::move(out_);
  }

 private:
  Result<void> read_event(Object& object) {
    std::string_view phase, name, pid, tid, ts, dur = "0";
    const char *ts_at = nullptr, *dur_at = nullptr;
    Category category = Category::ignored;
    args_ = {};
    for (auto field : object) {
      std::string_view key;
      JsonValue* at = nullptr;
      if (const auto code = open_field(field, key, at)) return json_error(code, {});
      JsonValue& value = *at;
      stream_.look_at(key.data());
      if (is(key, "ph")) {
        phase = token(value);
        out_.begin_end += phase == "B" || phase == "E";
        if (phase != "X") return {};  // flows, instants, metadata
      } else if (is(key, "cat")) {
        const std::string_view cat = token(value);
        category = categories_.of(cat);
        if (category == Category::ignored) return {};
        if (category == Category::unknown) unknown_ = cat;
      } else if (is(key, "name")) {
        if (const auto code = value.get_string().get(name)) {
          name = token(value);  // a number, say
          if (code != simdjson::INCORRECT_TYPE || name.empty()) return json_error(code, {});
        }
        if (category == Category::python && !name.starts_with(kModule)) return {};
      } else if (is(key, "pid") || is(key, "tid")) {
        if (!(is(key, "pid") ? read_place(value, lanes_.last_pid(), pid) : read_place(value, lanes_.last_tid(), tid)))
          return fail(Code::bad_input, "pytorch.kineto.field", fmt::format("{} is neither number nor text", key));
      } else if (is(key, "ts")) {
        ts = token(value);
        ts_at = key.data();
      } else if (is(key, "dur")) {
        dur = token(value);
        dur_at = key.data();
      } else if (is(key, "args") && category != Category::python) {
        CHAKRA_TRY(
            read_kineto_args(value, is_host_comm(name) || is_comm_record(name), stream_, strings_, texts_, args_));
      }
    }
    if (phase != "X" || category == Category::ignored) return {};
    if (category == Category::python) {
      if (!name.starts_with(kModule)) return {};
      name.remove_prefix(kModule.size());
    }
    Record record;
    record.name = strings_.intern(name);
    record.byte = stream_.current_byte();
    const bool good_ts = parse_micros(ts, record.start_ns);
    stream_.look_at(good_ts ? dur_at : ts_at);
    if (!good_ts || !parse_micros(dur, record.dur_ns))
      return fail(Code::bad_input, "pytorch.kineto.time",
                  fmt::format("{} has no usable time (ts {}, dur {})", quote(name), quote(ts), quote(dur)));
    int64_t end = 0;
    if (record.start_ns > 0 && record.dur_ns == -record.start_ns) record.start_ns = record.dur_ns = 0;  // an end of 0
    if (record.dur_ns < 0 || __builtin_add_overflow(record.start_ns, record.dur_ns, &end))
      return fail(Code::bad_input, "pytorch.kineto.time",
                  fmt::format("{} has a duration of {} ns", quote(name), record.dur_ns));
    if (!dur_at) note_no_duration(category, record);
    add(category, record, name, pid, tid);
    return {};
  }

  void note_no_duration(Category category, const Record& record) {
    auto& without = out_.no_duration;
    if (without.host + without.device == 0) without.name = record.name, without.byte = record.byte;
    const bool is_device = category == Category::kernel || category == Category::copy || category == Category::memset;
    ++(is_device ? without.device : without.host);
  }

  /// A pid or tid, number or text. Most are those of the record before.
  static bool read_place(JsonValue& value, std::string_view last, std::string_view& text) {
    text = token(value);
    return (text == last && !text.empty()) || is_sound(value);
  }

  void add(Category category, const Record& record, std::string_view name, std::string_view pid, std::string_view tid) {
    uint32_t comm = trace::kNoRow;
    if (!args_.comm.empty()) {
      comm = static_cast<uint32_t>(out_.comms.size());
      out_.comms.push_back(args_.comm);
    }
    switch (category) {
      case Category::ignored: return;
      case Category::op:
      case Category::annotation: return add_op(category, record, name, lanes_.thread(pid, tid), comm);
      case Category::call: return add_call(record, name, lanes_.thread(pid, tid));
      case Category::sync: return add_sync(name);
      case Category::python: {
        Record& module = out_.modules.emplace_back(record);
        module.lane = lanes_.thread(pid, tid);
        return;
      }
      case Category::unknown:
        if (!args_.has_stream || args_.correlation < 0) return;
        if (out_.unknown.count++ == 0) out_.unknown.category = unknown_;
        [[fallthrough]];
      case Category::kernel:
      case Category::copy:
      case Category::memset: {
        // Without arguments, the place in the viewer tells: pid is the device, tid the stream.
        const int64_t device = args_.has_device ? args_.device : trailing_number(pid);
        const int64_t stream = args_.has_stream ? args_.stream : trailing_number(tid);
        return add_device_op(category, record, lanes_.stream(device, stream, pid), comm);
      }
    }
  }

  void add_op(Category category, const Record& record, std::string_view name, uint32_t thread, uint32_t comm) {
    CpuOp op;
    static_cast<Record&>(op) = record;
    op.lane = thread;
    op.host_comm = is_host_comm(name);
    op.annotation = !op.host_comm && (category == Category::annotation || name.starts_with("ProfilerStep#"));
    op.rf_id = args_.rf_id;
    op.external_id = args_.external_id;
    op.sequence = args_.sequence;
    op.comm = comm;
    if (!args_.dims.empty()) op.shapes = shapes_.row_of(record.name, args_);
    stream_.append(out_.ops, op);
  }

  void add_call(const Record& record, std::string_view name, uint32_t thread) {
    RuntimeCall call;
    static_cast<Record&>(call) = record;
    call.lane = thread;
    call.correlation = args_.correlation;
    out_.vendor = std::min(out_.vendor, vendor_of_call(name));
    stream_.append(out_.calls, call);
  }

  void add_device_op(Category category, const Record& record, uint32_t stream, uint32_t comm) {
    DeviceOp op;
    static_cast<Record&>(op) = record;
    op.kind = category == Category::copy     ? DeviceOp::Kind::copy
              : category == Category::memset ? DeviceOp::Kind::memset
                                             : DeviceOp::Kind::kernel;
    op.lane = stream;
    op.correlation = args_.correlation;
    op.bytes = args_.bytes;
    op.comm = comm;
    stream_.append(out_.device_ops, op);
  }

  void add_sync(std::string_view name) {
    SyncRecord sync;
    const std::string_view kind = args_.sync_kind.empty() ? name : args_.sync_kind;
    sync.kind = kind == "Stream Wait Event" ? SyncRecord::Kind::wait_event
                : kind == "Event Sync"      ? SyncRecord::Kind::event
                : kind == "Stream Sync"     ? SyncRecord::Kind::stream
                                            : SyncRecord::Kind::device;
    sync.correlation = args_.correlation;
    sync.device = args_.device;
    sync.stream = args_.stream;
    sync.source_stream = args_.source_stream;
    sync.source_correlation = args_.source_correlation;
    stream_.append(out_.syncs, sync);
  }

  JsonStream stream_;
  StringPool& strings_;
  Arena& texts_;
  Salvage* salvage_;
  Profile out_;
  Categories categories_;
  Lanes lanes_;
  Shapes shapes_;
  KinetoArgs args_;
  std::string unknown_;  ///< the category of a record that has one not known here
};

}  // namespace

Result<Profile> read_kineto(ByteSource source, StringPool& strings, Arena& texts, ShapesWanted shapes_wanted,
                            Salvage* salvage) {
  return KinetoReader(std::move(source), strings, texts, shapes_wanted, salvage).run();
}

}  // namespace chakra::recording
