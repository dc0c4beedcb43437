// The Python module _epl_mpi: processes that MPI has started. A module of its own, so that the runtime runs
// where there is no MPI.

#include "runtime/Error.h"
#include "runtime/collective/mpi/MpiGroup.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

// Both wait for other processes: threads that say so run meanwhile.
using Unlocked = nanobind::call_guard<nanobind::gil_scoped_release>;

NB_MODULE(_epl_mpi, module) {
  nanobind::module_::import_("_epl_runtime"); // which has ProcessGroup and the error
  module.def("open_group", &epl::runtime::openMpiGroup, Unlocked(),
             "All processes of MPI_COMM_WORLD. The first call starts MPI, if the program has not.");
  module.def("finalize", &epl::runtime::finalizeMpi, Unlocked(), "Ends MPI, when all processes call it.");
  module.def("library", &epl::runtime::describeMpi, "The MPI library, in one line.");
}
