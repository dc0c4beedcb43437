// A plan as a graph, in the language of Graphviz.
#ifndef EPL_TOOLS_EPL_PLAN_GRAPH_H
#define EPL_TOOLS_EPL_PLAN_GRAPH_H

#include "runtime/plan/format/plan_generated.h"

#include <string>

namespace epl::runtime::tool {

/// The commands of a verified plan as a directed graph: a node for each command, with its name, its work and
/// the user's line; an edge for each wait, and for the order of each lane. Computation is drawn as boxes,
/// collectives as ellipses, what a mesh sends and receives as diamonds; the parts of a plan are clusters.
/// Reference: the debug_graphviz_path of Paddle's ParallelExecutor; graphviz.org/doc/info/lang.html.
std::string graphPlan(const plan::PlanT &plan);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_PLAN_GRAPH_H
