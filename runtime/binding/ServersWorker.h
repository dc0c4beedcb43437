// A worker of parameter servers, as Python has it.

#ifndef EPL_RUNTIME_BINDING_SERVERSWORKER_H
#define EPL_RUNTIME_BINDING_SERVERSWORKER_H

#include "runtime/binding/OwnThreads.h"
#include "runtime/binding/ServersJob.h"
#include "runtime/servers/drive/Server.h"
#include "runtime/servers/drive/Worker.h"
#include "runtime/servers/inproc/InprocStreams.h"

#include <deque>

namespace epl::runtime::binding {

/// Servers of one worker, which are threads of its process.
class LocalServers {
public:
  LocalServers(const LocalServers &) = delete;
  LocalServers(uint32_t count, uint32_t threads) : transport(std::make_shared<servers::InprocStreams>()) {
    for (uint32_t number = 0; number < count; ++number) {
      servers::ServerOptions options;
      options.address = "server " + std::to_string(number) + " of this process";
      options.number = number, options.threads = threads;
      addresses.push_back(
          running.emplace_back(std::make_unique<servers::Server>(transport, options))->address());
    }
  }

  std::shared_ptr<servers::InprocStreams> transport;
  std::deque<OwnThreads<servers::Server>> running;
  std::vector<std::string> addresses;
};

/// A worker with its job.
struct ServersWorker {
  ServersWorker(std::shared_ptr<ServersJob> job, std::shared_ptr<LocalServers> local,
                std::unique_ptr<servers::Worker> worker)
      : job(std::move(job)), local(std::move(local)), worker(std::move(worker)) {}

  std::shared_ptr<ServersJob> job;
  std::shared_ptr<LocalServers> local; // null if they are processes
  OwnThreads<servers::Worker> worker;
};

/// Adds what a worker does with tables.
void bindTables(nanobind::class_<ServersWorker> &worker);

} // namespace epl::runtime::binding

#endif // EPL_RUNTIME_BINDING_SERVERSWORKER_H
