// A server as a process runs it: the logic, its streams, its blocks and its threads.
#ifndef EPL_RUNTIME_SERVERS_DRIVE_SERVER_H
#define EPL_RUNTIME_SERVERS_DRIVE_SERVER_H

#include "runtime/servers/Stream.h"
#include "runtime/servers/logic/Timing.h"

#include <memory>
#include <string>

namespace epl::runtime::servers {

struct ServerOptions {
  std::string address;  ///< to listen at
  uint32_t number = 0;  ///< of the servers of the job
  uint32_t threads = 1; ///< that update blocks, at least 1
  StreamOptions streams = {};
  Timing timing = {};
};

/// One server of a job, from the first worker's greeting to the last one's goodbye. What it holds, and how it
/// is updated, worker 0 sends.
class Server {
public:
  /// Listens. Throws Error as StreamTransport::listen does.
  Server(std::shared_ptr<StreamTransport> transport, const ServerOptions &options);
  /// Ends it at once.
  ~Server();

  /// Where it listens.
  std::string address() const;

  /// Waits until all workers have said goodbye. Throws Error if the job has failed, and tells the workers.
  void wait();

  /// Ends the job with an error, which the workers are told.
  void fail(const std::string &error);

private:
  class Driver;
  std::unique_ptr<Driver> driver;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_DRIVE_SERVER_H
