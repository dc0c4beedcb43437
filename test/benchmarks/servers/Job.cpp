// What a worker and its server exchange in a step, gradients there and parameters back, beside a bare stream
// of gRPC with as many bytes; in one block and in several. And a server's update beside a copy of the bytes
// it moves.
#include "BareGrpc.h"
#include "test/benchmarks/Report.h"

#include "runtime/servers/OpenTransport.h"
#include "runtime/servers/drive/Server.h"
#include "runtime/servers/drive/Worker.h"
#include "runtime/servers/store/BlockStore.h"
#include "test/unit/servers/Descent.h"

#include <cstring>
#include <future>

using namespace epl::benchmark;
using namespace epl::runtime;
using namespace epl::runtime::servers;
namespace jobs = epl::runtime::servers::test;
using jobs::Descent;
using jobs::descentManifest;

namespace {

HostTensor vector(int64_t size) { return HostTensor::allocate({plan::ElementType::f32, {size}}); }

/// A worker and its server, with a vector of so many elements in blocks.
class Pair {
public:
  Pair(int64_t size, int64_t blockSize) : descent{size, blockSize, 1, 1, manifest::Mode::half_async} {
    auto manifest = descentManifest(descent);
    ServerOptions options;
    options.address = "127.0.0.1:0";
    server = std::make_unique<Server>(transport, options);
    std::vector<uint8_t> bytes = serializeManifest(*manifest);
    WorkerOptions own;
    own.addresses = {server->address()}, own.job = hashBytes(bytes);
    auto plan = [this](uint32_t number) {
      return jobs::descentPlan(number == 0 ? descent.blockSize : descent.size % descent.blockSize);
    };
    auto value = [this](uint32_t, int32_t state) {
      return state < 0 ? vector(descent.size) : HostTensor::allocate({plan::ElementType::i64, {1}});
    };
    worker = std::make_unique<Worker>(transport, std::make_shared<Job>(*manifest), own, StreamOptions{},
                                      JobSource{bytes, plan, value});
    step = worker->begin();
  }
  ~Pair() { worker->finish(step); }

  void exchange(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i, ++step) {
      worker->push(step, {{gradient}});
      worker->pull(step + 1);
    }
  }

private:
  const Descent descent;
  std::shared_ptr<StreamTransport> transport = openStreamTransport();
  std::unique_ptr<Server> server;
  std::unique_ptr<Worker> worker;
  HostTensor gradient = vector(descent.size);
  uint64_t step = 0;
};

void measureExchange(int64_t size, uint32_t rounds, uint32_t count) {
  Pair one(size, size), several(size, size / 40);
  size_t bytes = size_t(size) * sizeof(float), chunk = kMaxFrame - 64;
  bytes -= bytes % chunk;
  BareGrpc bare(bytes);
  std::vector<std::byte> there(bytes), back(bytes);
  std::vector<Contender> contenders = {{"one block", [&](uint32_t times) { one.exchange(times); }},
                                       {"40 blocks", [&](uint32_t times) { several.exchange(times); }},
                                       {"bare", [&](uint32_t times) {
                                          for (uint32_t i = 0; i < times; ++i)
                                            bare.exchange(there, back, chunk);
                                        }}};
  interleave(contenders, rounds, count);
  report("push and pull", contenders);
}

/// w -= g / 2 reads two vectors and writes one: three times a vector's bytes, of which a copy moves two.
void measureUpdate(int64_t size, uint32_t rounds, uint32_t count) {
  std::shared_ptr<manifest::ManifestT> manifest = descentManifest({size, size});
  ApplyPlans plans(*manifest, 0);
  plans.set(0, jobs::descentPlan(size));
  BlockStore store(manifest, 0, plans, 1);
  store.set(0, BlockStore::kParameter, vector(size));
  store.set(0, 0, HostTensor::allocate({plan::ElementType::i64, {1}}));
  HostTensor gradient = vector(size), from = vector(size), to = vector(size);
  auto update = [&](uint32_t times) {
    for (uint32_t i = 0; i < times; ++i) {
      std::promise<void> done;
      store.update(0, {{gradient}}, [&](const std::string &) { done.set_value(); });
      done.get_future().wait();
    }
  };
  auto copy = [&](uint32_t times) {
    for (uint32_t i = 0; i < times; ++i) {
      std::memcpy(to.data, from.data, from.type.bytes());
      std::memcpy(from.data, to.data, from.type.bytes() / 2);
    }
  };
  std::vector<Contender> contenders = {{"update", update}, {"memcpy", copy}};
  interleave(contenders, rounds, count);
  report("update", contenders);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    std::cerr << "usage: servers ELEMENTS ROUNDS COUNT\n";
    return 1;
  }
  int64_t size = std::stol(argv[1]);
  auto rounds = uint32_t(std::stoul(argv[2])), count = uint32_t(std::stoul(argv[3]));
  measureExchange(size, rounds, count);
  measureUpdate(size, rounds, count);
}
