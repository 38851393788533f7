// The numbers of the diagnosis, read from the tables of other analyses.
#include <algorithm>
#include <array>

#include "chakra/analyze/analyze.h"

namespace chakra::analyze {
namespace {

using result::Table;
using Numbers = DiagnosisNumbers;
using Rank = Numbers::Rank;

/// Calls that allocate or free memory of a device.
constexpr std::array<std::string_view, 12> kAllocators{
    "cudaMalloc", "cudaFree",   "cudaMallocAsync", "cudaFreeAsync", "cuMemCreate",    "cuMemRelease",
    "cuMemMap",   "cuMemUnmap", "hipMalloc",       "hipFree",       "hipMallocAsync", "hipFreeAsync"};

/// A row of a table, by keys of columns.
class SourceRow {
 public:
  SourceRow(const Table& table, size_t row) : table_(table), row_(row) {}
  int64_t index() const { return static_cast<int64_t>(row_); }
  /// 0, or `otherwise`, for a text.
  int64_t whole(std::string_view key, int64_t otherwise = 0) const {
    const int64_t* value = std::get_if<int64_t>(&cell(key));
    return value ? *value : otherwise;
  }
  double real(std::string_view key) const {
    const double* value = std::get_if<double>(&cell(key));
    return value ? *value : 0;
  }
  const std::string& text(std::string_view key) const { return std::get<std::string>(cell(key)); }

 private:
  const Table::Cell& cell(std::string_view key) const {
    const auto column = std::find_if(table_.columns.begin(), table_.columns.end(),
                                     [&](const Table::Column& c) { return c.key == key; });
    CHAKRA_ASSERT(column != table_.columns.end());
    return table_.rows[row_][static_cast<size_t>(column - table_.columns.begin())];
  }
  const Table& table_;
  size_t row_;
};

template <class Use>
void for_each_row(const std::vector<NamedTable>& tables, std::string_view name, const Use& use) {
  for (const NamedTable& table : tables)
    if (table.name == name)
      for (size_t row = 0; row < table.table.rows.size(); ++row) use(SourceRow(table.table, row));
}

class Reader {
 public:
  explicit Reader(const std::vector<NamedTable>& tables) : tables_(tables) {}

  Numbers run() {
    for_each_row(tables_, "critical_path", [&](const SourceRow& row) {
      rank(row);
      n_.measured |= row.text("measured") == "yes";
    });
    read_times();
    read_steps();
    read_gaps();
    read_allocations();
    read_communication();
    read_sizes();
    for (Rank& r : n_.ranks) leave_out_outside(r);
    return std::move(n_);
  }

 private:
  Rank& rank(const SourceRow& row) {
    const int64_t number = row.whole("rank");
    const auto [found, added] = rank_at_.try_emplace(number, n_.ranks.size());
    if (added) n_.ranks.emplace_back().rank = number;
    return n_.ranks[found->second];
  }

  void read_times() {
    for_each_row(tables_, "time", [&](const SourceRow& row) {
      Rank& r = rank(row);
      const Picoseconds time = row.whole("time_ps");
      if (r.total == 0) r.time_row = row.index();
      r.total = add_saturated(r.total, time);
      const std::string& what = row.text("what_runs");
      if (what == "compute alone") r.computes += time, r.alone = time;
      else if (what == "compute and communication") r.computes += time, r.overlapped = time;
      else if (what == "exposed communication") r.exposed = time;
      else if (what != "memory" && what != "device work that was not recorded" && what != "before the recording")
        r.idle = add_saturated(r.idle, time);
    });
    for_each_row(tables_, "overlap", [&](const SourceRow& row) { rank(row).overlap_row = row.index(); });
    for_each_row(tables_, "exposed", [&](const SourceRow& row) {
      n_.exposed.push_back({row.whole("rank"), row.text("type"), row.text("group"), row.whole("time_ps"), row.index()});
    });
  }

  /// Time outside of steps, such as the start of the profiler, is idle: more than the idle time cannot be outside. Idle
  /// time that is in no gap of the stream lies before its first operation or after its last one. The waits for the host
  /// may have all the rest.
  void leave_out_outside(Rank& r) const {
    const auto steps = in_steps_.find(r.rank);
    if (steps == in_steps_.end() || steps->second >= r.total) return;
    const Picoseconds outside = std::min(r.idle, r.total - steps->second);
    const Picoseconds around = std::max<Picoseconds>(0, r.idle - r.gaps);
    r.total -= outside;
    r.idle -= outside;
    r.host_wait = std::max<Picoseconds>(0, r.host_wait - std::max<Picoseconds>(0, outside - around));
  }

  void read_steps() {
    std::map<int64_t, Picoseconds> longest;
    std::map<int64_t, std::vector<Picoseconds>> waits;
    std::map<std::string, size_t> step_at;
    for_each_row(tables_, "step_times", [&](const SourceRow& row) {
      Rank& r = rank(row);
      ++r.steps;
      const auto [step, added] = step_at.try_emplace(row.text("step"), n_.step_lengths.size());
      if (added) n_.step_lengths.push_back(0);
      Picoseconds& length = n_.step_lengths[step->second];
      length = std::max(length, row.whole("length_ps"));
      Picoseconds& in_steps = in_steps_[r.rank];
      in_steps = add_saturated(in_steps, row.whole("length_ps"));
      const Picoseconds time = row.whole("before_first_ps");
      waits[r.rank].push_back(time);
      r.names_loader |= row.text("names_loader") == "yes";
      if (time <= longest[r.rank]) return;
      longest[r.rank] = time;
      r.step_row = row.index();
    });
    // A pause in one step is not a late loader: a loader without a name must be late in most steps.
    for (Rank& r : n_.ranks) {
      std::vector<Picoseconds>& times = waits[r.rank];
      std::sort(times.begin(), times.end());
      const Picoseconds middle = times.empty() ? 0 : times[(times.size() - 1) / 2];
      for (const Picoseconds time : times)
        r.loader = add_saturated(r.loader, r.names_loader ? time : std::min(time, 2 * middle));
    }
  }

  void read_gaps() {
    struct Stream {
      int64_t gaps = 0, row = 0;
      Picoseconds wait = 0, time = 0;
    };
    std::map<int64_t, std::map<std::pair<int64_t, int64_t>, Stream>> streams;
    for_each_row(tables_, "idle_causes", [&](const SourceRow& row) {
      rank(row).device = true;
      Stream& stream = streams[row.whole("rank")][{row.whole("device"), row.whole("stream")}];
      stream.gaps += row.whole("gaps");
      stream.time = add_saturated(stream.time, row.whole("time_ps"));
      const bool waits = row.text("cause") == "host wait";
      const Picoseconds late = row.whole(waits ? "time_ps" : "launching_ps");
      if (waits || stream.wait == 0) stream.row = row.index();
      stream.wait = add_saturated(stream.wait, late);
    });
    for (Rank& r : n_.ranks) {
      const Stream* most = nullptr;
      for (const auto& [place, stream] : streams[r.rank])
        if (!most || stream.gaps > most->gaps) most = &stream;
      if (most) r.host_wait = most->wait, r.gaps = most->time, r.idle_row = most->row;
    }
  }

  void read_allocations() {
    std::map<int64_t, Picoseconds> longest;
    for_each_row(tables_, "critical_path_nodes", [&](const SourceRow& row) {
      if (row.text("bound") != "host" ||
          std::find(kAllocators.begin(), kAllocators.end(), row.text("name")) == kAllocators.end())
        return;
      Rank& r = rank(row);
      const Picoseconds time = row.whole("time_ps");
      r.allocates = add_saturated(r.allocates, time);
      if (time <= longest[r.rank]) return;
      longest[r.rank] = time;
      r.allocates_row = row.index();
    });
    for_each_row(tables_, "memory", [&](const SourceRow& row) {
      n_.peaks.push_back({row.whole("rank"), row.text("device"), row.text("with"), row.whole("peak_bytes")});
    });
  }

  void read_communication() {
    for_each_row(tables_, "stragglers", [&](const SourceRow& row) {
      n_.waited.push_back({row.whole("rank"), row.whole("waited_for_ps"), row.index()});
    });
    for_each_row(tables_, "collectives", [&](const SourceRow& row) {
      n_.transfers.push_back({row.text("type"), row.text("group"), row.whole("size_bytes"), row.whole("members"),
                              row.whole("count"), row.whole("waiting_ps"), row.whole("transfer_ps"), row.index()});
    });
    for_each_row(tables_, "uneven_waits", [&](const SourceRow& row) {
      n_.uneven.push_back(
          {row.text("group"), row.whole("rank"), row.whole("members"), row.whole("late_ps"), row.index()});
    });
    for_each_row(tables_, "message_waits", [&](const SourceRow& row) {
      n_.message_waits.push_back({row.whole("rank"), row.whole("waiting_ps"), row.index()});
    });
    for_each_row(tables_, "message_transfers", [&](const SourceRow& row) {
      n_.messages.push_back({row.whole("from"), row.whole("to"), row.whole("size_bytes"), row.whole("count"),
                             row.whole("time_ps"), row.index()});
    });
  }

  void read_sizes() {
    for_each_row(tables_, "imbalance", [&](const SourceRow& row) {
      n_.loads.push_back({row.text("type"), row.text("group"), row.whole("most_on_rank"), row.whole("members"), 1,
                          row.real("worst_largest_mean"), row.index()});
      Numbers::Load& load = n_.loads.back();
      for_each_row(tables_, "imbalance_ranks", [&](const SourceRow& of) {
        if (of.whole("rank") == load.rank && of.text("type") == load.type && of.text("group") == load.group &&
            of.text("bytes") == row.text("bytes"))
          load.ratio = of.real("share") * static_cast<double>(row.whole("members"));
      });
      // Every other all-to-all of experts is even in the bytes that a rank sends, or in those that it receives.
      if (const int64_t uneven = row.whole("unbalanced"); uneven > 0)
        load.ratio = 1 + (load.ratio - 1) * static_cast<double>(row.whole("collectives")) / static_cast<double>(uneven);
    });
  }

  const std::vector<NamedTable>& tables_;
  Numbers n_;
  std::map<int64_t, size_t> rank_at_;
  std::map<int64_t, Picoseconds> in_steps_;  ///< sum of the lengths of steps
};

constexpr std::array<std::string_view, 8> kSources{"critical_path", "time",      "imbalance", "memory",
                                                   "stragglers",    "bandwidth", "idle",      "steps"};

}  // namespace

constinit const std::span<const std::string_view> kDiagnosisSources = kSources;

DiagnosisNumbers numbers_of(const std::vector<NamedTable>& tables) { return Reader(tables).run(); }

}  // namespace chakra::analyze
