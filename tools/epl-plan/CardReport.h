// Predicted times of a mesh's commands on a GPU, summed up.
#ifndef EPL_TOOLS_EPL_PLAN_CARDREPORT_H
#define EPL_TOOLS_EPL_PLAN_CARDREPORT_H

#include "Prices.h"

#include <string>
#include <vector>

namespace epl::runtime::tool {

/// The limits of commands, and the time that each takes of all: "launch 55.0 %, memory 45.0 %", most first.
std::string limitShares(const std::vector<Price> &prices);

/// The same as a table, with what limits mean. Of the plan of a mesh.
std::string limitsTable(const std::vector<Price> &prices);

/// A row for each kind of command: forms of kernels, products, collectives, copies; predicted, and beside it
/// what was measured, in nanoseconds of each command, unless that is null.
std::string kindsTable(const plan::PlanT &plan, const std::vector<Price> &prices,
                       const std::vector<double> *measured);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_PLAN_CARDREPORT_H
