// A job of a hand-written plan: gradient descent of the rows of a table.
#ifndef EPL_TEST_UNIT_SERVERS_ROWDESCENT_H
#define EPL_TEST_UNIT_SERVERS_ROWDESCENT_H

#include "runtime/servers/model/Manifest.h"
#include "runtime/session/State.h"

#include <map>
#include <memory>

namespace epl::runtime::servers::test {

/// w -= g / 2 for rows of f32, each with a count of its updates.
std::vector<uint8_t> rowDescentPlan(int64_t dim);

struct RowDescent {
  int64_t dim = 4;
  uint32_t servers = 1, workers = 1;
  manifest::Mode mode = manifest::Mode::sync;
};

/// A job whose one table is "user", of f32, with a slot "n", and plan 0. Rows begin with 100, their count
/// with 0.
std::shared_ptr<manifest::ManifestT> rowDescentManifest(const RowDescent &descent);

/// Rows by id as a push of a part.
HostTensor rowsPush(const std::map<int64_t, std::vector<float>> &rows, int64_t dim);

} // namespace epl::runtime::servers::test

#endif // EPL_TEST_UNIT_SERVERS_ROWDESCENT_H
