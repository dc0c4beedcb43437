//===- SegmentExpander.h - Segments as dimensions of their own --*- C++ -*-===//
//
// What the files of epl-expand-segments share: the walk that rewrites a function (ExpandSegments.cpp),
// what becomes of each kind of op (ExpandSegmentsOps.cpp), and the order of parts (SegmentShares.cpp).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Sharding.h"
#include "passes/shard/prepare/Segments.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

namespace mlir::epl {

/// Rewrites one function.
class SegmentExpander {
public:
  SegmentExpander(func::FuncOp function, MeshOp mesh, const Segments &segments)
      : function(function), mesh(mesh), segments(segments), builder(function.getContext()) {}

  void run();

private:
  // Values. An op is built from operands in the form that it wants, whatever form they have, and says the
  // form of what it makes.
  Form getForm(Value value) const { return segments.getForm(value); }
  Value getAs(Value value, ArrayRef<DimForm> wanted, Operation *user);
  void define(Value old, Value made, ArrayRef<DimForm> form);
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

  // Ops: whether there is an expanded form.
  bool expand(Operation *op);
  bool expandGeneric(linalg::GenericOp op);
  bool expandExtractSlice(tensor::ExtractSliceOp op);
  bool expandInsertSlice(tensor::InsertSliceOp op);
  bool expandPad(tensor::PadOp op);
  bool expandConcatenate(ConcatenateOp op);
  bool expandShape(tensor::ExpandShapeOp op);
  bool collapseShape(tensor::CollapseShapeOp op);
  bool expandConstant(arith::ConstantOp op);
  bool expandReshard(ReshardOp op);
  bool expandConstrain(ConstrainOp op);
  bool expandStack(Operation *op);
  bool expandPointwise(Operation *op, ArrayRef<DimForm> operandForm, ArrayRef<DimForm> resultForm);

  func::FuncOp function;
  MeshOp mesh;
  const Segments &segments;
  OpBuilder builder;
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
