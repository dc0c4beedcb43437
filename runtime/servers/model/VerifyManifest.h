// The verifier of manifests. It trusts nobody who made one.

#ifndef EPL_RUNTIME_SERVERS_MODEL_VERIFYMANIFEST_H
#define EPL_RUNTIME_SERVERS_MODEL_VERIFYMANIFEST_H

#include "runtime/servers/model/manifest_generated.h"

#include <string>
#include <vector>

namespace epl::runtime::servers {

/// Workers, and servers, of one job.
inline constexpr uint32_t maxProcesses = 4096;

/// Every rule that a manifest breaks, as one message each; none for a good one. That its plans fit to it is
/// known when these are there.
std::vector<std::string> faultsOf(const manifest::ManifestT &manifest);

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_MODEL_VERIFYMANIFEST_H
