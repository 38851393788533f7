// Code that was written against the peer's C++ feeder (mlcommons/chakra, src/feeder) compiles and links against
// these headers, which have its file names, namespace, classes and behaviour: et_feeder.h, et_feeder_node.h and the
// generated et_def.pb.h. FeederV3 is in chakra/compat/include/feeder_v3/et_feeder.h, which names Chakra::ETFeeder, too.
// New code uses feed::StreamFeeder (chakra/feed/feed.h); docs/feeding.md compares them.
// This is the one room that throws across its border, for that is how the peer reports: std::out_of_range for an id
// that is not there, std::runtime_error with our message and tag for what is wrong with a file.
#pragma once

#include "chakra/compat/include/et_feeder.h"       // IWYU pragma: export
#include "chakra/compat/include/et_feeder_node.h"  // IWYU pragma: export
