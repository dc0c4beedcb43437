#include "runtime/servers/store/UpdatePlan.h"

namespace epl::runtime::servers {

void UpdatePlan::run(Lane &lane, std::vector<std::shared_ptr<StateBuffer>> &held, const Others &others,
                     const std::string &name) const {
  std::vector<Argument> given;
  std::vector<bool> donate;
  for (const manifest::Argument &argument : arguments) {
    donate.push_back(isHeld(argument));
    if (donate.back())
      given.emplace_back(held[heldIndex(argument)]);
    else
      given.emplace_back(others(argument));
  }
  Outcome outcome = lane.session(plan).call(given, donate, name, /*waits=*/true);
  for (size_t i = 0; i < arguments.size(); ++i)
    if (results[i] >= 0)
      held[heldIndex(arguments[i])] =
          std::get<std::shared_ptr<StateBuffer>>(outcome.results[size_t(results[i])]);
  outcome.call->wait();
  outcome.call->release();
}

} // namespace epl::runtime::servers
