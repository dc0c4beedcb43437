// The one exception of the plan library.

#ifndef EPL_RUNTIME_PLAN_FORMAT_ERROR_H
#define EPL_RUNTIME_PLAN_FORMAT_ERROR_H

#include "runtime/Error.h"

#include <string>
#include <vector>

namespace epl::runtime {

/// A plan that cannot be built, read, written or trusted. `what()` is all messages, one on each line.
class PlanError : public Error {
public:
  explicit PlanError(const std::string &message) : PlanError(std::vector<std::string>{message}) {}
  explicit PlanError(std::vector<std::string> messages) : Error(join(messages)), list(std::move(messages)) {}

  /// At least one message: lower case, no period, no newline.
  const std::vector<std::string> &messages() const { return list; }

private:
  static std::string join(const std::vector<std::string> &messages) {
    std::string text;
    for (const std::string &message : messages)
      text += (text.empty() ? "" : "\n") + message;
    return text;
  }

  std::vector<std::string> list;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_FORMAT_ERROR_H
