//===- NormalizeContractions.cpp - Contractions without transposes --------===//
//
// Problem: front ends transpose what they contract (JAX does so to every weight gradient), and each such
// transpose moves a whole matrix. Matrix libraries read and write transposed operands for free.
// Method: a transpose or broadcast of an operand, and a transpose that is the only use of the result, become
// part of the contraction's indexing maps; then the operands are ordered so that the result's minor
// dimension comes from the second one, which is how row-major libraries want it.
//
// In: task bodies of flat ops. Out: the same values; contractions read what was transposed.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/OpRoles.h"
#include "passes/kernel/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::epl {
#define GEN_PASS_DEF_NORMALIZECONTRACTIONS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;
using linalg::GenericOp;

namespace {

void setMap(GenericOp op, OpOperand &operand, AffineMap map) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps[operand.getOperandNumber()] = map;
  op.setIndexingMapsAttr(Builder(op).getAffineMapArrayAttr(maps));
}

/// Reads the source of a transpose or broadcast instead of its result.
bool foldInput(GenericOp op, OpOperand &input) {
  auto source = input.get().getDefiningOp<GenericOp>();
  if (!source || !(isTranspose(source) || isBroadcast(source)))
    return false;
  AffineMap read = source.getIndexingMapsArray().front();
  if (!isa<RankedTensorType>(source.getOperand(0).getType()) || !read.isProjectedPermutation())
    return false;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps[input.getOperandNumber()] = read.compose(maps[input.getOperandNumber()]);
  if (!inversePermutation(concatAffineMaps(maps, op.getContext()))) // every loop needs a dimension
    return false;
  input.set(source.getOperand(0));
  setMap(op, input, maps[input.getOperandNumber()]);
  return true;
}

/// The same fill for another type of equal rank and elements, or null if `init` is no fill.
Value refill(Value init, RankedTensorType type, OpBuilder &builder) {
  auto fill = init.getDefiningOp<GenericOp>();
  if (!fill || !getFillValue(init) || fill.getIndexingMapsArray().front().getNumResults() != 0)
    return {};
  IRMapping mapping;
  mapping.map(fill.getOperand(1),
              tensor::EmptyOp::create(builder, fill.getLoc(), type.getShape(), type.getElementType()));
  auto copy = cast<GenericOp>(builder.clone(*fill, mapping));
  copy.getResult(0).setType(type);
  return copy.getResult(0);
}

/// Writes the result of a transpose instead of its source.
bool foldResult(GenericOp op) {
  if (!op->hasOneUse())
    return false;
  auto user = dyn_cast<GenericOp>(*op->user_begin());
  if (!user || !isTranspose(user) || user.getOperand(0) != op.getResult(0))
    return false;
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(user.getResult(0).getType());
  OpOperand &init = *op.getDpsInitOperand(0);
  Value fill = refill(init.get(), type, builder);
  if (!fill)
    return false;
  init.set(fill);
  setMap(op, init,
         inversePermutation(user.getIndexingMapsArray().front()).compose(op.getMatchingIndexingMap(&init)));
  op.getResult(0).setType(type);
  user.getResult(0).replaceAllUsesWith(op.getResult(0));
  user.erase();
  return true;
}

bool hasDim(AffineMap map, AffineExpr dim) { return llvm::is_contained(map.getResults(), dim); }

/// Whether the minor-most dimension of the result that one operand alone has is the first operand's.
bool isMinorFromFirst(GenericOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (AffineExpr expr : llvm::reverse(maps[2].getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || ranges[dim.getPosition()] == 1 || hasDim(maps[0], dim) == hasDim(maps[1], dim))
      continue;
    return hasDim(maps[0], dim);
  }
  return false;
}

/// Swaps the operands of the product.
void orderOperands(GenericOp op) {
  OpOperand &a = op->getOpOperand(0), &b = op->getOpOperand(1);
  Block *body = op.getBody();
  if (op.getNumDpsInputs() != 2 || body->getArgument(0).getType() != body->getArgument(1).getType() ||
      !isMinorFromFirst(op))
    return;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  std::swap(maps[0], maps[1]);
  op.setIndexingMapsAttr(Builder(op).getAffineMapArrayAttr(maps));
  Value first = a.get();
  a.set(b.get());
  b.set(first);
}

struct NormalizeContractionsPass : epl::impl::NormalizeContractionsBase<NormalizeContractionsPass> {
  void runOnOperation() override {
    SmallVector<GenericOp> contractions;
    getOperation().walk([&](GenericOp op) {
      if (isContraction(op) && isa<TaskOp>(op->getParentOp()))
        contractions.push_back(op);
    });
    for (GenericOp op : contractions) {
      for (OpOperand *input : op.getDpsInputOperands())
        while (foldInput(op, *input))
          ;
      while (foldResult(op))
        ;
      orderOperands(op);
    }
  }
};

} // namespace
