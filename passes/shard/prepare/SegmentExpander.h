//===- SegmentExpander.h - Segments as dimensions of their own --*- C++ -*-===//
//
// What epl-expand-segments (ExpandSegments.cpp), the order of parts (SegmentShares.cpp) and the models of ops
// that have an expanded form (passes/shard/ops) share.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Sharding.h"
#include "passes/shard/prepare/Segments.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

namespace mlir::epl {

/// Rewrites one function. What an op becomes is said by its model (`ShardableOp::expandSegments`): an op is
/// built from operands in the form that it wants, whatever form they have, and says the form of what it
/// makes.
class SegmentExpander {
public:
  SegmentExpander(func::FuncOp function, MeshOp mesh, const Segments &segments)
      : mesh(mesh), builder(function.getContext()), function(function), segments(segments) {}

  void run();

  /// The form that a value of the function has in the end.
  Form getForm(Value value) const { return segments.getForm(value); }
  /// A value in the form that `user` wants. What is no tensor is what it was.
  Value getAs(Value value, ArrayRef<DimForm> wanted, Operation *user);
  /// Says that `made` is `old`, in the form `form`.
  void define(Value old, Value made, ArrayRef<DimForm> form);
  /// Makes an op with one operand and one result the same op on other shapes. True.
  bool expandPointwise(Operation *op, ArrayRef<DimForm> operandForm, ArrayRef<DimForm> resultForm);
  bool expandPointwise(Operation *op) {
    Form form = getForm(op->getResult(0));
    return expandPointwise(op, form, form);
  }

  MeshOp mesh;
  OpBuilder builder; ///< inserts before the op that is expanded

private:
  // Values.
  Value reshape(Value value, RankedTensorType whole, ArrayRef<DimForm> from, ArrayRef<DimForm> to,
                Attribute work);
  Value reshapeSegments(Value value, RankedTensorType whole, ArrayRef<DimForm> from, ArrayRef<DimForm> to);
  Value rematerialize(Value value, ArrayRef<DimForm> form);
  Value rematerialize(Operation *op, RankedTensorType type, ArrayRef<DimForm> form, OpBuilder &at);
  Attribute getWork(Operation *op);
  bool isSegmented(Value value) const { return hasSegments(getForm(value)); }

  // The function.
  void enter(BlockArgument argument);
  void process(Operation *op);
  void returnResults();
  SmallVector<NamedAttribute> getCallerAttrs(BlockArgument argument);
  void finishArguments();
  void eraseDead();

  func::FuncOp function;
  const Segments &segments;
  DenseMap<Value, Value> expanded; ///< of tensors with segments: what has them as dimensions
  DenseMap<Value, SmallVector<std::pair<Form, Value>>> rematerialized;
  SmallVector<std::pair<BlockArgument, UnrealizedConversionCastOp>> entered;
  SmallVector<Operation *> dead;
};

/// For each dimension of `type` the axes that split it, with two dimensions in the place of each that is
/// written so: the axes split each segment, or the shares of parts. Nothing if they cannot.
std::optional<SmallVector<SmallVector<StringRef>>> expandSegments(ArrayRef<SmallVector<StringRef>> dimAxes,
                                                                  MeshOp mesh, RankedTensorType type,
                                                                  ArrayRef<DimForm> form);

/// The sharding likewise. Null if the axes cannot split each segment or the shares.
ShardingAttr expandSegments(ShardingAttr sharding, MeshOp mesh, RankedTensorType type,
                            ArrayRef<DimForm> form);

/// Of (shares, extent of one), dimensions `at` and `at + 1`, one dimension of the parts behind each other.
Value joinShares(OpBuilder &builder, Value value, int64_t at, ArrayRef<int64_t> parts);

/// The inverse, of dimension `at`.
Value dealShares(OpBuilder &builder, Value value, int64_t at, ArrayRef<int64_t> parts, int64_t shares);

} // namespace mlir::epl
