// Processes that MPI has started.
#ifndef EPL_RUNTIME_COLLECTIVE_MPI_MPIGROUP_H
#define EPL_RUNTIME_COLLECTIVE_MPI_MPIGROUP_H

#include "runtime/collective/Transport.h"

namespace epl::runtime {

/// All processes of MPI_COMM_WORLD. The first call starts MPI, if the program has not: it must allow one
/// thread at a time in it (MPI_THREAD_SERIALIZED), which all of this do. Throws Error if it does not, or if
/// MPI fails. It is never finalized here.
std::shared_ptr<ProcessGroup> openMpiGroup();

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_MPI_MPIGROUP_H
