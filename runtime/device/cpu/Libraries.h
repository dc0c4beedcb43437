// What the runtime has found on this machine, for reports.
#ifndef EPL_RUNTIME_DEVICE_CPU_LIBRARIES_H
#define EPL_RUNTIME_DEVICE_CPU_LIBRARIES_H

#include <string>
#include <utility>
#include <vector>

namespace epl::runtime {

/// Name of each numeric library, and where it is with its version, or why it is not there. Loads them.
std::vector<std::pair<std::string, std::string>> describeLibraries();

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_CPU_LIBRARIES_H
