// Linking one rank, step by step.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "chakra/json/json.h"
#include "chakra/link/linking.h"
#include "chakra/link/loss.h"

namespace chakra::pytorch {
namespace {

/// What was asked for, else what the files or their names say, else what was recorded, else 0.
int64_t rank_of(const RankInput& input, const LinkOptions& options, int64_t recorded) {
  if (options.rank) return *options.rank;
  return input.rank_known ? input.rank : std::max<int64_t>(recorded, 0);
}

void report_salvage(Linking& l, const Salvage& salvage) {
  l.report.left_out += salvage.left_out;
  if (salvage.left_out > 0)
    l.find(
        "pytorch.salvaged", Severity::warning,
        fmt::format("{} records were left out; the first: {}", show_count(salvage.left_out), salvage.first->message()));
}

/// Fields are found by name, so another version may do; but the reader of the report should know.
void report_schema(Linking& l) {
  if (std::find(kHostSchemas.begin(), kHostSchemas.end(), l.host.schema) == kHostSchemas.end())
    l.find("pytorch.host.schema", Severity::note,
           fmt::format("the schema {} of the host trace is not known here; it was read by the names of its fields",
                       quote(l.host.schema)));
}

/// What the observer left open when it stopped.
void report_open(Linking& l, bool damaged) {
  const HostTrace::Open& open = l.host.open;
  if (open.nodes > 0)
    l.find("pytorch.host.open_parent", Severity::warning,
           fmt::format("{} nodes of the host trace hang on the root of their thread, because {} not in the file ({} "
                       "first){}",
                       show_count(open.nodes),
                       open.parents == 1 ? std::string("their parent is")
                                         : fmt::format("their {} parents are", show_count(open.parents)),
                       open.first,
                       damaged || open.damaged
                           ? ""
                           : ": what has not ended when the observer stops is not written; stop it when the "
                             "step has ended"));
}

Result<void> read_host(Linking& l, ByteSource source) {
  Salvage salvage;
  CHAKRA_ASSIGN(l.host, name_salvage(read_host_trace(std::move(source), *l.strings, *l.texts,
                                                     l.options.salvage ? &salvage : nullptr)));
  report_salvage(l, salvage);
  report_schema(l);
  report_open(l, salvage.left_out > 0);
  l.has_host = true;
  if (l.host.op_count > 0) return {};
  return fail(Code::bad_input, "pytorch.host.nothing",
              "the host trace holds no operators: its observer did not run while the program did; start() it, or hand "
              "it to profile() as execution_trace_observer; a Kineto trace alone can be linked, too",
              {l.host.file});
}

Result<void> read_device(Linking& l, ByteSource source) {
  Salvage salvage;
  CHAKRA_ASSIGN(l.kineto, name_salvage(read_kineto(std::move(source), *l.strings, *l.texts,
                                                   l.options.salvage ? &salvage : nullptr)));
  report_salvage(l, salvage);
  if (l.kineto.unknown.count > 0)
    l.find("pytorch.kineto.category", Severity::warning,
           fmt::format("{} device operations are of kinds not known here, {} first; they count as computation",
                       show_count(l.kineto.unknown.count), quote(l.kineto.unknown.category)));
  if (l.kineto.begin_end > 0)
    l.find("pytorch.kineto.begin_end", Severity::warning,
           fmt::format("{} records of separate beginnings and ends (\"ph\" B and E) were left out",
                       show_count(l.kineto.begin_end)));
  return {};
}

Result<void> check_ranks(const Linking& l, const RankInput& input) {
  if (l.options.rank) return {};
  if (input.rank_known && l.kineto.rank >= 0 && l.kineto.rank != input.rank)
    return fail(Code::bad_input, "pytorch.pair.rank",
                fmt::format("the trace is of rank {}, its name or its mate of rank {}", l.kineto.rank, input.rank),
                {input.device});
  const int64_t device_rank = l.kineto.rank >= 0 ? l.kineto.rank : input.rank_known ? input.rank : -1;
  if (l.host.rank >= 0 && device_rank >= 0 && l.host.rank != device_rank)
    return fail(
        Code::bad_input, "pytorch.pair.rank",
        fmt::format("the communication in the host trace is rank {}'s, the Kineto trace is of rank {}; --rank N "
                    "links them all the same",
                    l.host.rank, device_rank),
        {input.host});
  return {};
}

/// Everything between reading and assembling.
Result<void> link_records(Linking& l) {
  CHAKRA_TRY(keep_steps(l));
  CHAKRA_TRY(match_host_ops(l));
  CHAKRA_TRY(set_zero(l));
  find_host_comms(l);
  attach_device_ops(l);
  report_loss(l);
  ask_callers(l);
  find_comm_groups(l);
  derive_work(l);
  find_messages(l);
  find_waits(l);
  estimate_constants(l);
  build_chains(l);
  find_host_spins(l);
  add_device_edges(l);
  find_comm_waits(l);
  find_host_waits(l);
  return {};
}

}  // namespace

Result<Linked> link(const RankInput& input, const LinkOptions& options) {
  std::optional<ByteSource> host, device;
  if (!input.host.empty()) {
    CHAKRA_ASSIGN(host, ByteSource::open(input.host));
  }
  if (!input.device.empty()) {
    CHAKRA_ASSIGN(device, ByteSource::open(input.device));
  }
  return link(std::move(host), std::move(device), input, options);
}

Result<Linked> link(std::optional<ByteSource> host, std::optional<ByteSource> device, const RankInput& input,
                    const LinkOptions& options) {
  if (!device && (options.steps || options.fit_steps || options.iteration))
    return fail(Code::bad_input, options.iteration ? "pytorch.scope.iteration" : "pytorch.scope.steps",
                "a host trace alone says nothing about steps or iterations", {input.host});
  if (!host && options.iteration)
    return fail(Code::bad_input, "pytorch.scope.iteration",
                "a Kineto trace alone is linked as it is; --steps chooses from it", {input.device});
  trace::Builder builder;  // its trace owns all names and texts
  Linking l;
  l.options = options;
  l.strings = &builder.trace.strings;
  l.texts = &builder.trace.texts;

  if (host) CHAKRA_TRY(read_host(l, std::move(*host)));
  if (device) {
    CHAKRA_TRY(read_device(l, std::move(*device)));
    CHAKRA_TRY(check_ranks(l, input));
    l.rank = rank_of(input, options, l.kineto.rank);
    CHAKRA_TRY(link_records(l));
  } else {
    l.rank = rank_of(input, options, l.host.rank);
    find_host_comms(l);
    find_comm_groups(l);
    chain_host_ops(l);
    report_loss(l);
    derive_host_work(l);
  }
  trace::Trace trace = assemble(l, builder, l.rank);
  for (Finding& finding : l.report.findings) finding.rank = l.rank;
  return Linked{std::move(trace), std::move(l.report)};
}

}  // namespace chakra::pytorch
