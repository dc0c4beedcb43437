//===- Elementwise.cpp - What is cheap to do once more --------------------===//

#include "passes/shard/analysis/Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

bool mlir::epl::isElementwise(Operation *op) {
  if (isa<arith::ArithDialect>(op->getDialect()) ||
      isa<tensor::EmptyOp, tensor::SplatOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return true;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && generic.getNumReductionLoops() == 0;
}
