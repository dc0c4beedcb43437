// All that is wrong with a plan or a part of it, for one PlanError (Error.h).

#ifndef EPL_RUNTIME_PLAN_FORMAT_REPORT_H
#define EPL_RUNTIME_PLAN_FORMAT_REPORT_H

#include <sstream>
#include <string>
#include <vector>

namespace epl::runtime {

/// Messages as they are in PlanError. Past a limit it only counts: a damaged plan can break a rule at every
/// byte.
class Report {
public:
  template <typename... Parts> void add(const Parts &...parts) {
    if (++count > limit)
      return;
    std::ostringstream text;
    (text << ... << parts);
    messages.push_back(text.str());
  }

  bool failed() const { return count > 0; }

  std::vector<std::string> take() {
    if (count > limit)
      messages.push_back("and " + std::to_string(count - limit) + " more");
    return std::move(messages);
  }

private:
  static constexpr size_t limit = 20;
  std::vector<std::string> messages;
  size_t count = 0;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_FORMAT_REPORT_H
