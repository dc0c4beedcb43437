// Any bytes as a plan file: the frame, the hash, and what lies before them.

#include "test/fuzz/FuzzPlan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  epl::runtime::test::tryPlan({data, size});
  return 0;
}
