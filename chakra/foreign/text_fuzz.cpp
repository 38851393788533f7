#include "chakra/foreign/testing/form_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return chakra::foreign::testing::fuzz_form("text", data, size);
}
