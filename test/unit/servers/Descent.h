// A job of hand-written plans: gradient descent of one vector.
#ifndef EPL_TEST_UNIT_SERVERS_DESCENT_H
#define EPL_TEST_UNIT_SERVERS_DESCENT_H

#include "runtime/servers/model/Manifest.h"
#include "runtime/session/State.h"

#include <memory>

namespace epl::runtime::servers::test {

/// w -= g / 2 for a vector w of f32, with a count of updates. With `backup` w_bak is taken in the place of g,
/// so that a test sees it come. With `rate` a number that is pushed, too, takes the place of 1/2.
std::vector<uint8_t> descentPlan(int64_t size, bool backup = false, bool rate = false);

/// How the vector is dealt out.
struct Descent {
  int64_t size, blockSize;
  uint32_t servers = 1, workers = 1;
  manifest::Mode mode = manifest::Mode::async;
  bool rate = false; ///< as descentPlan has it
};

/// A job whose one parameter is "w", with a state "n" of each block, its count. Blocks are dealt out in turn;
/// plan 0 is of those of the block size, plan 1 of a smaller last one.
std::shared_ptr<manifest::ManifestT> descentManifest(const Descent &descent);

HostTensor floats(const std::vector<float> &values);

} // namespace epl::runtime::servers::test

#endif // EPL_TEST_UNIT_SERVERS_DESCENT_H
