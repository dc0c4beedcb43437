#include "Sensitivity.h"

#include "Units.h"

#include <iomanip>
#include <sstream>

namespace epl::runtime::tool {

static constexpr double linkTimes[] = {0, 0.25, 0.5, 1}; // in forwards

std::string sensitivityText(double forward, const std::function<Figures(double link)> &simulate,
                            const std::function<std::string(double)> &text) {
  std::ostringstream lines;
  lines << "link time      makespan   longer by   bubble\n";
  double without = simulate(0).makespan;
  for (double time : linkTimes) {
    auto [makespan, bubble] = simulate(time * forward);
    lines << std::setw(9) << text(time * forward) << std::setw(14) << text(makespan) << std::setw(12)
          << percentText(makespan / without - 1) << std::setw(9) << percentText(bubble) << '\n';
  }
  return lines.str();
}

} // namespace epl::runtime::tool
