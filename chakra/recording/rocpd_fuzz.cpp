// Any bytes as a database of rocprofv3.
#include <cstddef>
#include <cstdint>

#include "chakra/recording/rocpd.h"
#include "chakra/recording/testing/databases.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra::recording;
  testing::fuzz_database({reinterpret_cast<const char*>(data), size}, survey_rocpd, read_rocpd);
  return 0;
}
