#include "chakra/recording/nsys.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "chakra/recording/broken_times.h"
#include "chakra/recording/lanes.h"

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

/// "cudaLaunchKernel_v7000" -> "cudaLaunchKernel".
std::string_view without_version(std::string_view call) {
  const size_t at = call.rfind("_v");
  if (at == std::string_view::npos || at + 2 == call.size()) return call;
  return call.find_first_not_of("0123456789", at + 2) == std::string_view::npos ? call.substr(0, at) : call;
}

/// A column that a query needs; one that an older or newer export may lack is null there.
struct NeededColumn {
  const char* name;
  bool required = true;
};

/// The rows of one table, with the values of some columns.
class ExportTable {
 public:
  /// Not if the database has no such table.
  static Result<std::optional<ExportTable>> open(const sqlite::Database& database, const char* name,
                                                 std::initializer_list<NeededColumn> columns) {
    CHAKRA_ASSIGN(const std::vector<std::string> known, database.columns(name));
    if (known.empty()) return std::optional<ExportTable>();
    std::string list;
    for (const NeededColumn& column : columns) {
      const bool has = std::find(known.begin(), known.end(), column.name) != known.end();
      if (!has && column.required)
        return fail(Code::bad_input, "nsys.table", fmt::format("table {} has no column {}", name, column.name),
                    {database.file()});
      list += fmt::format("{}{}", list.empty() ? "" : ", ", has ? sqlite::quote_name(column.name) : "NULL");
    }
    CHAKRA_ASSIGN(sqlite::Rows rows,
                  database.prepare(fmt::format("SELECT {} FROM {}", list, sqlite::quote_name(name))));
    return std::optional<ExportTable>(ExportTable(database.file(), name, std::move(rows)));
  }

  Result<bool> next() { return rows_.next(); }
  bool has(int column) const { return !rows_.is_null(column); }
  std::string_view text(int column) const { return rows_.text(column); }
  int64_t integer(int column, int64_t missing = -1) const {
    return rows_.is_integer(column) ? rows_.integer(column) : missing;
  }
  Failure wrong(std::string text) const {
    return fail(Code::bad_input, "nsys.value", fmt::format("table {}, row {}: {}", name_, rows_.row(), text), {file_});
  }

  /// The times of the row, of columns 0 and 1.
  Result<Record> record() const {
    if (!rows_.is_integer(0) || !rows_.is_integer(1)) return wrong("start and end must be whole numbers");
    Record record;
    record.start_ns = rows_.integer(0);
    if (__builtin_sub_overflow(rows_.integer(1), record.start_ns, &record.dur_ns) || record.dur_ns < 0)
      return wrong(fmt::format("it ends at {} ns, before its start at {} ns", rows_.integer(1), record.start_ns));
    return record;
  }

 private:
  ExportTable(std::string file, std::string name, sqlite::Rows rows)
      : file_(std::move(file)), name_(std::move(name)), rows_(std::move(rows)) {}

  std::string file_, name_;
  sqlite::Rows rows_;
};

class NsysReader {
 public:
  NsysReader(const sqlite::Database& database, StringPool& strings, Findings& findings)
      : database_(database), strings_(strings), findings_(findings) {
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
                  "the export holds no CUDA activity; record with 'nsys profile --trace=cuda,nvtx'", {out_.file});
    CHAKRA_TRY(check_processes());
    CHAKRA_TRY(read_ranges());
    clip_overruns(out_);
    return std::move(out_);
  }

 private:
  Failure missing(const char* table) const {
    return fail(Code::bad_input, "nsys.table", fmt::format("the database has no table {}", table), {out_.file});
  }

  /// Call `use` with each row of a table. Return whether the database has the table.
  template <class Use>
  Result<bool> each_row(const char* name, std::initializer_list<NeededColumn> columns, const Use& use) {
    CHAKRA_ASSIGN(auto table, ExportTable::open(database_, name, columns));
    while (table) {
      CHAKRA_ASSIGN(const bool more, table->next());
      if (!more) return true;
      CHAKRA_TRY(use(*table));
    }
    return false;
  }

  /// Exports before 2021 have no version.
  Result<void> check_version() {
    CHAKRA_TRY(each_row("META_DATA_EXPORT", {{"name"}, {"value"}}, [&](const ExportTable& table) -> Result<void> {
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
                  each_row("StringIds", {{"id"}, {"value"}}, [&](const ExportTable& table) -> Result<void> {
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
    CHAKRA_ASSIGN(auto start, ExportTable::open(database_, "TARGET_INFO_SESSION_START_TIME", {{"utcEpochNs"}}));
    if (start) {
      CHAKRA_ASSIGN(const bool more, start->next());
      if (more) out_.base_ns = start->integer(0, 0);
    }
    CHAKRA_TRY(each_row("TARGET_INFO_GPU", {{"id"}, {"name"}, {"cuDevice", false}},
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
    CHAKRA_TRY(each_row("CUPTI_ACTIVITY_KIND_RUNTIME",
                        {{"start"}, {"end"}, {"globalTid"}, {"correlationId"}, {"nameId"}},
                        [&](const ExportTable& table) { return read_call(table); }));
    return {};
  }
  Result<void> read_call(const ExportTable& table) {
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
    CHAKRA_TRY(each_row(name, columns, [&](const ExportTable& table) -> Result<void> {
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
    CHAKRA_TRY(each_row("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                        {{"correlationId"}, {"deviceId"}, {"streamId"}, {"syncType"}},
                        [&](const ExportTable& table) -> Result<void> {
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
    return fail(Code::bad_input, "nsys.processes",
                fmt::format("{} processes used CUDA: {}; record each rank with a separate 'nsys profile'",
                            processes_.size(), fmt::join(processes_, ", ")),
                {out_.file});
  }

  /// NVTX's nested ranges, as annotations. Ranges of a start and an end need not nest, and may cross threads.
  Result<void> read_ranges() {
    int64_t crossing = 0, open = 0;
    CHAKRA_TRY(each_row("NVTX_EVENTS", {{"start"}, {"end"}, {"eventType"}, {"globalTid"}, {"text"}, {"textId", false}},
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
    out_.ops.push_back(range);
    return {};
  }

  const sqlite::Database& database_;
  StringPool& strings_;
  Findings& findings_;
  Profile out_;
  absl::flat_hash_map<int64_t, std::string> names_;
  LaneNumbers lanes_;
  std::set<int64_t> processes_;
  int64_t records_ = 0;  ///< read so far; places of records, which have no offset in the file
};

}  // namespace

Result<Profile> read_nsys(const sqlite::Database& database, StringPool& strings, Findings& findings) {
  return NsysReader(database, strings, findings).run();
}

}  // namespace chakra::recording
