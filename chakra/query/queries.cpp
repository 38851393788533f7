// Ready queries. Times are picoseconds and sizes bytes, by the endings _ps and bytes of their columns.
#include <array>

#include "chakra/query/tables.h"

namespace chakra::query {
namespace {

constexpr std::array kCount{ParameterRow{"count", "20", "maximum number of rows"}};

constexpr QueryRow kQueryRows[] = {
    {"bandwidth", "bandwidth of measured collectives by type, group and size; rates in bytes/s",
     R"(select type, "group" as group_name, size_bytes, members, count, time_ps, algorithm, bus, time_is
from analyze_bandwidth order by time_ps desc)"},
    {"breakdown", "time of each rank by running work or cause of idle time: ps, and share of the rank's time",
     R"(select rank, what_runs, time_ps, share from analyze_time order by rank, time_ps desc)"},
    {"busy", "busy and idle time of each device from the first start to the last end: ps, and busy / span",
     R"(select rank, device, span_ps, busy_ps, idle_ps, busy_share from analyze_device_time order by rank, device)"},
    {"collectives", "number and bytes of collectives by group and type",
     R"(select group_name, type, max(members) as members, count(*) as count, sum(bytes) as bytes,
  min(bytes) as least_bytes, max(bytes) as most_bytes
from collectives group by group_name, type order by 5 desc, 1, 2)"},
    {"copies", "copies of memory by direction: bytes, ps, and bandwidth in bytes/s",
     R"(select direction, sum(count) as count, sum(bytes) as bytes, sum(time_ps) as time_ps,
  sum(bytes) * 1e12 / nullif(sum(time_ps), 0) as bandwidth
from analyze_copies group by direction order by 4 desc, 1)"},
    {"critical_path", "bottlenecks on the critical path of each rank: pieces, ps, and share of the path",
     R"(select rank, bound, pieces, time_ps, share from analyze_critical_path_bounds order by rank, time_ps desc)"},
    {"edges", "number and lags (ps) of dependencies by kind; inferred: by a rule instead of a record",
     R"(select dependency, kind, count(*) as count, sum(inferred) as inferred, sum(lag_ps) as lag_ps
from edges group by dependency, kind order by 3 desc, 1, 2)"},
    {"exposed", "communication without concurrent computation by type and group, over all ranks: ps",
     R"(select type, "group" as group_name, sum(time_ps) as exposed_ps, count(*) as ranks
from analyze_exposed group by type, "group" order by 3 desc, 1, 2)"},
    {"fan_in", "nodes that wait for most other nodes: number of data dependencies",
     R"(select e.rank, e.node, n.name, e.dependencies
from (select rank, node, count(*) as dependencies from edges where dependency = 'data'
  group by rank, node order by 3 desc, 1, 2 limit :count) as e
join nodes as n on n.rank = e.rank and n.id = e.node order by 4 desc, 1, 2)",
     kCount},
    {"gaps", "longest idle times between two operations of a stream: ps, and the operation after the gap",
     R"(select rank, device, stream, start_ps - end_ps as gap_ps, id, name
from (select rank, device, stream, id, name, start_ps,
    max(start_ps + coalesce(dur_ps, 0)) over (partition by rank, device, stream order by start_ps, id
      rows between unbounded preceding and 1 preceding) as end_ps
  from nodes where stream is not null and start_ps is not null)
where start_ps > end_ps order by 4 desc, 1, 5 limit :count)",
     kCount},
    {"idle", "idle time of streams between operations by cause: gaps, ps, and share of the stream's gaps",
     R"(select rank, device, stream, cause, gaps, time_ps, share from analyze_idle_causes order by 1, 2, 3, 6 desc)"},
    {"kernel_kinds", "busy time of devices by the kinds of kernels that run at the same time: ps and share",
     R"(select rank, device, kind, time_ps, share from analyze_kernel_kinds order by 1, 2, 4 desc)"},
    {"kernels", "kernels, copies and memsets with most time, over all ranks: number, sum, mean and longest in ps",
     R"(select name, kind, sum(count) as count, sum(sum_ps) as sum_ps, sum(sum_ps) / sum(count) as mean_ps,
  max(max_ps) as longest_ps
from analyze_kernels group by name, kind order by 4 desc, 1 limit :count)",
     kCount},
    {"launches", "launching calls: short and slow calls, late operations, mean delay in ps",
     R"(select rank, call, launches, call_mean_ps, operation_mean_ps, delay_mean_ps, short, slow_calls, late
from analyze_launches order by rank, launches desc)"},
    {"longest", "nodes with the longest duration: ps",
     R"(select rank, id, name, type, dur_ps from nodes where dur_ps is not null order by dur_ps desc, rank, id
limit :count)",
     kCount},
    {"overlap", "overlap of communication and computation on each rank: ps, and overlapped / communication",
     R"(select rank, communication_ps, overlapped_ps, exposed_ps, overlap from analyze_overlap order by rank)"},
    {"queues", "launched operations that wait on each stream: mean, median and largest queue length",
     R"(select rank, device, stream, mean, p50, max, full_ps from analyze_queue_lengths order by 1, 2, 3)"},
    {"ranks", "nodes and dependencies of each rank, and its time from the first start to the last end in ps",
     R"(select r.rank, r.nodes, r.edges, max(n.start_ps + coalesce(n.dur_ps, 0)) - min(n.start_ps) as span_ps
from ranks as r left join nodes as n on n.rank = r.rank group by r.rank order by r.rank)"},
    {"sequences", "sequences of kernels that an operator launches repeatedly: device and host time in ps",
     R"(select operator, operations, sum(count) as count, sum(device_ps) as device_ps, sum(host_ps) as host_ps, sequence
from analyze_sequences group by operator, operations, sequence order by 4 desc, 1 limit :count)",
     kCount},
    {"stragglers", "ranks that others waited for: collectives to which the rank came last, and waits in ps",
     R"(select rank, came_last_to, waited_for_ps from analyze_stragglers order by waited_for_ps desc, rank)"},
    {"streams", "operations of each stream: number, and sum of durations in ps (they may overlap)",
     R"(select rank, device, stream, count(*) as operations, sum(dur_ps) as time_ps
from nodes where stream is not null group by rank, device, stream order by 1, 2, 3)"},
    {"traffic", "messages and their bytes by sender and receiver",
     R"(select src, dst, count(*) as messages, sum(bytes) as bytes from messages group by src, dst order by 1, 2)"},
    {"types", "nodes of the job by type: number, sum of durations in ps, bytes of communication",
     R"(select type, count(*) as nodes, sum(dur_ps) as time_ps, sum(comm_bytes) as comm_bytes
from nodes group by type order by 2 desc, 1)"},
};

}  // namespace

constinit const std::span<const QueryRow> kQueries = kQueryRows;

}  // namespace chakra::query
