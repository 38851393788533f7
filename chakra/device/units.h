// The units in which data sheets and device files give rates and sizes.
#pragma once

namespace chakra::device {

inline constexpr double kTera = 1e12, kGiga = 1e9, kMicro = 1e-6, kNano = 1e-9;

}  // namespace chakra::device
