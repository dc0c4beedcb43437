// All-gathers between workers, through server 0, as a worker's process runs them; they show all servers that
// it lives.
#ifndef EPL_RUNTIME_SERVERS_DRIVE_GATHER_H
#define EPL_RUNTIME_SERVERS_DRIVE_GATHER_H

#include "runtime/servers/Stream.h"
#include "runtime/servers/logic/Membership.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace epl::runtime::servers {

/// The bytes of all workers, round after round. For one thread at a time. What waits throws Error if a server
/// is lost, or has ended; it waits as long as all other workers live.
class Gather {
public:
  /// Connects with the servers at `addresses`, and stays; returns at once. `whileWaiting` is called again and
  /// again by who waits; what it throws ends the wait, and nothing else.
  Gather(
      std::shared_ptr<StreamTransport> transport, const GatherOptions &options,
      const std::vector<std::string> &addresses, const StreamOptions &streams,
      std::function<void()> whileWaiting = [] {});
  /// Leaves at once.
  ~Gather();

  /// How many rounds had been over when this worker came: 0, but for who was started again. Waits for all
  /// servers.
  uint64_t begin();
  /// What each worker has given, in their order, for `what`, of which all say the same. With `from` it is
  /// what that worker has given, the others' being empty, and no other one is waited for. Throws Error if a
  /// worker that is waited for has ended or is lost, or if one is at something else.
  std::vector<std::vector<std::byte>> share(const std::string &what, std::vector<std::byte> bytes,
                                            int32_t from = -1);
  /// Tells the servers whether the job goes on without workers other than worker 0 that are lost. Until one
  /// has said so they take it that it does not.
  void knows(bool goesOn);
  /// Throws Error once a server is lost, or has ended. From any thread.
  void check();
  /// Takes no part any more, which the others are told: the worker has ended, or cannot go on.
  void leave(const std::string &failure = "");

private:
  class Driver;
  std::unique_ptr<Driver> driver;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_DRIVE_GATHER_H
