// A worker among the others of its job, from before there is one: its streams of all-gathers with all
// servers.

#ifndef EPL_RUNTIME_SERVERS_LOGIC_MEMBERSHIP_H
#define EPL_RUNTIME_SERVERS_LOGIC_MEMBERSHIP_H

#include "runtime/servers/logic/GatherWorker.h"

#include <span>
#include <string>
#include <vector>

namespace epl::runtime::servers {

/// Gives to rounds by server 0, and shows all servers that the worker lives. What ends one of its streams,
/// such as a server that is lost, ends all of them, and each server is told why. So none waits for a job that
/// cannot begin.
class Membership {
public:
  using Actions = GatherWorker::Actions;

  /// `options`: of all streams; server and address are those of each. There is at least one address.
  Membership(const GatherOptions &options, const std::vector<std::string> &addresses, Milliseconds now);

  /// As those of GatherWorker.
  void accepted(uint64_t stream, Milliseconds now) { workerOf(stream).accepted(stream, now); }
  Actions received(uint64_t stream, std::span<const std::byte> head, const Payload &payload,
                   Milliseconds now);
  Actions broke(uint64_t stream, const std::string &why, Milliseconds now);
  Actions refused(uint64_t stream, const std::string &why);
  Actions tick(Milliseconds now);
  Actions share(const std::string &what, SharedBytes bytes, int32_t from = -1) {
    return links.front().share(what, std::move(bytes), from);
  }
  void knows(bool goesOn);
  /// The worker ends, well (`failure` is empty) or not.
  Actions leave(const std::string &failure) { return end(failure, /*ofServer=*/false); }

  /// The first round of this worker, once all servers know of it: who has given to a round is missed by all.
  std::optional<uint64_t> first() const;
  bool isOpen() const { return links.front().isOpen(); }
  std::vector<std::vector<std::byte>> results() const { return links.front().results(); }
  /// Why nothing can be shared any more; empty if it can.
  const std::string &error() const { return ended; }

private:
  GatherWorker &workerOf(uint64_t stream) { return links.at(linkOf(stream).server); }
  Actions end(const std::string &failure, bool ofServer);
  Actions spread(Actions actions);

  std::vector<GatherWorker> links; ///< by server
  std::string ended;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_LOGIC_MEMBERSHIP_H
