//===- OpRoles.h - What an op is to the clustering -----------------*- C++ -*-===//
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::epl {

/// What an op of a task body is to the clustering.
enum class OpRole {
  clone,         ///< so cheap that every cluster that reads it computes it again
  view,          ///< a reshape: free, wherever it stands
  contraction,   ///< a kernel of its own
  factorization, ///< a library's kernel
  fusion         ///< may share a kernel with others
};

OpRole getOpRole(Operation *op);

/// A sum of products of two or more operands: `linalg.matmul`, `linalg.conv_2d`, generalized.
bool isContraction(linalg::GenericOp generic);

/// A map each of whose results is a loop of its own or 0, any number of them.
bool choosesLoops(AffineMap map);

/// A generic that copies elements of its one input, in their order, to every place of its result. The input
/// may be a scalar: a fill.
bool isBroadcast(linalg::GenericOp generic);

/// A generic that only permutes the dimensions of its input.
bool isTranspose(linalg::GenericOp generic);

/// The map by which a generic that does nothing else reads the input that it copies, or null.
AffineMap getCopyMap(linalg::GenericOp generic);

/// An op that puts its source, of the result's rank, at known places among zeros.
bool insertsIntoZeros(tensor::InsertSliceOp op);

/// An op that does nothing but put zeros between the elements of its source: elements are `offset + i *
/// stride`, offsets being smaller than strides, as far as the result goes.
bool isDilation(tensor::InsertSliceOp op);

/// The constant that each element of `value` is, or null: of a fill, a splat or a scalar, reshaped or not.
Attribute getFillValue(Value value);

/// Whether `value` is made of constants by few scalar ops per element.
bool isCheapConstant(Value value);

/// Every value from outside that the op reads: its operands and what its regions capture.
llvm::SetVector<Value> getReadValues(Operation *op);

} // namespace mlir::epl
