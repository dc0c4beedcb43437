// Messages over MPI.
#ifndef EPL_RUNTIME_COLLECTIVE_MPI_MPITRANSPORT_H
#define EPL_RUNTIME_COLLECTIVE_MPI_MPITRANSPORT_H

#include "runtime/collective/Transport.h"

#include <mutex>

namespace epl::runtime {

/// One thread at a time calls MPI, and waits for no other process meanwhile.
std::mutex &mpiMutex();

/// From here on no transport calls MPI.
void endMessages();

/// Throws Error if a call of MPI has not given MPI_SUCCESS.
void requireMpi(int code, const char *call);

/// A communicator of its own between all processes, which open as many in one order. It stays until the
/// process ends: to give it up, all would have to meet.
std::shared_ptr<Transport> openMpiTransport();

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_MPI_MPITRANSPORT_H
