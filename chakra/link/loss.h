// What `--salvage` is for: which errors it gets over, and how much of the recording is missing then.
#pragma once

#include <utility>

#include "chakra/link/linking.h"

namespace chakra::pytorch {

/// The error, and what to do about it, where it is one of damaged records.
Error name_salvage(Error error);
template <class T>
Result<T> name_salvage(Result<T> result) {
  if (!result) return tl::unexpected<Error>(name_salvage(std::move(result.error())));
  return result;
}

/// pytorch.salvage.missing: where records were left out, how much of the operations and of the recorded time is
/// missing, as far as the rest tells. Requires the steps up to attach_device_ops.
void report_loss(Linking& l);

}  // namespace chakra::pytorch
