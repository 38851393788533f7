// Frames that contain a list, written by the server and read by ranks. Inside replay.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

#include "chakra/replay/rendezvous.h"
#include "chakra/replay/wire.h"

namespace chakra::replay {

inline constexpr int64_t kWireVersion = 2;  ///< of the hello frame; ranks of other versions are rejected

/// Return the time limit for an answer: a silent rank counts as unable to answer.
inline std::chrono::milliseconds answers_within(std::chrono::milliseconds timeout) {
  return std::clamp<std::chrono::milliseconds>(timeout / 2, std::chrono::seconds(1), std::chrono::seconds(5));
}

inline void write_brought(BodyWriter& out, const std::map<int64_t, std::string>& brought) {
  out.number(static_cast<int64_t>(brought.size()));
  for (const auto& [rank, what] : brought) out.number(rank).text(what);
}
inline void read_brought(BodyReader& in, Met& met) {
  for (int64_t left = in.number(); left > 0 && in.ok(); --left) {
    met.ranks.push_back(in.number());
    met.brought.emplace_back(in.text());
  }
}

}  // namespace chakra::replay
