// What is wrong with strided tensors in buffers.
#ifndef EPL_RUNTIME_PLAN_MODEL_STRIDES_H
#define EPL_RUNTIME_PLAN_MODEL_STRIDES_H

#include "runtime/plan/model/Access.h"

#include <string>
#include <vector>

namespace epl::runtime {

/// Whether no two steps of the loops meet: each stride is beyond all that the smaller ones reach.
bool isInjective(std::vector<StridedDim> dims);

/// What is wrong with `name`, elements of a buffer that there is, as a part of a sentence; "" if nothing:
/// those that are not in the buffer, or in more than `maxRanges` separate ranges.
std::string faultOfStrided(const plan::PlanT &plan, uint32_t buffer, const std::vector<StridedDim> &dims,
                           plan::ElementType type, const std::string &name);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_STRIDES_H
