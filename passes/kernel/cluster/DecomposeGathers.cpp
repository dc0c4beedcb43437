//===- DecomposeGathers.cpp - Gathers as generics that read elements ------===//
//
// Problem: what reads or makes the elements around a gather should share its kernel.
// Method: a gather is a `linalg.generic` over its result whose body computes where the element is (positions
// are read by maps, and moved into the operand) and extracts it. Clustering and loop nests know such bodies;
// only the operand itself must be in memory.
//
// In: task bodies. Out: no `epl.gather`. Reference: docs/design.md, section 6.
//
//===----------------------------------------------------------------------===//

#include "dialect/Indexed.h"
#include "passes/kernel/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::epl {
#define GEN_PASS_DEF_DECOMPOSEGATHERS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

/// Where windows begin along a dimension of the operand: `position`, but such that they end inside.
static Value clampStart(OpBuilder &b, Location loc, Value position, int64_t highest) {
  Value index = arith::IndexCastOp::create(b, loc, b.getIndexType(), position);
  index = arith::MaxSIOp::create(b, loc, index, arith::ConstantIndexOp::create(b, loc, 0));
  return arith::MinSIOp::create(b, loc, index, arith::ConstantIndexOp::create(b, loc, highest));
}

/// Fills the body: `positions` are the elements of the index tensors.
static void buildBody(OpBuilder &b, Location loc, const IndexedAccess &access, Value operand,
                      ValueRange positions) {
  SmallVector<Value> at;
  for (int64_t dim = 0; dim < access.operand.getRank(); ++dim) {
    Value index;
    if (access.operandDims[dim] >= 0)
      index = linalg::IndexOp::create(b, loc, access.operandDims[dim]);
    const auto *of = llvm::find(access.of, dim);
    int64_t highest = access.operand.getDimSize(dim) - access.getWindow(dim);
    if (of != access.of.end() && highest > 0) {
      Value start = clampStart(b, loc, positions[of - access.of.begin()], highest);
      index = index ? arith::AddIOp::create(b, loc, start, index).getResult() : start;
    }
    at.push_back(index ? index : arith::ConstantIndexOp::create(b, loc, 0).getResult());
  }
  Value element = tensor::ExtractOp::create(b, loc, operand, at);
  linalg::YieldOp::create(b, loc, element);
}

static void decompose(GatherOp op) {
  OpBuilder b(op);
  IndexedAccess access(op);
  RankedTensorType type = op.getType();
  SmallVector<AffineExpr> indexDims;
  for (int64_t dim : access.indexDims)
    indexDims.push_back(b.getAffineDimExpr(dim));
  SmallVector<AffineMap> maps(access.indices.size(),
                              AffineMap::get(type.getRank(), 0, indexDims, b.getContext()));
  maps.push_back(b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  Value init = tensor::EmptyOp::create(b, op.getLoc(), type.getShape(), type.getElementType());
  auto generic =
      linalg::GenericOp::create(b, op.getLoc(), type, access.indices, init, maps, iterators,
                                [&](OpBuilder &body, Location loc, ValueRange arguments) {
                                  buildBody(body, loc, access, op.getOperand(), arguments.drop_back());
                                });
  generic->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op.replaceAllUsesWith(generic.getOperation());
  op.erase();
}

namespace {
struct DecomposeGathersPass : epl::impl::DecomposeGathersBase<DecomposeGathersPass> {
  void runOnOperation() override {
    getOperation().walk([](GatherOp op) { decompose(op); });
  }
};
} // namespace
