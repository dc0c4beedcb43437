// Gradients that are no finite numbers, found before they leave their worker.
#ifndef EPL_RUNTIME_SERVERS_DRIVE_FINITECHECK_H
#define EPL_RUNTIME_SERVERS_DRIVE_FINITECHECK_H

#include "runtime/servers/drive/RowPulls.h"

namespace epl::runtime::servers {

/// Throws Error if what is pushed for a parameter of the job has an element that is not finite: the
/// parameter, the value, and where it is.
void checkFinite(const Job &job, uint32_t parameter, const std::vector<HostTensor> &pushes);

/// The same of what is pushed for tables, with an id that has such a gradient. Gradients of padding, which
/// nobody gets, may be anything.
void checkFinite(const Job &job, std::span<const RowGradients> rows);

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_DRIVE_FINITECHECK_H
