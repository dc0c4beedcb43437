// Manifests as placement makes them, for tests.

#ifndef EPL_TEST_UNIT_SERVERS_MANIFESTS_H
#define EPL_TEST_UNIT_SERVERS_MANIFESTS_H

#include "runtime/servers/model/Manifest.h"

#include <string>
#include <vector>

namespace epl::runtime::servers::test {

/// A parameter of a job.
struct Variable {
  std::string name;
  std::vector<int64_t> shape;
  bool sliced = true; ///< whether it may be cut
};

/// How parameters are cut and dealt out.
struct SliceOptions {
  uint32_t servers = 1;
  uint64_t minBlockSize = 8192; ///< in elements
};

/// A valid manifest of f32 variables, each with a state `NAME.moment` and a push that are sliced as it is and
/// a scalar `count`, dealt out by RoundRobin.
manifest::ManifestT makeManifest(const std::vector<Variable> &variables, const SliceOptions &options,
                                 manifest::Mode mode = manifest::Mode::sync, uint32_t workers = 2);

/// Has workers push a number beside each gradient.
void addNumber(manifest::ManifestT &manifest, plan::ElementType type = plan::ElementType::f32);

/// Adds a table of f32 with a slot `moment` like a row and a scalar `count`, and a plan that updates it.
void addTable(manifest::ManifestT &manifest, const std::string &name, uint64_t dim);

} // namespace epl::runtime::servers::test

#endif // EPL_TEST_UNIT_SERVERS_MANIFESTS_H
