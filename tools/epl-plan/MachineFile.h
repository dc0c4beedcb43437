// The machine that epl-compile --machine takes, measured.
#ifndef EPL_TOOLS_EPL_PLAN_MACHINEFILE_H
#define EPL_TOOLS_EPL_PLAN_MACHINEFILE_H

#include "runtime/plan/model/Devices.h"

#include <string>

namespace epl::runtime::tool {

/// JSON in the names and units of #epl.machine (dialect/EplAttrs.td): what `devices` CPU devices of one
/// process do here. Links between processes and nodes are left out, for which the table of "cpu" stands.
/// Throws Error if there are less than two devices, or no library of products.
std::string measureMachine(const Devices &devices);

/// All figures of a kind that there is a table of, in the same form. Throws Error if there is none.
std::string tableOfMachine(const std::string &kind);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_PLAN_MACHINEFILE_H
