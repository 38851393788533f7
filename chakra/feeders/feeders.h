// Code for the C++ feeder of mlcommons/chakra (src/feeder) compiles and links against these headers, which
// have the same file names, namespace, classes and behaviour: et_feeder.h, et_feeder_node.h and the
// generated et_def.pb.h. FeederV3 is in chakra/feeders/include/feeder_v3/et_feeder.h, which also declares
// Chakra::ETFeeder. New code should use feed::StreamFeeder (chakra/feed/feed.h); docs/reference/feeding.md
// compares both. Only this room throws across its border, as mlcommons/chakra does: std::out_of_range for
// an unknown id, std::runtime_error with our message and tag for an error with a file.
#pragma once

#include "chakra/feeders/include/et_feeder.h"       // IWYU pragma: export
#include "chakra/feeders/include/et_feeder_node.h"  // IWYU pragma: export
