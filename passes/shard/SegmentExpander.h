//===- SegmentExpander.h - Segments as dimensions of their own --*- C++ -*-===//
//
// What the files of epl-expand-segments share: the walk that rewrites a function (ExpandSegments.cpp) and
// what becomes of each kind of op (ExpandSegmentsOps.cpp).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Sharding.h"
#include "passes/shard/Segments.h"

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
  Widths getWidths(Value value) const { return segments.getWidths(value); }
  Value getAs(Value value, ArrayRef<int64_t> wanted, Operation *user);
  void define(Value old, Value made, ArrayRef<int64_t> widths);
  Value reshape(Value value, RankedTensorType whole, ArrayRef<int64_t> from, ArrayRef<int64_t> to,
                Attribute work);
  Value remake(Value value, ArrayRef<int64_t> widths);
  Value remake(Operation *op, RankedTensorType type, ArrayRef<int64_t> widths, OpBuilder &at);
  Attribute getWork(Operation *op);
  bool isSegmented(Value value) const { return hasSegments(getWidths(value)); }

  // The function.
  void enter(BlockArgument argument);
  void process(Operation *op);
  void returnResults();
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
  bool expandPointwise(Operation *op, ArrayRef<int64_t> operandWidths, ArrayRef<int64_t> resultWidths);

  func::FuncOp function;
  MeshOp mesh;
  const Segments &segments;
  OpBuilder builder;
  DenseMap<Value, Value> expanded; ///< of tensors with segments: what has them as dimensions
  DenseMap<Value, SmallVector<std::pair<Widths, Value>>> remade;
  SmallVector<std::pair<BlockArgument, UnrealizedConversionCastOp>> entered;
  SmallVector<Operation *> dead;
};

/// For each dimension the axes that split it, with two dimensions in the place of each that has segments: the
/// axes split each segment. Nothing if they cannot.
std::optional<SmallVector<SmallVector<StringRef>>> expandSegments(ArrayRef<SmallVector<StringRef>> dimAxes,
                                                                  MeshOp mesh, ArrayRef<int64_t> widths);

/// The sharding likewise. Null if the axes cannot split each segment.
ShardingAttr expandSegments(ShardingAttr sharding, MeshOp mesh, ArrayRef<int64_t> widths);

} // namespace mlir::epl
