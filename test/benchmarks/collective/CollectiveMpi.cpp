// Collectives of f32 between the processes of an MPI job: an all-reduce in place, a reduce-scatter of sums,
// an all-to-all.
//
//   mpirun -n 2 collective_mpi KIND BYTES ROUNDS RUNS
#include "../Report.h"

#include <cstdlib>
#include <functional>
#include <map>
#include <mpi.h>

int main(int argc, char **argv) {
  using namespace epl::benchmark;
  if (argc != 5)
    return 2;
  MPI_Init(&argc, &argv);
  std::vector<float> values(std::strtoull(argv[2], nullptr, 10) / sizeof(float)), results(values.size());
  int members = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &members);
  int count = int(values.size()), part = count / members;
  std::map<std::string, std::function<void()>> collectives = {
      {"all_reduce",
       [&] { MPI_Allreduce(MPI_IN_PLACE, values.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }},
      {"reduce_scatter",
       [&] {
         MPI_Reduce_scatter_block(values.data(), results.data(), part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
       }},
      {"all_to_all", [&] {
         MPI_Alltoall(values.data(), part, MPI_FLOAT, results.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
       }}};
  auto run = [&](uint32_t times) {
    for (uint32_t i = 0; i < times; ++i)
      collectives.at(argv[1])();
  };
  std::vector<Contender> contenders = {{"Open MPI", run}};
  interleave(contenders, uint32_t(std::atoi(argv[3])), uint32_t(std::atoi(argv[4])));
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    report(argv[2], contenders);
  MPI_Finalize();
}
