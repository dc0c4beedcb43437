#include "runtime/plan/verify/ReadVerified.h"

#include "runtime/plan/format/Error.h"
#include "runtime/plan/format/Reader.h"
#include "runtime/plan/verify/Verifier.h"

namespace epl::runtime {

plan::PlanT parsePlan(std::span<const uint8_t> bytes, const std::string &name) {
  plan::PlanT plan = parsePlanUnverified(bytes, name);
  std::vector<std::string> messages = verifyPlan(plan);
  for (std::string &message : messages)
    message = "plan file \"" + name + "\": " + message;
  if (!messages.empty())
    throw PlanError(std::move(messages));
  return plan;
}

plan::PlanT readPlan(const std::filesystem::path &path) { return parsePlan(readBytes(path), path.string()); }

} // namespace epl::runtime
