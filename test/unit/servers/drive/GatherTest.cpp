// All-gathers through a server of this process, over streams within it.

#include "runtime/servers/drive/Gather.h"
#include "runtime/servers/drive/Server.h"

#include "runtime/Error.h"
#include "runtime/servers/inproc/InprocStreams.h"
#include "test/unit/servers/ErrorOf.h"

#include <gmock/gmock.h>

#include <future>

namespace epl::runtime::servers::test {
namespace {

using Bytes = std::vector<std::byte>;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Servers, and workers without a job.
struct Cluster {
  explicit Cluster(uint32_t count = 1) {
    for (uint32_t number = 0; number < count; ++number) {
      ServerOptions options;
      options.number = number, options.address = "server " + std::to_string(number);
      servers.push_back(std::make_unique<Server>(transport, options));
      addresses.push_back(options.address);
    }
  }

  std::unique_ptr<Gather> worker(uint32_t number, uint32_t workers) {
    GatherOptions options;
    options.worker = number, options.workers = workers;
    return std::make_unique<Gather>(transport, options, addresses, StreamOptions{});
  }

  std::shared_ptr<InprocStreams> transport = std::make_shared<InprocStreams>();
  std::vector<std::unique_ptr<Server>> servers;
  std::vector<std::string> addresses;
};

TEST(Gather, MovesBytesOfAnySize) {
  Cluster cluster;
  auto run = [&](uint32_t number) {
    std::unique_ptr<Gather> worker = cluster.worker(number, 3);
    EXPECT_EQ(worker->begin(), 0u);
    std::vector<std::vector<Bytes>> all;
    for (size_t size : {size_t(0), size_t(5), kMaxFrame * 2 + 3})
      all.push_back(worker->share("bytes", Bytes(size * number, std::byte(number))));
    worker->leave();
    return all;
  };
  std::vector<std::future<std::vector<std::vector<Bytes>>>> runs;
  for (uint32_t number : {0, 1, 2})
    runs.push_back(std::async(std::launch::async, run, number));
  for (auto &each : runs) {
    auto all = each.get();
    for (uint32_t number : {0, 1, 2}) {
      EXPECT_EQ(all[1][number], Bytes(size_t(5) * number, std::byte(number)));
      EXPECT_EQ(all[2][number], Bytes((kMaxFrame * 2 + 3) * number, std::byte(number)));
    }
    EXPECT_EQ(all[0], std::vector<Bytes>(3));
  }
}

TEST(Gather, TellsThatAWorkerHasEnded) {
  Cluster cluster;
  std::unique_ptr<Gather> one = cluster.worker(0, 2), other = cluster.worker(1, 2);
  one->begin(), other->begin();
  other->leave();
  EXPECT_THAT([&] { one->share("a sum", {}); },
              ThrowsMessage<Error>(HasSubstr("worker 1 has ended: a sum awaits it")));
  EXPECT_THAT([&] { other->share("a sum", {}); },
              ThrowsMessage<Error>(HasSubstr("this worker has said goodbye")));
}

TEST(Gather, EndsWithTheServersError) {
  Cluster cluster;
  std::unique_ptr<Gather> worker = cluster.worker(0, 2);
  worker->begin();
  cluster.servers[0]->fail("the server was ended by SIGTERM");
  EXPECT_THAT([&] { worker->share("a sum", {}); }, ThrowsMessage<Error>(HasSubstr("ended by SIGTERM")));
}

TEST(Gather, EndsAllServersWithOne) {
  Cluster cluster(3);
  std::unique_ptr<Gather> worker = cluster.worker(0, 2);
  worker->begin();
  cluster.servers[2]->fail("the server was ended by SIGTERM");
  for (uint32_t number : {0, 1})
    EXPECT_THAT(errorOf([&] { cluster.servers[number]->wait(); }), HasSubstr("ended by SIGTERM"));
  EXPECT_THAT(errorOf([&] { worker->check(); }), HasSubstr("ended by SIGTERM"));
}

TEST(Gather, EndsServersThatHaveNoJobWithAWorkersError) {
  Cluster cluster(2);
  std::unique_ptr<Gather> one = cluster.worker(0, 2), other = cluster.worker(1, 2);
  one->begin(), other->begin();
  other->leave("ValueError: no such file");
  for (const auto &server : cluster.servers)
    EXPECT_THAT(errorOf([&] { server->wait(); }), HasSubstr("worker 1 has failed: ValueError: no such file"));
  EXPECT_THAT(errorOf([&] { one->share("a sum", {}); }), HasSubstr("ValueError: no such file"));
}

TEST(Gather, EndsServersWellThatNobodyNeeds) {
  Cluster cluster(2);
  std::unique_ptr<Gather> one = cluster.worker(0, 2), other = cluster.worker(1, 2);
  one->begin(), other->begin();
  one->leave(), other->leave();
  for (const auto &server : cluster.servers)
    EXPECT_EQ(errorOf([&] { server->wait(); }), "no error");
}

} // namespace
} // namespace epl::runtime::servers::test
