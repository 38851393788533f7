#include "chakra/link/kineto.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>

#include "chakra/json/json.h"
#include "chakra/link/comm_kernels.h"
#include "chakra/link/json_value.h"
#include "chakra/link/work.h"

namespace chakra::pytorch {
namespace {

namespace ondemand = simdjson::ondemand;
using Object = ondemand::object;

enum class Category : uint8_t { ignored, op, annotation, call, kernel, copy, memset, sync, unknown };

/// Categories whose records stand for no work of their own.
constexpr std::array<std::string_view, 7> kWithoutWork{
    "python_function", "gpu_user_annotation", "overhead", "cpu_instant_event", "trace", "ac2g", "fwdbwd"};

/// What a record is, by its category's name in any of the files since 2021.
Category category_of(std::string_view cat) {
  const std::string name = to_lower(cat);
  if (is(name, "cpu_op") || is(name, "operator")) return Category::op;
  if (is(name, "user_annotation")) return Category::annotation;
  if (is(name, "runtime") || name.ends_with("_runtime") || name.ends_with("_driver")) return Category::call;
  if (is(name, "kernel")) return Category::kernel;
  if (is(name, "memcpy") || is(name, "gpu_memcpy")) return Category::copy;
  if (is(name, "memset") || is(name, "gpu_memset")) return Category::memset;
  if (is(name, "cuda_sync")) return Category::sync;
  if (std::find(kWithoutWork.begin(), kWithoutWork.end(), name) != kWithoutWork.end()) return Category::ignored;
  return Category::unknown;
}

/// The number at the end of "stream 7", or of "7".
int64_t trailing_number(std::string_view text) {
  const size_t last = text.find_last_not_of("0123456789");
  int64_t number = 0;
  return parse_integer(last == std::string_view::npos ? text : text.substr(last + 1), number) ? number : 0;
}

/// The arguments of a record that someone needs; the rest is skipped.
struct Args {
  int64_t correlation = -1, external_id = -1, rf_id = 0, sequence = -1;
  int64_t device = -1, stream = -1, bytes = -1;
  int64_t source_stream = -1, source_correlation = -1;
  bool has_stream = false, has_device = false;
  std::string_view sync_kind;
  std::string_view dims, types, values;  ///< of an operator
  CommRecord comm;
};

class KinetoReader {
 public:
  KinetoReader(ByteSource source, StringPool& strings, Arena& texts, Salvage* salvage)
      : stream_(std::move(source), {"traceEvents"}), strings_(strings), texts_(texts), salvage_(salvage) {}

  Result<Kineto> run() {
    bool any_event = false;
    CHAKRA_TRY(for_each_element(
        stream_,
        [&](Object& object) {
          any_event = true;
          return read_event(object);
        },
        [&](std::string_view key, ondemand::document& value) { return read_member(key, value); }, salvage_));
    out_.file = stream_.file();
    if (!any_event && !stream_.found_array())
      return fail(Code::bad_input, "pytorch.kineto.not_a_kineto_trace",
                  "there is no array \"traceEvents\" in it; is this a Kineto trace?", {out_.file});
    return std::move(out_);
  }

 private:
  Result<void> read_member(std::string_view key, ondemand::document& document) {
    if (is(key, "baseTimeNanoseconds")) {
      if (!parse_integer(token(document), out_.base_ns))
        return fail(Code::bad_input, "pytorch.kineto.time", "baseTimeNanoseconds is no whole number",
                    stream_.value_place());
    } else if (is(key, "deviceProperties")) {
      out_.device_names = read_device_names(document);
    } else if (is(key, "distributedInfo")) {
      Object info;
      if (document.get_object().get(info)) return {};
      for (auto field : info) {
        std::string_view name;
        JsonValue* at = nullptr;
        if (open_field(field, name, at)) return {};
        JsonValue& value = *at;
        if (is(name, "rank")) {
          const std::string_view text = token(value);  // a value can be looked at once
          if (!parse_integer(text, out_.rank) || out_.rank < 0)
            return fail(Code::bad_input, "pytorch.pair.rank",
                        fmt::format("distributedInfo names the rank {}", quote(text)), stream_.value_place());
        } else if (is(name, "world_size")) (void)to_integer(value, out_.world_size);
        else if (is(name, "pg_config")) read_groups(value);
      }
    }
    return {};
  }

  void read_groups(JsonValue& value) {
    ondemand::array list;
    if (value.get_array().get(list)) return;
    for (auto item : list) {
      Object object;
      if (item.get_object().get(object)) return;
      trace::ProcessGroup group;
      for (auto field : object) {
        std::string_view name;
        JsonValue* at = nullptr;
        if (open_field(field, name, at)) return;
        JsonValue& part = *at;
        if (is(name, "pg_name")) group.name = decoded(token(part));
        else if (is(name, "pg_desc")) group.description = decoded(token(part));
        else if (is(name, "backend_config")) group.backend = token(part);
        else if (is(name, "pg_size") || is(name, "group_size")) (void)to_integer(part, group.size);
        else if (is(name, "ranks")) group.ranks = parse_ranks(token(part));
      }
      if (!group.name.empty() || !group.ranks.empty()) out_.groups.push_back(std::move(group));
    }
  }

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
        category = remembered_category(cat);
        if (category == Category::ignored) return {};
        if (category == Category::unknown) unknown_ = cat;
      } else if (is(key, "name")) {
        if (const auto code = value.get_string().get(name)) {
          name = token(value);  // a number, say
          if (code != simdjson::INCORRECT_TYPE || name.empty()) return json_error(code, {});
        }
      } else if (is(key, "pid") || is(key, "tid")) {
        if (!(is(key, "pid") ? read_place(value, last_pid_, pid) : read_place(value, last_tid_, tid)))
          return fail(Code::bad_input, "pytorch.kineto.field", fmt::format("{} is neither number nor text", key));
      } else if (is(key, "ts")) {
        ts = token(value);
        ts_at = key.data();
      } else if (is(key, "dur")) {
        dur = token(value);
        dur_at = key.data();
      } else if (is(key, "args")) {
        CHAKRA_TRY(read_args(value, is_host_comm(name) || is_comm_record(name)));
      }
    }
    if (phase != "X" || category == Category::ignored) return {};
    Record record;
    record.name = strings_.intern(name);
    record.byte = stream_.current_byte();
    const bool good_ts = parse_micros(ts, record.start_ns);
    stream_.look_at(good_ts ? dur_at : ts_at);
    if (!good_ts || !parse_micros(dur, record.dur_ns))
      return fail(Code::bad_input, "pytorch.kineto.time",
                  fmt::format("{} has no usable time (ts {}, dur {})", quote(name), quote(ts), quote(dur)));
    int64_t end = 0;
    if (record.dur_ns < 0 || __builtin_add_overflow(record.start_ns, record.dur_ns, &end))
      return fail(Code::bad_input, "pytorch.kineto.time",
                  fmt::format("{} has a duration of {} ns", quote(name), record.dur_ns));
    add(category, record, name, pid, tid);
    return {};
  }

  Category remembered_category(std::string_view cat) {
    if (cat == last_cat_) return last_category_;
    auto found = categories_.find(cat);
    if (found == categories_.end()) found = categories_.emplace(strings_[strings_.intern(cat)], category_of(cat)).first;
    last_cat_ = found->first;
    return last_category_ = found->second;
  }

  Result<void> read_args(JsonValue& value, bool keep_dims) {
    Object object;
    if (value.get_object().get(object)) return {};
    for (auto field : object) {
      std::string_view key;
      JsonValue* at = nullptr;
      if (const auto code = open_field(field, key, at)) return json_error(code, {});
      JsonValue& part = *at;
      CommRecord& comm = args_.comm;
      bool good = true;
      const auto number = [&](int64_t& to) { good = to_integer(part, to) || is_unknown(part); };
      const auto text = [&] { return strings_.intern(decoded(token(part))); };
      // One comparison of length and first letters decides for nearly all keys.
      switch (key.empty() ? 0 : key[0]) {
        case 'c':
          if (is(key, "correlation")) number(args_.correlation);
          else if (is(key, "cuda_sync_kind")) args_.sync_kind = token(part);
          break;
        case 'E':
          if (is(key, "External id")) number(args_.external_id);
          break;
        case 'e':
          if (is(key, "external id")) number(args_.external_id);
          break;
        case 'R':
          if (is(key, "Record function id")) number(args_.rf_id);
          else if (is(key, "Rank")) number(comm.rank);
          break;
        case 'S':
          if (is(key, "Sequence number")) number(args_.sequence);
          else if (is(key, "Seq")) number(comm.sequence);
          else if (is(key, "Src Rank")) number(comm.src);
          break;
        case 'd':
          if (is(key, "device")) {
            number(args_.device);
            args_.has_device = true;
          } else if (is(key, "dtype")) comm.dtype = text();
          break;
        case 's':
          if (is(key, "stream")) {
            number(args_.stream);
            args_.has_stream = true;
          }
          break;
        case 'b':
          if (is(key, "bytes")) number(args_.bytes);
          break;
        case 'w':
          if (is(key, "wait_on_stream")) number(args_.source_stream);
          else if (is(key, "wait_on_cuda_event_record_corr_id")) number(args_.source_correlation);
          break;
        case 'C':
          if (is(key, "Collective name")) comm.collective = text();
          else if (is(key, "Concrete Inputs")) args_.values = token(part);
          break;
        case 'D':
          if (is(key, "Dst Rank")) number(comm.dst);
          break;
        case 'I':
          if (is(key, "In msg nelems")) number(comm.in_elements);
          else if (is(key, "In split size")) comm.in_split = strings_[text()];
          else if (is(key, "Input Dims") || is(key, "Input dims")) args_.dims = token(part);
          else if (is(key, "Input type")) args_.types = token(part);
          break;
        case 'O':
          if (is(key, "Out msg nelems")) number(comm.out_elements);
          else if (is(key, "Out split size")) comm.out_split = strings_[text()];
          break;
        case 'G':
          if (is(key, "Group size")) number(comm.group_size);
          else if (is(key, "Global rank start")) number(comm.rank_start);
          else if (is(key, "Global rank stride")) number(comm.rank_stride);
          break;
        case 'P':
          if (is(key, "Process Group Name")) comm.group = text();
          else if (is(key, "Process Group Description")) comm.group_description = text();
          else if (is(key, "Process Group Ranks")) comm.ranks = strings_[text()];
          break;
        default: break;
      }
      if (!good) {
        stream_.look_at(key.data());
        return fail(Code::bad_input, "pytorch.kineto.field", fmt::format("{} is no whole number", quote(key)));
      }
    }
    if (keep_dims && !args_.dims.empty()) args_.comm.dims = texts_.add(args_.dims);
    if (keep_dims && !args_.types.empty()) args_.comm.types = texts_.add(args_.types);
    return {};
  }
  /// Strings and null may stand for what is not known; NaN and the like are nothing that JSON knows.
  static bool is_unknown(JsonValue& value) {
    ondemand::json_type type;
    return !value.type().get(type) && type != ondemand::json_type::number && is_sound(value);
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
      case Category::ignored: break;
      case Category::op:
      case Category::annotation: {
        CpuOp op;
        static_cast<Record&>(op) = record;
        op.lane = thread(pid, tid);
        op.host_comm = is_host_comm(name);
        op.annotation = !op.host_comm && (category == Category::annotation || name.starts_with("ProfilerStep#"));
        op.rf_id = args_.rf_id;
        op.external_id = args_.external_id;
        op.sequence = args_.sequence;
        op.comm = comm;
        if (!args_.dims.empty()) op.shapes = shapes(record.name);
        stream_.append(out_.ops, op);
        break;
      }
      case Category::call: {
        RuntimeCall call;
        static_cast<Record&>(call) = record;
        call.lane = thread(pid, tid);
        call.correlation = args_.correlation;
        out_.amd |= name.starts_with("hip");
        stream_.append(out_.calls, call);
        break;
      }
      case Category::unknown:
        if (!args_.has_stream || args_.correlation < 0) break;
        if (out_.unknown.count++ == 0) out_.unknown.category = unknown_;
        [[fallthrough]];
      case Category::kernel:
      case Category::copy:
      case Category::memset: {
        DeviceOp op;
        static_cast<Record&>(op) = record;
        op.kind = category == Category::copy     ? DeviceOp::Kind::copy
                  : category == Category::memset ? DeviceOp::Kind::memset
                                                 : DeviceOp::Kind::kernel;
        // Without arguments, the place in the viewer tells: pid is the device, tid the stream.
        const int64_t device = args_.has_device ? args_.device : trailing_number(pid);
        const int64_t stream = args_.has_stream ? args_.stream : trailing_number(tid);
        op.lane = lane(out_.streams, stream_rows_, {trace::Lane::Kind::stream, device, stream});
        op.correlation = args_.correlation;
        op.bytes = args_.bytes;
        op.comm = comm;
        stream_.append(out_.device_ops, op);
        break;
      }
      case Category::sync: {
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
        break;
      }
    }
  }

  /// The row of what the operator's arguments say, if a formula asks for it.
  uint32_t shapes(StringId name) {
    const auto [found, added] = asks_.try_emplace(name);
    if (added) {
      const std::string_view text = strings_[name];
      const WorkRow* row = find_work_row(text);
      const bool comm = text.starts_with("c10d::") || contains(text, "c10d_functional::");
      found->second.shapes = row || comm || is_convolution_node(text) || is_comm_caller(text);
      found->second.values = comm || (row && needs_values(row->kind));
    }
    if (!found->second.shapes)
      return args_.dims.find_first_of("0123456789") == std::string_view::npos ? trace::kNoRow : kShapesUnused;
    RecordedShapes& all = out_.shapes;
    const RecordedShapes::Row row{all.texts.intern(args_.dims), all.texts.intern(args_.types),
                                  found->second.values ? all.texts.intern(args_.values) : 0};
    const auto [at, is_new] =
        shape_rows_.try_emplace({row.dims, row.types, row.values}, static_cast<uint32_t>(all.rows.size()));
    if (is_new) all.rows.push_back(row);
    return at->second;
  }

  using LaneRows = absl::flat_hash_map<std::pair<int64_t, int64_t>, uint32_t>;  // process, index
  static uint32_t lane(std::vector<trace::Lane>& lanes, LaneRows& rows, const trace::Lane& wanted) {
    const auto [found, added] = rows.try_emplace({wanted.process, wanted.index}, static_cast<uint32_t>(lanes.size()));
    if (added) lanes.push_back(wanted);
    return found->second;
  }

  uint32_t thread(std::string_view pid, std::string_view tid) {
    if (!out_.threads.empty() && pid == last_pid_ && tid == last_tid_) return last_thread_;
    // Names instead of numbers ("PyTorch Profiler") get negative numbers of their own.
    const auto number = [&](std::string_view text) {
      int64_t value = 0;
      if (parse_integer(text, value)) return value;
      return -1 - static_cast<int64_t>(strings_.intern(text));
    };
    last_pid_ = pid;
    last_tid_ = tid;
    last_thread_ = lane(out_.threads, thread_rows_, {trace::Lane::Kind::thread, number(pid), number(tid)});
    return last_thread_;
  }

  JsonStream stream_;
  StringPool& strings_;
  Arena& texts_;
  Salvage* salvage_;
  Kineto out_;
  TextMap<Category> categories_;
  std::string_view last_cat_;
  Category last_category_ = Category::unknown;
  LaneRows thread_rows_, stream_rows_;
  struct Asks {
    bool shapes = false, values = false;
  };
  absl::flat_hash_map<StringId, Asks> asks_;  ///< by operator
  absl::flat_hash_map<std::tuple<StringId, StringId, StringId>, uint32_t> shape_rows_;
  Args args_;
  std::string unknown_;  ///< the category of a record that has one not known here
  std::string last_pid_, last_tid_;
  uint32_t last_thread_ = 0;
};

}  // namespace

Result<Kineto> read_kineto(ByteSource source, StringPool& strings, Arena& texts, Salvage* salvage) {
  return KinetoReader(std::move(source), strings, texts, salvage).run();
}

}  // namespace chakra::pytorch
