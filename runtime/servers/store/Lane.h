// A thread that updates what a server holds.
#ifndef EPL_RUNTIME_SERVERS_STORE_LANE_H
#define EPL_RUNTIME_SERVERS_STORE_LANE_H

#include "runtime/session/Session.h"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <functional>
#include <map>
#include <memory>

namespace epl::runtime::servers {

/// A thread with an executor of one worker, and a session for each plan: a state may be used by one executor
/// only without a copy, and an executor runs one job at a time.
class Lane {
public:
  Lane() : executor(1), thread(1) {}
  ~Lane() { join(); }
  Lane(const Lane &) = delete;

  /// Queues a task; tasks run one after another.
  void post(std::function<void()> task) { boost::asio::post(thread, std::move(task)); }
  /// Waits for all that was posted; nothing is from here on.
  void join() { thread.join(); }

  /// The session of a plan; all calls of this lane, one at a time.
  Session &session(const std::shared_ptr<const plan::PlanT> &plan) {
    std::unique_ptr<Session> &found = sessions[plan.get()];
    if (!found)
      found = std::make_unique<Session>(plan, "cpu:1", executor);
    return *found;
  }

private:
  Executor executor;
  std::map<const plan::PlanT *, std::unique_ptr<Session>> sessions;
  boost::asio::thread_pool thread;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_STORE_LANE_H
