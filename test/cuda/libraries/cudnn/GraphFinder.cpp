//===- GraphFinder.cpp - Graphs of operations that the stand-in of cuDNN follows ------===//

#include "test/cuda/libraries/cudnn/GraphFinder.h"

namespace cudnn_double {

static Attribute resultOf(Kind kind) {
  return kind == Kind::productOperation     ? Attribute::productC
         : kind == Kind::reductionOperation ? Attribute::reductionY
         : kind == Kind::reshapeOperation   ? Attribute::reshapeY
                                            : Attribute::pointwiseY;
}

const DescriptorT *GraphFinder::makerOf(const DescriptorT *tensor, Kind kind) {
  for (const DescriptorT *operation : operations)
    if (operation->kind == kind && &operation->at(resultOf(kind)) == tensor) {
      met.insert(operation);
      return operation;
    }
  return nullptr;
}

const DescriptorT *GraphFinder::pointwise(const DescriptorT *tensor, PointwiseMode mode) {
  const DescriptorT *operation = nullptr;
  for (const DescriptorT *each : operations)
    if (each->kind == Kind::pointwiseOperation && &each->at(Attribute::pointwiseY) == tensor &&
        each->at(Attribute::pointwiseDescriptor).get<PointwiseMode>(Attribute::pointwiseMode) == mode)
      operation = each;
  bool hasOperands = operation && (mode == PointwiseMode::exp || mode == PointwiseMode::log ||
                                   mode == PointwiseMode::position || operation->has(Attribute::pointwiseB));
  if (!hasOperands)
    return nullptr;
  met.insert(operation);
  return operation;
}

std::vector<const DescriptorT *> GraphFinder::lastProducts() const {
  std::vector<const DescriptorT *> found;
  for (const DescriptorT *operation : operations)
    if (operation->kind == Kind::productOperation &&
        !operation->at(Attribute::productC).has(Attribute::tensorIsVirtual))
      found.push_back(operation);
  return found;
}

bool GraphFinder::isReduced(const DescriptorT *tensor, ReductionOperator by, const DescriptorT *of) {
  const DescriptorT *operation = makerOf(tensor, Kind::reductionOperation);
  return operation && &operation->at(Attribute::reductionX) == of &&
         operation->at(Attribute::reductionDescriptor).get<ReductionOperator>(Attribute::reductionOperator) ==
             by;
}

bool GraphFinder::isCausal(const DescriptorT *condition, const DescriptorT *scores) {
  const DescriptorT *compare = pointwise(condition, PointwiseMode::isAtLeast);
  auto isPosition = [&](const DescriptorT *tensor, int64_t axis) {
    const DescriptorT *operation = pointwise(tensor, PointwiseMode::position);
    return operation && x(operation) == scores &&
           operation->at(Attribute::pointwiseDescriptor).get<int64_t>(Attribute::pointwiseAxis) == axis;
  };
  return compare && isPosition(x(compare), 2) && isPosition(b(compare), 3);
}

} // namespace cudnn_double
