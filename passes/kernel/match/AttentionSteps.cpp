//===- AttentionSteps.cpp - What stands beside the products of attention ------------===//
//
// Problem: programs round gradients, read tensors in another order, and add up what the heads of a group make
// of one of k and v, in launches of their own. Method: the first two are elements of what the launch reads
// (RowExpressions.h); the last is one sum, whose loops have a stride in its operand and in its result.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/match/AttentionSteps.h"

#include "passes/kernel/cluster/NarrowFloats.h"
#include "passes/kernel/cluster/OpRoles.h"
#include "passes/kernel/match/RowExpressions.h"

using namespace mlir;
using namespace mlir::epl;
using linalg::GenericOp;

bool mlir::epl::isRounding(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  if (kernel.getKind() != KernelKind::fusion || body.getNumArguments() != 1 ||
      body.getTerminator()->getNumOperands() != 1)
    return false;
  Value result = body.getTerminator()->getOperand(0);
  RowExpressions elements(kernel, result, 1, 1, [](BlockArgument) { return std::nullopt; });
  std::optional<Scalar> made = elements.trace(result, elements.getWhole());
  return made && elements.getArgument(*made, elements.getWhole()) == body.getArgument(0) &&
         isNarrowFloat(getElementTypeOrSelf(result));
}

std::optional<SmallVector<std::array<int64_t, 3>>> mlir::epl::matchReordering(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  if (kernel.getKind() != KernelKind::fusion || body.getNumArguments() != 1 ||
      body.getTerminator()->getNumOperands() != 1)
    return std::nullopt;
  Value result = body.getTerminator()->getOperand(0);
  RowExpressions elements(kernel, result, 1, 1, [](BlockArgument) { return std::nullopt; });
  std::optional<Scalar> made = elements.trace(result, elements.getWhole());
  bool isLoad = made && !made->value && made->node->kind == Element::Kind::load &&
                made->node->tensor == body.getArgument(0) && made->node->access.offset == 0 &&
                getElementTypeOrSelf(result) == getElementTypeOrSelf(body.getArgument(0));
  if (!isLoad)
    return std::nullopt;
  SmallVector<std::array<int64_t, 3>> dims;
  int64_t outer = cast<RankedTensorType>(result.getType()).getNumElements();
  for (auto [to, from] : llvm::zip_equal(elements.getWhole().strides, made->node->access.strides)) {
    dims.push_back({to, from, outer / to});
    outer = to;
  }
  return dims;
}

/// The sum that a kernel is, of its one input and from 0 on; null if it is something else.
static GenericOp getSum(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto sum = body.getNumArguments() == 1 && body.getTerminator()->getNumOperands() == 1
                 ? body.getTerminator()->getOperand(0).getDefiningOp<GenericOp>()
                 : GenericOp();
  if (!sum || sum.getNumDpsInputs() != 1 || sum.getOperand(0) != body.getArgument(0) ||
      !llvm::all_of(sum.getIndexingMapsArray(), [](AffineMap map) { return map.isProjectedPermutation(); }))
    return {};
  auto begin = dyn_cast_or_null<FloatAttr>(getFillValue(sum.getDpsInits()[0]));
  auto added = sum.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  bool isSum = added && llvm::all_of(sum.getBody()->getArguments(), [&](Value argument) {
                 return llvm::is_contained(added->getOperands(), argument);
               });
  return isSum && begin && begin.getValue().isZero() ? sum : GenericOp();
}

/// The steps of a generic's loops through a tensor of some shape.
static SmallVector<int64_t> getLoopSteps(AffineMap map, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> steps(map.getNumDims(), 0);
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0; stride *= shape[dim])
    steps[map.getDimPosition(dim)] = stride;
  return steps;
}

std::optional<AttentionLayout> mlir::epl::matchGroupSum(KernelOp kernel, const AttentionLayout &layout,
                                                        const AttentionPairs &pairs, int64_t width) {
  GenericOp sum = getSum(kernel);
  if (!sum)
    return std::nullopt;
  SmallVector<AffineMap> maps = sum.getIndexingMapsArray();
  auto shapeOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
  SmallVector<int64_t> from = getLoopSteps(maps[0], shapeOf(sum.getOperand(0))),
                       to = getLoopSteps(maps[1], shapeOf(sum.getResult(0))),
                       extents = sum.getStaticLoopRanges();
  // The step in the result of the loop that has one of some extent in the operand; -1: there is none.
  auto follow = [&](int64_t step, int64_t extent) -> int64_t {
    for (size_t loop = 0; loop < extents.size(); ++loop)
      if (from[loop] == step && extents[loop] == extent)
        return to[loop];
    return -1;
  };
  AttentionLayout made{{}, follow(layout.position, pairs.columns)};
  bool fits = made.position > 0 && follow(1, width) == 1;
  for (auto [number, step] : llvm::enumerate(layout.batch)) {
    made.batch.push_back(follow(step, pairs.batch[number]));
    fits &= number == pairs.group ? made.batch.back() == 0 : made.batch.back() > 0;
  }
  return fits ? std::optional(made) : std::nullopt;
}
