// The library: what the command does, as calls (chakra/job), and what these stand on.
#pragma once

#include "chakra/feed/feed.h"
#include "chakra/gen/gen.h"
#include "chakra/io/io.h"
#include "chakra/job/job.h"
