// Judges a shared copy of a job against the original: attacks, each also on the original, and figures of fidelity. The
// pieces know traces and bytes; room job reads the files and makes the certificate.
#pragma once

#include "chakra/certify/attacks.h"   // IWYU pragma: export
#include "chakra/certify/fidelity.h"  // IWYU pragma: export
#include "chakra/certify/names.h"     // IWYU pragma: export
#include "chakra/certify/networks.h"  // IWYU pragma: export
#include "chakra/certify/profile.h"   // IWYU pragma: export
