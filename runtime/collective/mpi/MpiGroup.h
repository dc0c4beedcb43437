// Processes that MPI has started.
#ifndef EPL_RUNTIME_COLLECTIVE_MPI_MPIGROUP_H
#define EPL_RUNTIME_COLLECTIVE_MPI_MPIGROUP_H

#include "runtime/collective/Transport.h"

#include <string>

namespace epl::runtime {

/// All processes of MPI_COMM_WORLD. The first call starts MPI, if the program has not: it must allow one
/// thread at a time in it (MPI_THREAD_SERIALIZED), which all of this do. Throws Error if it does not, or if
/// MPI fails.
std::shared_ptr<ProcessGroup> openMpiGroup();

/// Ends MPI, if openMpiGroup has started it and nobody else has ended it: waits until all processes call it;
/// nothing of this calls MPI from here on. For the end of a process that has no message open: after a
/// failure, MPI would wait for ever. Without it, a process that ends has the launcher end all others.
void finalizeMpi();

/// The MPI library and its version, in one line.
std::string describeMpi();

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_MPI_MPIGROUP_H
