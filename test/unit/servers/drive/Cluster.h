// Servers within this process, and what workers of theirs need.
#ifndef EPL_TEST_UNIT_SERVERS_DRIVE_CLUSTER_H
#define EPL_TEST_UNIT_SERVERS_DRIVE_CLUSTER_H

#include "runtime/servers/drive/Server.h"
#include "runtime/servers/drive/Worker.h"
#include "runtime/servers/inproc/InprocStreams.h"

namespace epl::runtime::servers::test {

class JobCluster {
public:
  /// `plan` and `value`: as of JobSource.
  JobCluster(const manifest::ManifestT &manifest, std::function<std::vector<uint8_t>(uint32_t)> plan,
             std::function<HostTensor(uint32_t, int32_t)> value)
      : job(std::make_shared<Job>(manifest)), plan(std::move(plan)), value(std::move(value)) {
    for (uint32_t server = 0; server < manifest.servers; ++server) {
      ServerOptions options;
      options.address = "server " + std::to_string(server);
      options.number = server, options.threads = 2;
      servers.push_back(std::make_unique<Server>(transport, options));
      addresses.push_back(servers.back()->address());
    }
  }

  std::unique_ptr<Worker> worker(uint32_t number) { return worker(number, transport); }
  std::unique_ptr<Worker>
  worker(uint32_t number, std::shared_ptr<StreamTransport> over, std::function<void()> whileWaiting = [] {}) {
    std::vector<uint8_t> bytes = serializeManifest(job->manifest);
    WorkerOptions options;
    options.worker = number, options.addresses = addresses, options.job = hashBytes(bytes);
    std::optional<JobSource> source;
    if (number == 0)
      source = JobSource{bytes, plan, value};
    return std::make_unique<Worker>(std::move(over), job, options, StreamOptions{}, std::move(source),
                                    std::move(whileWaiting));
  }

  void wait() {
    for (const auto &server : servers)
      server->wait();
  }

  const std::shared_ptr<const Job> job;
  std::shared_ptr<InprocStreams> transport = std::make_shared<InprocStreams>();
  std::vector<std::unique_ptr<Server>> servers;
  std::vector<std::string> addresses;

private:
  std::function<std::vector<uint8_t>(uint32_t)> plan;
  std::function<HostTensor(uint32_t, int32_t)> value;
};

} // namespace epl::runtime::servers::test

#endif // EPL_TEST_UNIT_SERVERS_DRIVE_CLUSTER_H
