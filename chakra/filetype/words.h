// The words that distinguish JSON texts, all found in one pass over a file's head.
#pragma once

#include <cstdint>
#include <string_view>

namespace chakra::filetype {

/// Keys, and values of keys, that follow a quotation mark. `kWords` in words.cpp contains the texts.
enum class Word : uint8_t {
  trace_events,
  kineto,  ///< a key that only Kineto writes
  schema,
  record_function_id,  ///< of a node of a host trace
  flight,              ///< a key of a flight recorder's dump
  no_flight,           ///< a key that never occurs in such a dump
  xla,                 ///< a process or an argument of XLA's
  nccl_category,       ///< the category of an event of NCCL's profiler
  async_phase,
  devices,
  instances,
  infragraph_part
};

struct Words {
  bool is_object = false;  ///< the text begins like a JSON object with a member
  uint32_t found = 0;      ///< a bit per word
  bool has(Word word) const { return (found >> static_cast<unsigned>(word) & 1u) != 0; }
};

/// Return the words of a text that begins like a JSON object or list; empty for other texts. O(bytes).
Words words_of(std::string_view head);

}  // namespace chakra::filetype
