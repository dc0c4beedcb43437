// What a worker and its server exchange for batches of a large table, ids and rows there and back, beside a
// bare stream of gRPC with as many bytes in the same directions and order.
#include "BareGrpc.h"
#include "test/benchmarks/Report.h"

#include "runtime/servers/OpenTransport.h"
#include "runtime/servers/drive/Server.h"
#include "runtime/servers/drive/Worker.h"
#include "test/unit/servers/RowDescent.h"

#include <array>
#include <random>

using namespace epl::benchmark;
using namespace epl::runtime;
using namespace epl::runtime::servers;
namespace jobs = epl::runtime::servers::test;

namespace {

constexpr int64_t kDim = 16;
constexpr size_t kStep = 250'000; // ids of a batch that fills the table
constexpr size_t kBatches = 3;    // one after another, as no step of a training has the ids of the last one

/// A worker and its server, with a table of so many rows.
class TablePair {
public:
  TablePair(int64_t rows, size_t batch, uint32_t threads) {
    auto manifest = jobs::rowDescentManifest({.dim = kDim, .mode = manifest::Mode::half_async});
    ServerOptions options;
    options.address = "127.0.0.1:0", options.threads = threads;
    server = std::make_unique<Server>(transport, options);
    std::vector<uint8_t> bytes = serializeManifest(*manifest);
    WorkerOptions own;
    own.addresses = {server->address()}, own.job = hashBytes(bytes);
    worker = std::make_unique<Worker>(
        transport, std::make_shared<Job>(*manifest), own, StreamOptions{},
        JobSource{bytes, [](uint32_t) { return jobs::rowDescentPlan(kDim); }, nullptr});
    step = worker->begin();
    fill(rows);
    std::mt19937_64 random(1);
    for (std::vector<int64_t> &ids : batches)
      for (size_t i = 0; i < batch; ++i)
        ids.push_back(idOf(int64_t(random() % uint64_t(rows))));
    gradients = HostTensor::allocate({plan::ElementType::f32, {int64_t(batch), kDim}});
  }
  ~TablePair() { worker->finish(step); }

  /// Ends when the last push has been applied.
  void exchange(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i, ++step) {
      const std::vector<int64_t> &ids = batches[step % kBatches];
      std::vector<HostTensor> rows = worker->pullRows(step, std::vector<Lookup>{{0, ids}});
      worker->pushRows(step, std::vector<RowGradients>{{0, {ids}, {gradients}}});
    }
    worker->pullRows(step, std::vector<Lookup>{{0, std::span(batches.front()).first(1)}});
  }

private:
  /// Ids are far apart, as hashes of features are.
  static int64_t idOf(int64_t number) { return int64_t((uint64_t(number) * 0x9e3779b97f4a7c15) >> 1); }

  void fill(int64_t rows) {
    for (int64_t begin = 0; begin < rows; begin += int64_t(kStep), ++step) {
      std::vector<int64_t> some;
      for (int64_t number = begin; number < std::min(begin + int64_t(kStep), rows); ++number)
        some.push_back(idOf(number));
      worker->pullRows(step, std::vector<Lookup>{{0, some}});
      worker->pushRows(step, {});
    }
  }

  std::shared_ptr<StreamTransport> transport = openStreamTransport();
  std::unique_ptr<Server> server;
  std::unique_ptr<Worker> worker;
  std::array<std::vector<int64_t>, kBatches> batches;
  HostTensor gradients;
  uint64_t step = 0;
};

} // namespace

int main(int argc, char **argv) {
  if (argc != 5) {
    std::cerr << "usage: tables ROWS BATCH ROUNDS COUNT\n";
    return 1;
  }
  int64_t rows = std::stol(argv[1]);
  size_t batch = std::stoul(argv[2]);
  TablePair tables(rows, batch, /*threads=*/2);
  // A lookup sends ids and gets rows, then a push sends ids and gradients, whose end is acknowledged.
  size_t ids = batch * sizeof(int64_t), values = batch * kDim * sizeof(float), chunk = kMaxFrame - 64;
  BareGrpc bare(ids + values);
  std::vector<std::byte> there(ids + values), back(values);
  auto exchangeBare = [&](uint32_t times) {
    for (uint32_t i = 0; i < times; ++i) {
      bare.exchange(std::span(there).first(ids), back, chunk, Answers::atTheEnd);
      bare.exchange(there, std::span(back).first(1), chunk, Answers::atTheEnd);
    }
  };
  std::vector<Contender> contenders = {{"table", [&](uint32_t times) { tables.exchange(times); }},
                                       {"bare", exchangeBare}};
  interleave(contenders, uint32_t(std::stoul(argv[3])), uint32_t(std::stoul(argv[4])));
  report("rows", contenders);
}
