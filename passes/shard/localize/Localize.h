//===- Localize.h - Rewriting a function into local shapes ------*- C++ -*-===//
//
// What `epl-localize` (Localize.cpp), its reshards (LocalizeReshards.cpp) and the models of ops that are not
// the same op on local tensors (passes/shard/ops) share.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Sharding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::epl {

/// A tensor of `type` whose elements `body` computes from those of `inputs` that `maps`, one each, choose.
/// `stamp` gets each op that is made.
Operation *createMap(OpBuilder &builder, Location loc, RankedTensorType type, ValueRange inputs,
                     ArrayRef<AffineMap> maps, function_ref<Value(OpBuilder &, ValueRange)> body,
                     function_ref<void(Operation *)> stamp);

/// The local function under construction.
class Localizer {
public:
  /// Builds into `body`, the block of the local function.
  explicit Localizer(Block *body) : builder(OpBuilder::atBlockEnd(body)), body(body) {}
  virtual ~Localizer() = default;

  /// The coordinate of this rank on `axis`: one op for each axis, at the top of the body.
  Value getAxisIndex(FlatSymbolRefAttr mesh, StringRef axis);

  /// Where this rank's part begins in a dimension that `axes` of `mesh`, major to minor, split into parts of
  /// `extent` elements. The arithmetic goes where `at` inserts.
  Value createOffset(OpBuilder &at, Location loc, MeshOp mesh, ArrayRef<StringRef> axes, int64_t extent);

  /// The clone of a global op on local values, with the local types of its results.
  Operation *cloneLocal(Operation *op);

  /// This rank's part of a whole (replicated) `tensor` whose dimensions are split as `to` says where `from`
  /// does not yet.
  virtual Value createSlice(Location loc, Value tensor, MeshOp mesh, ShardingAttr from, ShardingAttr to);

  /// `value`, distributed as `from` says, as an addend of what is pending as `to` says: itself on the first
  /// members along the axes that become pending, the neutral element on the others. Part of what `global`
  /// becomes.
  Value createMask(Operation *global, Value value, MeshOp mesh, ShardingAttr from, ShardingAttr to);

  /// Marks an op that `global` becomes with the work of `global` and with what its tensors are parts of.
  void stamp(Operation *local, Operation *global, ShardingAttr as);

  /// The same of local tensors, of which the result is a part as `as` says. Part of what `global` becomes.
  Operation *createMap(Operation *global, RankedTensorType type, ShardingAttr as, ValueRange inputs,
                       ArrayRef<AffineMap> maps, function_ref<Value(OpBuilder &, ValueRange)> body);

  OpBuilder builder;
  IRMapping values; ///< global values and what they became

private:
  Block *body;
  llvm::MapVector<std::pair<Attribute, StringRef>, Value> axisIndices;
};

/// The type that one rank holds of a global tensor value.
RankedTensorType getLocalType(Value global);

/// Puts `local` in the place of the results of `op` and keeps what is known about the op.
void replaceByLocal(Operation *op, Operation *local, Localizer &localizer);

/// The scalar op of a reduction, whose neutral element is known upstream.
arith::AtomicRMWKind getCombiner(ReductionKind kind, Type element);

/// The type in which sums of several addends are added up: what is narrower than f32 would be rounded with
/// each.
Type getSumType(Type element);

/// Rewrites a reshard into collectives and slices.
void localizeReshard(ReshardOp op, Localizer &localizer);

} // namespace mlir::epl
