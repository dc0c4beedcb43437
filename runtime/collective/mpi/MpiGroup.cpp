#include "runtime/collective/mpi/MpiGroup.h"

#include "runtime/Error.h"
#include "runtime/collective/mpi/MpiTransport.h"

#include <mpi.h>

namespace epl::runtime {

namespace {

bool startedHere = false; // by openMpiGroup

class MpiGroup final : public ProcessGroup {
public:
  MpiGroup() {
    std::lock_guard lock(mpiMutex());
    int isStarted = 0, provided = 0;
    requireMpi(MPI_Initialized(&isStarted), "MPI_Initialized");
    if (isStarted)
      requireMpi(MPI_Query_thread(&provided), "MPI_Query_thread");
    else
      requireMpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    startedHere = !isStarted;
    if (provided < MPI_THREAD_SERIALIZED)
      throw Error("MPI was started for one thread alone, expected MPI_THREAD_SERIALIZED or more");
    requireMpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    requireMpi(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  }

  uint32_t process() const override { return uint32_t(rank); }
  uint32_t numProcesses() const override { return uint32_t(size); }
  std::shared_ptr<Transport> open() override { return openMpiTransport(); }

private:
  int rank = 0, size = 1;
};

} // namespace

std::shared_ptr<ProcessGroup> openMpiGroup() {
  static std::shared_ptr<ProcessGroup> group = std::make_shared<MpiGroup>();
  return group;
}

void finalizeMpi() {
  endMessages();
  int isOver = 0;
  requireMpi(MPI_Finalized(&isOver), "MPI_Finalized");
  if (startedHere && !isOver)
    requireMpi(MPI_Finalize(), "MPI_Finalize");
}

std::string describeMpi() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  requireMpi(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  std::string version(text, size_t(length));
  return version.substr(0, version.find_first_of(",\n"));
}

} // namespace epl::runtime
