#include "chakra/recording/rocpd.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>

#include "chakra/base/join.h"
#include "chakra/json/json.h"
#include "chakra/recording/broken_times.h"
#include "chakra/recording/export_table.h"
#include "chakra/recording/lanes.h"
#include "chakra/recording/nccl_launches.h"
#include "chakra/recording/rocprof_parts.h"

namespace chakra::recording {

// `rocpd.table` (1): a column of a table is missing
// `rocpd.value` (1): a row has an impossible value
// `rocpd.json` (1): a message of ROCTx is not JSON
// `rocpd.nothing` (1): no activity of a device
// `rocpd.processes` (1): several processes used a device, and none was chosen
// `rocpd.ranges` (note): ROCTx ranges that need not nest are left out
// `rocpd.launch` (note): device operations whose HIP call is not in the database
// `rocpd.regions` (note): calls of other categories are left out
// `rocpd.communicators` (warning): communicators of RCCL, whose members are not recorded
// `rocpd.arguments` (note): calls of RCCL whose arguments are not recorded, so their communication has no size

namespace {

constexpr std::string_view kProcessTable = "rocpd_info_process";

/// Names and numbers of ncclDataType_t, with the bytes of an element.
struct DataTypeRow {
  std::string_view name, number;
  int64_t bytes;
};
constexpr std::array<DataTypeRow, 12> kDataTypes{{{"ncclInt8", "0", 1},
                                                  {"ncclUint8", "1", 1},
                                                  {"ncclInt32", "2", 4},
                                                  {"ncclUint32", "3", 4},
                                                  {"ncclInt64", "4", 8},
                                                  {"ncclUint64", "5", 8},
                                                  {"ncclFloat16", "6", 2},
                                                  {"ncclFloat32", "7", 4},
                                                  {"ncclFloat64", "8", 8},
                                                  {"ncclBfloat16", "9", 2},
                                                  {"ncclFloat8e4m3", "10", 1},
                                                  {"ncclFloat8e5m2", "11", 1}}};

/// The tables of one process' recording end with the same identifier; a merged database has several.
Result<std::vector<std::string>> suffixes_of(const sqlite::Database& database) {
  CHAKRA_ASSIGN(const std::vector<std::string> tables, database.tables());
  std::vector<std::string> suffixes;
  for (const std::string& table : tables)
    if (table.starts_with(kProcessTable)) suffixes.push_back(table.substr(kProcessTable.size()));
  std::sort(suffixes.begin(), suffixes.end());
  return suffixes;
}

/// The tables of one suffix, with what rows refer to.
class RocpdTables {
 public:
  struct Agent {
    int64_t device = -1;
    std::string name;
  };
  struct Event {
    int64_t correlation = -1;
    int64_t category = -1;
  };

  RocpdTables(const ExportedBase& base, std::string suffix) : base_(base), suffix_(std::move(suffix)) {}

  template <class Use>
  Result<bool> each(const char* table, std::initializer_list<NeededColumn> columns, const Use& use,
                    bool distinct = false) const {
    return each_row(base_, table + suffix_, columns, use, distinct);
  }

  Result<void> read_processes() {
    CHAKRA_TRY(each("rocpd_info_process", {{"id"}, {"pid"}}, [&](const ExportTable& row) -> Result<void> {
      if (row.integer(0) < 0 || row.integer(1) < 0) return row.wrong("a process needs id, pid");
      process_[row.integer(0)] = row.integer(1);
      return {};
    }));
    return {};
  }
  /// Devices count by their index among the GPUs of the machine.
  Result<void> read_agents() {
    CHAKRA_TRY(each("rocpd_info_agent", {{"id"}, {"type"}, {"type_index"}, {"name", false}, {"product_name", false}},
                    [&](const ExportTable& row) -> Result<void> {
                      if (row.text(1) != "GPU") return {};
                      if (row.integer(0) < 0 || row.integer(2) < 0) return row.wrong("a GPU needs id, type_index");
                      const bool has_product = !row.text(4).empty();
                      agents_[row.integer(0)] = {row.integer(2), std::string(row.text(has_product ? 4 : 3))};
                      return {};
                    }));
    return {};
  }
  Result<void> read_names() {
    CHAKRA_TRY(each("rocpd_string", {{"id"}, {"string"}}, [&](const ExportTable& row) -> Result<void> {
      names_[row.integer(0)] = row.text(1);
      return {};
    }));
    CHAKRA_TRY(each("rocpd_info_kernel_symbol", {{"id"}, {"kernel_name"}, {"display_name", false}},
                    [&](const ExportTable& row) -> Result<void> {
                      kernels_[row.integer(0)] = row.text(row.text(2).empty() ? 1 : 2);
                      return {};
                    }));
    return {};
  }
  /// The correlation of an event is its internal one, which is in stack_id; correlation_id is the user's.
  Result<void> read_events() {
    CHAKRA_TRY(each("rocpd_event", {{"id"}, {"category_id"}, {"stack_id"}, {"extdata", false}},
                    [&](const ExportTable& row) -> Result<void> {
                      events_[row.integer(0)] = {row.integer(2), row.integer(1)};
                      if (!category(row.integer(0)).starts_with("MARKER")) return {};
                      CHAKRA_ASSIGN(std::string message, message_in(row));
                      if (!message.empty()) messages_[row.integer(0)] = std::move(message);
                      return {};
                    }));
    return {};
  }

  int64_t pid(int64_t process) const {
    const auto found = process_.find(process);
    return found == process_.end() ? process : found->second;
  }
  const Agent* agent(int64_t id) const {
    const auto found = agents_.find(id);
    return found == agents_.end() ? nullptr : &found->second;
  }
  /// The device that takes part in a copy; between two devices, the one that receives; null between places of the host.
  const Agent* agent_of_copy(int64_t to, int64_t from) const {
    const Agent* const receives = agent(to);
    return receives ? receives : agent(from);
  }
  const std::string* name(int64_t id) const { return find(names_, id); }
  const std::string* kernel(int64_t id) const { return find(kernels_, id); }
  const std::string* message(int64_t event) const { return find(messages_, event); }
  Event event(int64_t id) const {
    const auto found = events_.find(id);
    return found == events_.end() ? Event() : found->second;
  }
  std::string_view category(int64_t event_id) const {
    const std::string* const text = name(event(event_id).category);
    return text ? std::string_view(*text) : std::string_view();
  }

 private:
  using Texts = absl::flat_hash_map<int64_t, std::string>;
  static const std::string* find(const Texts& texts, int64_t id) {
    const auto found = texts.find(id);
    return found == texts.end() ? nullptr : &found->second;
  }
  /// {"message": "step"}
  Result<std::string> message_in(const ExportTable& row) const {
    if (row.text(3).empty()) return std::string();
    const simdjson::padded_string json(row.text(3));
    simdjson::ondemand::parser parser;
    simdjson::ondemand::document document;
    simdjson::ondemand::object object;
    std::string_view message;
    if (parser.iterate(json).get(document) || document.get_object().get(object))
      return base_.fault("rocpd.json",
                         fmt::format("table rocpd_event, id {}: extdata is not a JSON object", row.integer(0)));
    const simdjson::error_code found = object["message"].get_string().get(message);
    if (found == simdjson::NO_SUCH_FIELD) return std::string();
    if (found)
      return base_.fault("rocpd.json", fmt::format("table rocpd_event, id {}: extdata is not JSON", row.integer(0)));
    return std::string(message);
  }

  ExportedBase base_;
  std::string suffix_;
  absl::flat_hash_map<int64_t, int64_t> process_;  ///< pid by id
  std::map<int64_t, Agent> agents_;                ///< GPUs, by id
  Texts names_, kernels_, messages_;
  absl::flat_hash_map<int64_t, Event> events_;
};

class RocpdReader {
 public:
  RocpdReader(const sqlite::Database& database, const ProcessChoice& choice, StringPool& strings, Findings& findings)
      : base_{database, "rocpd.table", "rocpd.value"}, choice_(choice), strings_(strings), findings_(findings) {
    out_.file = database.file();
  }

  Result<Profile> run() {
    CHAKRA_ASSIGN(const std::vector<std::string> suffixes, suffixes_of(base_.database));
    for (const std::string& suffix : suffixes) {
      RocpdTables tables(base_, suffix);
      CHAKRA_TRY(read(tables));
    }
    if (processes_.size() > 1)
      return base_.fault("rocpd.processes",
                         fmt::format("{} processes used devices: {}; 'chakra link DATABASE -o FOLDER' links "
                                     "each of them, --process N one of them",
                                     processes_.size(), join(processes_, ", ")));
    if (out_.device_ops.empty())
      return base_.fault("rocpd.nothing",
                         choice_.process < 0
                             ? "the database holds no activity of a device; record with 'rocprofv3 --hip-trace "
                               "--kernel-trace --memory-copy-trace --marker-trace --rccl-trace'"
                             : fmt::format("process {} has no activity of a device in the database", choice_.process));
    report();
    join_library_calls(out_, strings_, findings_);
    clip_overruns(out_);
    return std::move(out_);
  }

 private:
  Result<void> read(RocpdTables& t) {
    CHAKRA_TRY(t.read_processes());
    CHAKRA_TRY(t.read_agents());
    CHAKRA_TRY(t.read_names());
    CHAKRA_TRY(t.read_events());
    CHAKRA_TRY(t.each("rocpd_region", {{"start"}, {"end"}, {"pid"}, {"tid"}, {"name_id"}, {"event_id"}},
                      [&](const ExportTable& row) { return read_region(row, t); }));
    EnclosingCalls calls(out_.calls);
    for (const InnerCall& call : inner_) calls.add_inner(call.correlation, call.thread, call.start_ns, call.end_ns);
    CHAKRA_TRY(read_dispatches(t, calls));
    CHAKRA_TRY(read_copies(t, calls));
    CHAKRA_TRY(read_arguments(t));
    inner_.clear(), rccl_.clear();
    return {};
  }

  bool is_ours(const RocpdTables& t, int64_t process) const {
    return choice_.process < 0 || t.pid(process) == choice_.process;
  }
  Result<Record> record_of(const ExportTable& row, std::string_view name, uint32_t lane) {
    CHAKRA_ASSIGN(Record record, row.record());
    record.byte = ++records_;
    record.name = strings_.intern(name);
    record.lane = lane;
    return record;
  }

  /// A call of the host, or a range: columns start, end, pid, tid, name_id, event_id.
  Result<void> read_region(const ExportTable& row, const RocpdTables& t) {
    if (!is_ours(t, row.integer(2))) return {};
    const std::string* const name = t.name(row.integer(4));
    if (!name) return row.wrong(fmt::format("no string has the id {}", row.integer(4)));
    if (row.integer(3) < 0) return row.wrong("a region needs tid");
    const std::string_view category = t.category(row.integer(5));
    const uint32_t thread = lanes_.of(out_.threads, {trace::Lane::Kind::thread, t.pid(row.integer(2)), row.integer(3)});
    const int64_t correlation = t.event(row.integer(5)).correlation;
    if (category.starts_with("HIP_RUNTIME_API")) {
      RuntimeCall call;
      CHAKRA_ASSIGN(static_cast<Record&>(call), record_of(row, *name, thread));
      call.correlation = correlation;
      out_.vendor = std::min(out_.vendor, vendor_of_call(*name));
      out_.calls.push_back(call);
    } else if (category.starts_with("HSA_")) {
      CHAKRA_ASSIGN(const Record record, row.record());
      inner_.push_back({correlation, thread, record.start_ns, record.end_ns()});
    } else if (category.starts_with("MARKER")) {
      if (!is_nested_range(*name)) return ++left_.ranges, Result<void>();
      const std::string* const message = t.message(row.integer(5));
      CHAKRA_TRY(add_range(row, message ? *message : *name, thread));
    } else if (category.starts_with("RCCL")) {
      CHAKRA_TRY(add_range(row, *name, thread));
      out_.ops.back().library_call = true;
      if (comm_kind(*name).type != trace::NodeType::invalid)
        rccl_[row.integer(5)] = static_cast<uint32_t>(out_.ops.size() - 1);
    } else {
      ++left_.regions[std::string(category)];
    }
    return {};
  }
  Result<void> add_range(const ExportTable& row, std::string_view name, uint32_t thread) {
    CpuOp range;
    CHAKRA_ASSIGN(static_cast<Record&>(range), record_of(row, name, thread));
    range.annotation = true;
    out_.ops.push_back(range);
    return {};
  }

  /// Columns 0 to 4: start, end, pid, event_id, stream_id.
  Result<void> add_device_op(const ExportTable& row, const RocpdTables& t, const EnclosingCalls& calls,
                             DeviceOp::Kind kind, std::string_view name, const RocpdTables::Agent& agent,
                             int64_t stream) {
    DeviceOp op;
    const uint32_t lane = lanes_.of(out_.streams, {trace::Lane::Kind::stream, agent.device, stream});
    if (lane == out_.stream_pids.size()) out_.stream_pids.emplace_back(fmt::format("{}", agent.device));
    CHAKRA_ASSIGN(static_cast<Record&>(op), record_of(row, name, lane));
    op.kind = kind;
    op.correlation = calls.outer(t.event(row.integer(3)).correlation);
    left_.without_call += !calls.contains(op.correlation);
    processes_.insert(t.pid(row.integer(2)));
    if (!agent.name.empty()) out_.device_names.emplace(agent.device, agent.name);
    out_.device_ops.push_back(op);
    return {};
  }
  Result<void> read_dispatches(const RocpdTables& t, const EnclosingCalls& calls) {
    CHAKRA_TRY(
        t.each("rocpd_kernel_dispatch",
               {{"start"}, {"end"}, {"pid"}, {"event_id"}, {"stream_id"}, {"queue_id"}, {"agent_id"}, {"kernel_id"}},
               [&](const ExportTable& row) -> Result<void> {
                 if (!is_ours(t, row.integer(2))) return {};
                 const RocpdTables::Agent* const agent = t.agent(row.integer(6));
                 const std::string* const kernel = t.kernel(row.integer(7));
                 if (!agent) return row.wrong(fmt::format("no GPU has the id {}", row.integer(6)));
                 if (!kernel) return row.wrong(fmt::format("no kernel has the id {}", row.integer(7)));
                 const int64_t stream = row.integer(4) >= 0 ? row.integer(4) : row.integer(5);
                 if (stream < 0) return row.wrong("a kernel needs stream_id or queue_id");
                 return add_device_op(row, t, calls, DeviceOp::Kind::kernel, *kernel, *agent, stream);
               }));
    return {};
  }
  Result<void> read_copies(const RocpdTables& t, const EnclosingCalls& calls) {
    CHAKRA_TRY(t.each(
        "rocpd_memory_copy",
        {{"start"},
         {"end"},
         {"pid"},
         {"event_id"},
         {"stream_id"},
         {"name_id"},
         {"dst_agent_id"},
         {"src_agent_id"},
         {"size"}},
        [&](const ExportTable& row) -> Result<void> {
          if (!is_ours(t, row.integer(2))) return {};
          const std::string* const name = t.name(row.integer(5));
          if (!name) return row.wrong(fmt::format("no string has the id {}", row.integer(5)));
          const RocpdTables::Agent* const agent = t.agent_of_copy(row.integer(6), row.integer(7));
          if (!agent) return {};
          const size_t copy = copy_row(*name);
          const int64_t stream = row.integer(4) >= 0 ? row.integer(4) : kFirstCopyStream + static_cast<int64_t>(copy);
          CHAKRA_TRY(add_device_op(row, t, calls, DeviceOp::Kind::copy, kCopyOperations[copy].name, *agent, stream));
          out_.device_ops.back().bytes = row.integer(8);
          return {};
        }));
    return {};
  }

  /// Arguments of the calls of RCCL, as texts. Communicators are pointers of the process.
  Result<void> read_arguments(const RocpdTables& t) {
    if (rccl_.empty()) return {};
    struct Texts {
      std::string type, communicator;
      int64_t count = -1;
      NcclArguments numbers;
    };
    std::map<int64_t, Texts> calls;  // by event
    CHAKRA_TRY(t.each("rocpd_arg", {{"event_id"}, {"name"}, {"value"}}, [&](const ExportTable& row) -> Result<void> {
      if (!rccl_.contains(row.integer(0))) return {};
      Texts& call = calls[row.integer(0)];
      const std::string_view name = row.text(1), value = row.text(2);
      if (name == "datatype") call.type = value;
      else if (name == "comm") left_.communicators.insert(call.communicator = value);
      int64_t number = -1;
      if (!parse_decimal(value, number)) return {};
      if (name == "count" || name == "sendcount" || name == "recvcount") call.count = number;
      else if (name == "peer") call.numbers.peer = number;
      else if (name == "root") call.numbers.root = number;
      return {};
    }));
    for (const auto& [event, op] : rccl_) {
      Texts& call = calls[event];
      const auto* const type = std::find_if(kDataTypes.begin(), kDataTypes.end(), [&](const DataTypeRow& row) {
        return row.name == call.type || row.number == call.type;
      });
      if (type == kDataTypes.end() || call.count < 0 ||
          __builtin_mul_overflow(call.count, type->bytes, &call.numbers.bytes)) {
        ++left_.without_arguments;
        continue;
      }
      const std::string_view name = strings_[out_.ops[op].name];
      CommRecord record = describe_call(comm_kind(name), call.numbers, -1);
      record.collective = out_.ops[op].name;
      // One communicator is that of all ranks. Pointers of several processes may be equal by chance.
      if (left_.communicators.size() > 1)
        record.group =
            strings_.intern(fmt::format("rccl:{}:{}", out_.threads[out_.ops[op].lane].process, call.communicator));
      out_.ops[op].comm = static_cast<uint32_t>(out_.comms.size());
      out_.comms.push_back(record);
    }
    return {};
  }

  void note(const char* tag, Severity severity, std::string text) {
    findings_.push_back({tag, severity, -1, -1, std::move(text)});
  }
  void report() {
    if (left_.ranges > 0)
      note("rocpd.ranges", Severity::note,
           fmt::format("ROCTx ranges left out: {}; ranges of a start and a stop need not nest", left_.ranges));
    for (const auto& [category, count] : left_.regions)
      note("rocpd.regions", Severity::note,
           fmt::format("{} calls of the category {} were left out", show_count(count), quote(category)));
    if (left_.without_call > 0)
      note("rocpd.launch", Severity::note,
           fmt::format("{} device operations have no HIP call in the database; record with --hip-trace",
                       show_count(left_.without_call)));
    if (left_.without_arguments > 0)
      note("rocpd.arguments", Severity::note,
           fmt::format(
               "{} calls of RCCL have no count and data type in the database, so their communication has no size",
               show_count(left_.without_arguments)));
    if (left_.communicators.size() > 1)
      note("rocpd.communicators", Severity::warning,
           fmt::format(
               "the calls of RCCL use {} communicators, whose members are not recorded: communication of several "
               "ranks cannot be matched",
               left_.communicators.size()));
    if (left_.communicators.size() == 1)
      note("rocpd.communicators", Severity::warning,
           "the members of RCCL's communicator are not recorded: the communicator counts as that of all ranks; if "
           "RCCL's log (NCCL_DEBUG=INFO) shows a smaller nranks, the communication has wrong members: record with "
           "PyTorch's "
           "profiler, which records them");
  }

  struct InnerCall {
    int64_t correlation = -1;
    uint32_t thread = 0;
    int64_t start_ns = 0, end_ns = 0;
  };

  ExportedBase base_;
  const ProcessChoice& choice_;
  StringPool& strings_;
  Findings& findings_;
  Profile out_;
  LaneNumbers lanes_;
  std::vector<InnerCall> inner_;
  std::map<int64_t, uint32_t> rccl_;  ///< by event: the row of the range
  std::set<int64_t> processes_;       ///< with device operations
  int64_t records_ = 0;
  struct {
    int64_t without_call = 0, ranges = 0, without_arguments = 0;
    std::map<std::string, int64_t> regions;  ///< by category
    std::set<std::string> communicators;
  } left_;  ///< out of the profile
};

}  // namespace

Result<Profile> read_rocpd(const sqlite::Database& database, const ProcessChoice& choice, StringPool& strings,
                           Findings& findings) {
  return RocpdReader(database, choice, strings, findings).run();
}

Result<ExportSurvey> survey_rocpd(const sqlite::Database& database) {
  const ExportedBase base{database, "rocpd.table", "rocpd.value"};
  ExportSurvey survey;
  CHAKRA_ASSIGN(const std::vector<std::string> suffixes, suffixes_of(database));
  for (const std::string& suffix : suffixes) {
    RocpdTables t(base, suffix);
    CHAKRA_TRY(t.read_processes());
    CHAKRA_TRY(t.read_agents());
    const auto use = [&](const ExportTable& row, const RocpdTables::Agent* agent) -> Result<void> {
      if (agent) survey.use_device(t.pid(row.integer(0)), agent->device);
      return {};
    };
    CHAKRA_TRY(t.each(
        "rocpd_kernel_dispatch", {{"pid"}, {"agent_id"}},
        [&](const ExportTable& row) { return use(row, t.agent(row.integer(1))); }, true));
    CHAKRA_TRY(t.each(
        "rocpd_memory_copy", {{"pid"}, {"dst_agent_id"}, {"src_agent_id"}},
        [&](const ExportTable& row) { return use(row, t.agent_of_copy(row.integer(1), row.integer(2))); }, true));
  }
  return survey;
}

}  // namespace chakra::recording
