// Times on other devices before a change.
#include "chakra/sim/sim.h"
#include "chakra/whatif/whatif.h"

namespace chakra::whatif {

/// Gives nodes their times on the devices of the system now: rules change these times, not the measured ones.
Result<std::vector<sim::ScaledTime>> bring_to_devices(sim::SimInput& input, Findings& findings) {
  input.system.use_roofline();
  if (!input.system.target && input.system.devices.empty()) return std::vector<sim::ScaledTime>();
  trace::ClassJob classes = trace::by_class(std::move(input.job));
  CHAKRA_ASSIGN(std::vector<sim::ScaledTime> rows, sim::retarget(classes, input.system, findings));
  input.memory_use.reset();
  if (std::vector<sim::MemoryUse> uses = sim::memory_uses(classes, input.system); !uses.empty())
    input.memory_use = std::move(uses.front());
  input.job = trace::expand(classes);
  input.matching.reset();
  input.system.roofline = false;
  input.system.target.reset();
  input.system.devices.clear();
  for (auto& [rank, traits] : input.system.unlike) traits.device = -1;
  return rows;
}

}  // namespace chakra::whatif
