// `chakra doctor`: diagnose this installation, or files of recordings and traces, and recommend the next commands.
#pragma once

#include "chakra/doctor/examine.h"       // IWYU pragma: export
#include "chakra/doctor/installation.h"  // IWYU pragma: export
