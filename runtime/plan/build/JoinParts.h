// One plan of several meshes.

#ifndef EPL_RUNTIME_PLAN_BUILD_JOIN_PARTS_H
#define EPL_RUNTIME_PLAN_BUILD_JOIN_PARTS_H

#include "runtime/plan/format/plan_generated.h"

#include <vector>

namespace epl::runtime {

/// One plan of several finished ones (Builder.h): `slots` are the caller's, without sharding. Takes what all
/// share (image, target) from `common`. Throws PlanError if they make no valid plan.
plan::PlanT joinParts(plan::PlanT common, std::vector<plan::SlotT> slots, std::vector<plan::PartT> parts);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_BUILD_JOIN_PARTS_H
