// A kernel image with the one kernel EPL_ENTRY.

#include <cstdint>

extern "C" void EPL_ENTRY(void *const *, const int64_t *, int64_t, int64_t) {}
