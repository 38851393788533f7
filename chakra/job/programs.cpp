#include "chakra/job/programs.h"

namespace chakra::job {
namespace {

using answer::column;
using answer::Missing;
using answer::rows;
using answer::Unit;
using xla::CollectiveCount;
using xla::ProgramReport;

template <uint64_t xla::Memory::*Member>
constexpr auto memory(std::string_view key, std::string_view meaning) {
  return column_if<ProgramReport>([](const ProgramReport& p) { return p.memory.known; }, key, Unit::bytes, meaning,
                                  [](const ProgramReport& p) { return p.memory.*Member; }, Missing::null);
}
constexpr auto kHasRuns = [](const ProgramReport& p) { return p.runs > 0; };
constexpr std::array kPrograms{
    column<&ProgramReport::name>("name", Unit::none, "the module"),
    column<&ProgramReport::id>("id", Unit::id, "its number"),
    column<&ProgramReport::devices>("devices", Unit::count, "devices, one trace each"),
    column<&ProgramReport::instructions>("instructions", Unit::count, "instructions of all its computations"),
    column_if<ProgramReport>(
        kHasRuns, "runs", Unit::count, "executions of the program in the profile",
        [](const ProgramReport& p) { return p.runs; }, Missing::null),
    column_if<ProgramReport>(
        kHasRuns, "events", Unit::count, "executed instructions, of all runs and devices",
        [](const ProgramReport& p) { return p.events; }, Missing::null),
    column<&ProgramReport::flops_once>("flops_once", Unit::flop,
                                       "FLOPs of a device, bodies of loops counted once, as XLA's cost analysis"),
    column<&ProgramReport::bytes_once>("bytes_once", Unit::bytes, "the same for bytes read and written"),
    column<&ProgramReport::flops>("flops", Unit::flop,
                                  "FLOPs of the first device and its first run, with all iterations of loops"),
    column<&ProgramReport::bytes>("bytes", Unit::bytes, "the same for bytes read and written"),
    memory<&xla::Memory::peak>("memory.peak", "the most memory of a device, by the compiler's buffer assignment"),
    memory<&xla::Memory::live>("memory.live", "of that, intermediate values that are alive together"),
    memory<&xla::Memory::allocated>("memory.allocated", "all buffers that are not private to a thread"),
    memory<&xla::Memory::arguments>("memory.arguments", "arguments of the program"),
    memory<&xla::Memory::outputs>("memory.outputs", "results of the program"),
    memory<&xla::Memory::constants>("memory.constants", "constants"),
    memory<&xla::Memory::temporary>("memory.temporary", "buffers for intermediate values"),
    rows<ProgramReport>("collectives", "instructions that communicate, by opcode")};
constexpr std::array kCollectives{
    column<&CollectiveCount::opcode>("opcode", Unit::none, "the opcode"),
    column<&CollectiveCount::instructions>("instructions", Unit::count, "instructions in the program"),
    column<&CollectiveCount::executions>("executions", Unit::count, "executions, of all devices and runs")};

}  // namespace

void add_programs(const std::vector<ProgramReport>& programs, answer::Builder& to) {
  to.table("programs", "programs of XLA", programs, kPrograms, !programs.empty());
  to.children(
      "programs", "collectives", programs, [](const ProgramReport& p) -> const auto& { return p.collectives; },
      kCollectives);
}

}  // namespace chakra::job
