// A plan that updates what a server holds.
#ifndef EPL_RUNTIME_SERVERS_STORE_UPDATEPLAN_H
#define EPL_RUNTIME_SERVERS_STORE_UPDATEPLAN_H

#include "runtime/servers/model/manifest_generated.h"
#include "runtime/servers/store/Lane.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace epl::runtime::servers {

/// Whether an argument of such a plan is a value that servers hold, and that the plan may update.
inline bool isHeld(const manifest::Argument &argument) {
  return argument.role() == manifest::ArgumentRole::parameter ||
         argument.role() == manifest::ArgumentRole::state;
}

/// Where a state (-1: the parameter) is among the values that are held: the parameter first, then the states.
inline size_t heldIndex(int32_t state) { return size_t(int64_t(state) + 1); }
inline size_t heldIndex(const manifest::Argument &argument) {
  return heldIndex(argument.role() == manifest::ArgumentRole::state ? argument.state() : -1);
}

struct UpdatePlan {
  /// What an argument that is not held is in a call.
  using Others = std::function<HostTensor(const manifest::Argument &)>;

  std::shared_ptr<const plan::PlanT> plan;
  const std::vector<manifest::Argument> &arguments;
  std::vector<int32_t> results; ///< of each argument, which one updates it; -1: none

  /// Runs the plan in the thread of a lane, whose session has made the `held` values; these are then what it
  /// makes of them. Throws Error if it fails; `name` is for that.
  void run(Lane &lane, std::vector<std::shared_ptr<StateBuffer>> &held, const Others &others,
           const std::string &name) const;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_STORE_UPDATEPLAN_H
