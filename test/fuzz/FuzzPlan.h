// What both fuzz targets do with the bytes of a plan file: everything that a process does before it runs one.

#ifndef EPL_TEST_FUZZ_FUZZPLAN_H
#define EPL_TEST_FUZZ_FUZZPLAN_H

#include <cstdint>
#include <span>

namespace epl::runtime::test {

/// Reads, dumps, verifies and, if the plan is valid, loads it. Errors of the library are an answer; anything
/// else ends the process. A plan that is read must come back the same from its own bytes.
void tryPlan(std::span<const uint8_t> bytes);

} // namespace epl::runtime::test

#endif // EPL_TEST_FUZZ_FUZZPLAN_H
