#include "chakra/recording/nsys.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "chakra/base/join.h"
#include "chakra/recording/broken_times.h"
#include "chakra/recording/export_table.h"
#include "chakra/recording/lanes.h"
#include "chakra/recording/nccl_launches.h"
#include "chakra/recording/nccl_payload.h"

namespace chakra::recording {
namespace {

constexpr int64_t kNewestVersion = 3;             ///< major version of the schema
constexpr int64_t kPushPop = 59, kStartEnd = 60;  ///< NVTX_EVENTS.eventType

/// Directions of copies and kinds of memory, as Nsight Systems numbers them (ENUM_CUDA_MEMCPY_OPER, ENUM_CUDA_MEM_KIND;
/// the latter are not CUPTI's numbers), with the names of Kineto.
constexpr std::array<std::string_view, 14> kCopies{"Unknown", "HtoD",         "DtoH",         "HtoA",        "AtoH",
                                                   "AtoA",    "AtoD",         "DtoA",         "DtoD",        "HtoH",
                                                   "PtoP",    "Unified HtoD", "Unified DtoH", "Unified DtoD"};
constexpr std::array<std::string_view, 8> kMemories{"Pageable", "Pinned",        "Device",         "Array",
                                                    "Managed",  "Device Static", "Managed Static", "Unknown"};
/// ENUM_CUPTI_SYNC_TYPE.
constexpr std::array<SyncRecord::Kind, 5> kSyncs{SyncRecord::Kind::device, SyncRecord::Kind::event,
                                                 SyncRecord::Kind::wait_event, SyncRecord::Kind::stream,
                                                 SyncRecord::Kind::device};

template <class Row, size_t n>
Row row_or(const std::array<Row, n>& rows, int64_t number, Row missing) {
  return number >= 0 && number < static_cast<int64_t>(n) ? rows[static_cast<size_t>(number)] : missing;
}

int64_t process_of(int64_t global_id) { return global_id >> 24 & 0xff'ffff; }
int64_t thread_of(int64_t global_id) { return global_id & 0xff'ffff; }

/// "ncclAllReduce"; c10d's annotations are "nccl:all_reduce".
bool is_call_of_nccl(std::string_view range) {
  return range.starts_with("nccl") && range.size() > 4 && range[4] >= 'A' && range[4] <= 'Z';
}

/// "cudaLaunchKernel_v7000" -> "cudaLaunchKernel".
std::string_view without_version(std::string_view call) {
  const size_t at = call.rfind("_v");
  if (at == std::string_view::npos || at + 2 == call.size()) return call;
  return call.find_first_not_of("0123456789", at + 2) == std::string_view::npos ? call.substr(0, at) : call;
}

// `nsys.processes` (1): several processes used CUDA, and none was chosen, or the chosen one did not
// `nsys.ranges` (note): NVTX ranges that need not nest are left out
// `nsys.open` (note): the recording ended before NVTX ranges
// `nsys.payloads` (note): calls of NCCL without a readable payload, so their communication has no size
// `nsys.table` (1): a required table or column is missing
// `nsys.value` (1): a row with a missing or impossible time, or with a name that no text has; the message has the table
// and the row
class NsysReader {
 public:
  NsysReader(const sqlite::Database& database, const ProcessChoice& choice, StringPool& strings, Findings& findings)
      : base_{database, "nsys.table", "nsys.value"}, choice_(choice), strings_(strings), findings_(findings) {
    out_.file = database.file();
  }

  Result<Profile> run() {
    CHAKRA_TRY(check_version());
    CHAKRA_TRY(read_names());
    CHAKRA_TRY(read_session());
    CHAKRA_TRY(read_calls());
    CHAKRA_TRY(read_kernels());
    CHAKRA_TRY(read_copies());
    CHAKRA_TRY(read_memsets());
    CHAKRA_TRY(read_syncs());
    if (out_.calls.empty() && out_.device_ops.empty())
      return fail(Code::bad_input, "nsys.nothing",
                  choice_.process < 0
                      ? "the export holds no CUDA activity; record with 'nsys profile --trace=cuda,nvtx'"
                      : fmt::format("process {} has no CUDA activity in the export", choice_.process),
                  {out_.file});
    CHAKRA_TRY(check_processes());
    CHAKRA_TRY(read_ranges());
    join_library_calls(out_, strings_, findings_);
    clip_overruns(out_);
    return std::move(out_);
  }

 private:
  Failure missing(const char* table) const {
    return fail(Code::bad_input, "nsys.table", fmt::format("the database has no table {}", table), {out_.file});
  }

  /// Exports before 2021 have no version.
  Result<void> check_version() {
    CHAKRA_TRY(
        each_row(base_, "META_DATA_EXPORT", {{"name"}, {"value"}}, [&](const ExportTable& table) -> Result<void> {
          if (table.text(0) != "EXPORT_SCHEMA_VERSION_MAJOR") return {};
          int64_t version = 0;
          if (parse_decimal(table.text(1), version) && version <= kNewestVersion) return {};
          return fail(Code::bad_input, "nsys.version",
                      fmt::format("the export has schema version {}; versions up to {} are known", quote(table.text(1)),
                                  kNewestVersion),
                      {out_.file});
        }));
    return {};
  }

  Result<void> read_names() {
    CHAKRA_ASSIGN(const bool found,
                  each_row(base_, "StringIds", {{"id"}, {"value"}}, [&](const ExportTable& table) -> Result<void> {
                    names_[table.integer(0)] = table.text(1);
                    return {};
                  }));
    return found ? Result<void>() : missing("StringIds");
  }
  /// The text of an id. Most texts belong to no CUDA record, so a text is interned on first use.
  Result<std::string_view> text_of(const ExportTable& table, int column) const {
    const auto found = names_.find(table.integer(column));
    if (found == names_.end()) return table.wrong(fmt::format("no text has the id {}", table.integer(column)));
    return std::string_view(found->second);
  }

  /// Devices, and the beginning of the session: all times count from it.
  Result<void> read_session() {
    CHAKRA_ASSIGN(auto start, ExportTable::open(base_, "TARGET_INFO_SESSION_START_TIME", {{"utcEpochNs"}}));
    if (start) {
      CHAKRA_ASSIGN(const bool more, start->next());
      if (more) out_.base_ns = start->integer(0, 0);
    }
    CHAKRA_TRY(each_row(base_, "TARGET_INFO_GPU", {{"id"}, {"name"}, {"cuDevice", false}},
                        [&](const ExportTable& gpu) -> Result<void> {
                          const int64_t number = gpu.integer(2) >= 0 ? gpu.integer(2) : gpu.integer(0);
                          if (number >= 0 && !gpu.text(1).empty()) out_.device_names.emplace(number, gpu.text(1));
                          return {};
                        }));
    return {};
  }

  Result<uint32_t> thread(const ExportTable& table, int column) {
    if (table.integer(column) < 0) return table.wrong("a call needs globalTid");
    const int64_t id = table.integer(column);
    return lanes_.of(out_.threads, {trace::Lane::Kind::thread, process_of(id), thread_of(id)});
  }

  Result<void> read_calls() {
    CHAKRA_TRY(each_row(base_, "CUPTI_ACTIVITY_KIND_RUNTIME",
                        {{"start"}, {"end"}, {"globalTid"}, {"correlationId"}, {"nameId"}},
                        [&](const ExportTable& table) { return read_call(table); }));
    return {};
  }
  /// Whether a row is of the process that is read. That includes rows without a process.
  bool is_ours(const ExportTable& table, int column) const {
    return choice_.process < 0 || table.integer(column) < 0 || process_of(table.integer(column)) == choice_.process;
  }
  Result<void> read_call(const ExportTable& table) {
    if (!is_ours(table, 2)) return {};
    CHAKRA_ASSIGN(Record record, table.record());
    record.byte = ++records_;
    RuntimeCall call;
    static_cast<Record&>(call) = record;
    CHAKRA_ASSIGN(call.lane, thread(table, 2));
    call.correlation = table.integer(3);
    CHAKRA_ASSIGN(const std::string_view name, text_of(table, 4));
    call.name = strings_.intern(without_version(name));
    out_.vendor = std::min(out_.vendor, vendor_of_call(name));
    processes_.insert(process_of(table.integer(2)));
    out_.calls.push_back(call);
    return {};
  }

  /// Columns 0 to 5: start, end, deviceId, streamId, correlationId, globalPid. `fill`: sets the name
  /// from the other columns.
  template <class Fill>
  Result<void> read_device_ops(const char* name, DeviceOp::Kind kind, std::initializer_list<NeededColumn> columns,
                               const Fill& fill) {
    CHAKRA_TRY(each_row(base_, name, columns, [&](const ExportTable& table) -> Result<void> {
      if (!is_ours(table, 5)) return {};
      CHAKRA_ASSIGN(DeviceOp op, device_op(table, kind));
      CHAKRA_TRY(fill(table, op));
      out_.device_ops.push_back(op);
      return {};
    }));
    return {};
  }
  Result<DeviceOp> device_op(const ExportTable& table, DeviceOp::Kind kind) {
    CHAKRA_ASSIGN(Record record, table.record());
    record.byte = ++records_;
    DeviceOp op;
    static_cast<Record&>(op) = record;
    op.kind = kind;
    if (table.integer(2) < 0 || table.integer(3) < 0) return table.wrong("a device operation needs deviceId, streamId");
    op.lane = lanes_.of(out_.streams, {trace::Lane::Kind::stream, table.integer(2), table.integer(3)});
    if (op.lane == out_.stream_pids.size()) out_.stream_pids.emplace_back(fmt::format("{}", table.integer(2)));
    op.correlation = table.integer(4);
    if (table.integer(5) >= 0) processes_.insert(process_of(table.integer(5)));
    return op;
  }

  Result<void> read_kernels() {
    return read_device_ops(
        "CUPTI_ACTIVITY_KIND_KERNEL", DeviceOp::Kind::kernel,
        {{"start"}, {"end"}, {"deviceId"}, {"streamId"}, {"correlationId"}, {"globalPid", false}, {"demangledName"}},
        [&](const ExportTable& table, DeviceOp& op) -> Result<void> {
          CHAKRA_ASSIGN(const std::string_view name, text_of(table, 6));
          op.name = strings_.intern(name);
          return {};
        });
  }

  Result<void> read_copies() {
    return read_device_ops("CUPTI_ACTIVITY_KIND_MEMCPY", DeviceOp::Kind::copy,
                           {{"start"},
                            {"end"},
                            {"deviceId"},
                            {"streamId"},
                            {"correlationId"},
                            {"globalPid", false},
                            {"bytes"},
                            {"copyKind"},
                            {"srcKind", false},
                            {"dstKind", false}},
                           [&](const ExportTable& table, DeviceOp& op) -> Result<void> {
                             op.bytes = table.integer(6);
                             op.name = strings_.intern(
                                 fmt::format("Memcpy {} ({} -> {})", row_or(kCopies, table.integer(7), kCopies.front()),
                                             row_or(kMemories, table.integer(8), kMemories.back()),
                                             row_or(kMemories, table.integer(9), kMemories.back())));
                             return {};
                           });
  }

  Result<void> read_memsets() {
    return read_device_ops(
        "CUPTI_ACTIVITY_KIND_MEMSET", DeviceOp::Kind::memset,
        {{"start"}, {"end"}, {"deviceId"}, {"streamId"}, {"correlationId"}, {"globalPid", false}, {"bytes"}},
        [&](const ExportTable& table, DeviceOp& op) -> Result<void> {
          op.bytes = table.integer(6);
          op.name = strings_.intern("Memset (Device)");
          return {};
        });
  }

  Result<void> read_syncs() {
    CHAKRA_TRY(each_row(base_, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                        {{"correlationId"}, {"deviceId"}, {"streamId"}, {"syncType"}, {"globalPid", false}},
                        [&](const ExportTable& table) -> Result<void> {
                          if (!is_ours(table, 4)) return {};
                          SyncRecord sync;
                          sync.correlation = table.integer(0);
                          sync.device = table.integer(1);
                          sync.stream = table.integer(2);
                          sync.kind = row_or(kSyncs, table.integer(3), SyncRecord::Kind::device);
                          out_.syncs.push_back(sync);
                          return {};
                        }));
    return {};
  }

  /// One trace is of one process; correlation ids of several processes could be the same.
  Result<void> check_processes() const {
    if (processes_.size() < 2) return {};
    return fail(
        Code::bad_input, "nsys.processes",
        fmt::format("{} processes used CUDA: {}; 'chakra link EXPORT -o FOLDER' links each of them, --process N "
                    "one of them",
                    processes_.size(), join(processes_, ", ")),
        {out_.file});
  }

  /// NVTX's nested ranges, as annotations. Ranges of a start and an end need not nest, and may cross threads.
  Result<void> read_ranges() {
    CHAKRA_ASSIGN(payloads_, NcclPayloads::read(base_));
    int64_t crossing = 0, open = 0;
    CHAKRA_TRY(
        each_row(base_, "NVTX_EVENTS",
                 {{"start"}, {"end"}, {"eventType"}, {"globalTid"}, {"text"}, {"textId", false}, {"binaryData", false}},
                 [&](const ExportTable& table) -> Result<void> {
                   const int64_t type = table.integer(2);
                   if (type != kPushPop && type != kStartEnd) return {};  // marks, names of domains
                   if (!processes_.contains(process_of(table.integer(3)))) return {};
                   if (type == kPushPop && table.has(1)) return read_range(table);
                   ++(type == kStartEnd ? crossing : open);
                   return {};
                 }));
    const auto report = [&](const char* tag, int64_t count, const char* why) {
      if (count > 0)
        findings_.push_back({tag, Severity::note, -1, -1, fmt::format("NVTX ranges left out: {}; {}", count, why)});
    };
    report("nsys.ranges", crossing, "ranges of a start and an end need not nest");
    report("nsys.open", open, "the recording ended before them");
    if (without_arguments_ > 0)
      findings_.push_back({"nsys.payloads", Severity::note, -1, -1,
                           fmt::format("{} calls of NCCL have no readable payload, so their communication has no size; "
                                       "export with 'nsys export --type sqlite --include-blobs=true'",
                                       show_count(without_arguments_))});
    return {};
  }

  Result<void> read_range(const ExportTable& table) {
    CHAKRA_ASSIGN(Record record, table.record());
    record.byte = ++records_;
    CpuOp range;
    static_cast<Record&>(range) = record;
    CHAKRA_ASSIGN(range.lane, thread(table, 3));
    range.annotation = true;
    std::string_view name = table.text(4);
    if (!table.has(4)) {
      CHAKRA_ASSIGN(name, text_of(table, 5));
    }
    range.name = strings_.intern(name);
    range.library_call = is_call_of_nccl(name);
    if (range.library_call && comm_kind(name).type != trace::NodeType::invalid) add_arguments(table.bytes(6), range);
    out_.ops.push_back(range);
    return {};
  }

  void add_arguments(std::string_view payload, CpuOp& call) {
    const std::optional<NcclArguments> arguments = payloads_.decode(payload);
    if (!arguments || arguments->bytes < 0) {
      ++without_arguments_;
      return;
    }
    std::string group;
    const trace::ProcessGroup* known = nullptr;
    if (arguments->communicator) {
      group = communicator_name(*arguments->communicator);
      for (const trace::ProcessGroup& one : choice_.groups)
        if (one.name == group) known = &one;
      if (known && groups_.insert(group).second) out_.groups.push_back(*known);
    }
    CommRecord record = describe_call(comm_kind(strings_[call.name]), *arguments, known ? known->size : -1);
    record.collective = call.name;
    record.group = group.empty() ? 0 : strings_.intern(group);
    call.comm = static_cast<uint32_t>(out_.comms.size());
    out_.comms.push_back(record);
  }
  const ExportedBase base_;
  const ProcessChoice& choice_;
  StringPool& strings_;
  Findings& findings_;
  Profile out_;
  absl::flat_hash_map<int64_t, std::string> names_;
  LaneNumbers lanes_;
  std::set<int64_t> processes_;
  NcclPayloads payloads_;
  std::set<std::string> groups_;  ///< in out_.groups
  int64_t without_arguments_ = 0;
  int64_t records_ = 0;  ///< read so far; places of records, which have no offset in the file
};

}  // namespace

Result<Profile> read_nsys(const sqlite::Database& database, const ProcessChoice& choice, StringPool& strings,
                          Findings& findings) {
  return NsysReader(database, choice, strings, findings).run();
}

Result<ExportSurvey> survey_nsys(const sqlite::Database& database) {
  const ExportedBase base{database, "nsys.table", "nsys.value"};
  ExportSurvey survey;
  for (const char* table : {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"})
    CHAKRA_TRY(each_row(
        base, table, {{"globalPid", false}, {"deviceId"}},
        [&](const ExportTable& row) -> Result<void> {
          if (row.integer(0) >= 0) survey.use_device(process_of(row.integer(0)), row.integer(1));
          return {};
        },
        true));
  CHAKRA_ASSIGN(const NcclPayloads payloads, NcclPayloads::read(base));
  if (payloads.empty()) return survey;
  CHAKRA_TRY(each_row(base, "NVTX_EVENTS", {{"globalTid"}, {"binaryData", false}},
                      [&](const ExportTable& row) -> Result<void> {
                        if (!row.has(1) || row.integer(0) < 0) return {};
                        const std::optional<NcclArguments> arguments = payloads.decode(row.bytes(1));
                        if (!arguments || !arguments->communicator) return {};
                        survey.use_communicator(process_of(row.integer(0)), communicator_name(*arguments->communicator),
                                                arguments->ranks, arguments->rank);
                        return {};
                      }));
  return survey;
}

}  // namespace chakra::recording
