// Any bytes as an export of Nsight Systems.
#include <cstddef>
#include <cstdint>

#include "chakra/recording/nsys.h"
#include "chakra/recording/testing/databases.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace chakra::recording;
  testing::fuzz_database({reinterpret_cast<const char*>(data), size}, survey_nsys, read_nsys);
  return 0;
}
