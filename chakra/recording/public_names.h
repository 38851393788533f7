// The names and words that PyTorch itself uses. They are the same in every recording, so they reveal no user, machine
// or model. A list of what is allowed: every other text may be a secret. Used by `chakra obfuscate`, which
// hides all other texts, and by secrets.h, which lists them.
#pragma once

#include <string_view>

namespace chakra::recording {

/// Return whether the whole text is such a name:
///   - of an operator, an autograd node, a call of a runtime, or a step of the profiler
///   - of a copy, or a kernel of NCCL or RCCL
///   - a kind of kernel with its sizes, a hidden name, or a device such as "cuda:0"
///   - a member or a word of the formats
bool is_public_name(std::string_view text);
/// Return whether the text is such a name or a number: a word of a list.
bool is_public_word(std::string_view text);

}  // namespace chakra::recording
