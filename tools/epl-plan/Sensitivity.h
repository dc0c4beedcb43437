// How the time of a pipeline grows with that of its links.
#ifndef EPL_TOOLS_EPL_PLAN_SENSITIVITY_H
#define EPL_TOOLS_EPL_PLAN_SENSITIVITY_H

#include <functional>
#include <string>

namespace epl::runtime::tool {

struct Figures {
  double makespan, bubble;
};

/// A line for each of some times of a message, 0 to 1 `forward`, the time of a unit: makespan, how much
/// longer it is than without, bubble. `text` writes a time.
std::string sensitivityText(double forward, const std::function<Figures(double link)> &simulate,
                            const std::function<std::string(double)> &text);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_PLAN_SENSITIVITY_H
