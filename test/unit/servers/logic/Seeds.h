// The seeds of simulated runs.

#ifndef EPL_TEST_UNIT_SERVERS_LOGIC_SEEDS_H
#define EPL_TEST_UNIT_SERVERS_LOGIC_SEEDS_H

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>

namespace epl::runtime::servers::test {

inline uint64_t numberFrom(const char *variable, uint64_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// Runs EPL_SIMULATIONS seeds, 500 if it is not set, up to the first that fails; or EPL_SIMULATION alone.
inline void forEachSeed(const std::function<void(uint64_t seed)> &run) {
  if (std::getenv("EPL_SIMULATION"))
    return run(numberFrom("EPL_SIMULATION", 0));
  for (uint64_t seed = 0, count = numberFrom("EPL_SIMULATIONS", 500); seed < count; ++seed) {
    run(seed);
    if (::testing::Test::HasFailure())
      break;
  }
}

} // namespace epl::runtime::servers::test

#endif // EPL_TEST_UNIT_SERVERS_LOGIC_SEEDS_H
