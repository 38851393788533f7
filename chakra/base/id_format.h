// Ids in texts: for sources that format one with fmt, which public headers do not include.
#pragma once

#include <fmt/core.h>

#include "chakra/base/id.h"

template <class Tag>
struct fmt::formatter<chakra::Id<Tag>> : fmt::formatter<uint32_t> {
  template <class Context>
  auto format(chakra::Id<Tag> id, Context& context) const {
    return fmt::formatter<uint32_t>::format(id, context);
  }
};
