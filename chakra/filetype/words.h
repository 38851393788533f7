// The words by which rules tell JSON texts apart, all found in one pass over a file's head.
#pragma once

#include <cstdint>
#include <string_view>

namespace chakra::filetype {

/// Keys, and values of keys, that follow a quotation mark. `kWords` in words.cpp has their texts.
enum class Word : uint8_t {
  trace_events,
  kineto,  ///< a key that Kineto alone writes
  schema,
  record_function_id,  ///< of a node of a host trace
  flight,              ///< a key of a flight recorder's dump
  no_flight,           ///< a key that no such dump has
  xla,                 ///< a process or an argument of XLA's
  nccl_category,       ///< the category of an event of NCCL's profiler
  async_phase,
  devices,
  instances,
  infragraph_part
};

struct Words {
  bool is_object = false;  ///< the text begins as a JSON object with a member does
  uint32_t found = 0;      ///< a bit per word
  bool has(Word word) const { return (found >> static_cast<unsigned>(word) & 1u) != 0; }
};

/// The words of a text that begins as a JSON object or list does; none of any other. O(bytes).
Words words_of(std::string_view head);

}  // namespace chakra::filetype
