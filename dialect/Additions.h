//===- Additions.h - Sums of two tensors ------------------------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::epl {

/// Whether `op` adds two tensors of one type, its inputs, element by element.
inline bool isAddition(linalg::GenericOp op) {
  Block &body = *op.getBody();
  Operation &sum = body.front();
  return op.getNumReductionLoops() == 0 && op.getNumDpsInputs() == 2 && op.getNumDpsInits() == 1 &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) { return map.isIdentity(); }) &&
         isa<arith::AddFOp, arith::AddIOp>(sum) && body.getOperations().size() == 2 &&
         body.getTerminator()->getOperand(0) == sum.getResult(0) &&
         llvm::all_of(sum.getOperands(), llvm::IsaPred<BlockArgument>) &&
         sum.getOperand(0) != sum.getOperand(1) && !body.getArgument(2).hasOneUse() &&
         op.getOperand(0).getType() == op.getOperand(1).getType();
}

} // namespace mlir::epl
