// The tiers of storage of a system file: its keys 'tiers' and 'tier-of'. Inside device.
#pragma once

#include "chakra/device/device.h"

namespace chakra::device {

/// Fill System::tiers and System::tier_of. Errors: sim.system.key, sim.system.value, base.spec.type.
Result<void> read_tiers(const Spec& file, System& system);

}  // namespace chakra::device
