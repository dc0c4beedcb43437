// An all-reduce (sum of f32, in place) between the processes of an MPI job.
//
//   mpirun -n 2 all_reduce_mpi BYTES ROUNDS RUNS
#include "../Report.h"

#include <cstdlib>
#include <mpi.h>

int main(int argc, char **argv) {
  using namespace epl::benchmark;
  if (argc != 4)
    return 2;
  MPI_Init(&argc, &argv);
  std::vector<float> values(std::strtoull(argv[1], nullptr, 10) / sizeof(float));
  auto reduce = [&](uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
      MPI_Allreduce(MPI_IN_PLACE, values.data(), int(values.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  std::vector<Contender> contenders = {{"Open MPI", reduce}};
  interleave(contenders, uint32_t(std::atoi(argv[2])), uint32_t(std::atoi(argv[3])));
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    report(argv[1], contenders);
  MPI_Finalize();
}
