//===- LocalizeIndexed.cpp - Gathers and scatters on local tensors --------===//
//
// Positions count from the beginning of the whole tensor. Where the dimension that they are of is split, each
// rank makes them count from the beginning of its part. A scatter then drops what lies elsewhere, as it does
// with every window outside of its operand; a gather reads something and leaves zeros in its place, and the
// sum over the ranks has every window once. Reference: vocabularies split by rows (Megatron-LM,
// arXiv:1909.08053).
//
//===----------------------------------------------------------------------===//

#include "dialect/Indexed.h"
#include "passes/shard/localize/Localize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::epl;

/// Positions of every width are computed in this one.
static constexpr unsigned kPositionBits = 64;

namespace {
/// Rewrites the positions of one gather or scatter of `operand`.
class PositionLowering {
public:
  PositionLowering(Operation *op, Value operand, IndexedAccess access, Localizer &localizer)
      : op(op), access(access), localizer(localizer), sharding(getSharding(operand)),
        mesh(lookupMesh(op, sharding.getMesh())), part(getLocalType(operand)) {}

  /// Makes `positions`, the local index tensors, count from the beginning of this rank's part where they are
  /// of a split dimension; `clamp` moves those outside of the whole tensor into it before.
  void offset(MutableOperandRange positions, bool clamp) {
    for (auto [dim, whole, local] : llvm::zip(access.of, access.indices, positions))
      if (isSplit(dim))
        local.set(createLocalPositions(whole, local.get(), dim, clamp));
  }

  /// `windows` of the result where the local `positions` lie in this rank's part, zeros elsewhere; null if no
  /// dimension of positions is split.
  Operation *createMask(Value windows, ValueRange positions) {
    SmallVector<int64_t> extents;
    SmallVector<Value> inputs = {windows};
    for (auto [dim, local] : llvm::zip(access.of, positions)) {
      if (!isSplit(dim))
        continue;
      extents.push_back(part.getDimSize(dim));
      inputs.push_back(local);
    }
    if (extents.empty())
      return nullptr;
    return createMap(cast<RankedTensorType>(windows.getType()), getSharding(op->getResult(0)), inputs,
                     [&](OpBuilder &at, ValueRange elements) { return createSelect(at, elements, extents); });
  }

private:
  /// Whether positions of dimension `dim` point into parts. A window that takes all of it has a part on each
  /// rank, and its position is the same on all.
  bool isSplit(int64_t dim) const { return access.isElement(dim) && !sharding.getDimAxes(dim).empty(); }

  Value createInteger(OpBuilder &at, int64_t value) {
    return arith::ConstantIntOp::create(at, op->getLoc(), value, kPositionBits);
  }

  Value createLocalPositions(Value whole, Value local, int64_t dim, bool clamp) {
    auto type = cast<RankedTensorType>(local.getType());
    Type wide = localizer.builder.getIntegerType(kPositionBits);
    auto subtract = [&](OpBuilder &at, ValueRange elements) -> Value {
      Value position = elements[0];
      if (position.getType() != wide)
        position = arith::ExtSIOp::create(at, op->getLoc(), wide, position);
      if (clamp)
        position = createClamp(at, position, access.operand.getDimSize(dim) - 1);
      Value begin =
          localizer.createOffset(at, op->getLoc(), mesh, sharding.getDimAxes(dim), part.getDimSize(dim));
      begin = arith::IndexCastOp::create(at, op->getLoc(), wide, begin);
      return arith::SubIOp::create(at, op->getLoc(), position, begin);
    };
    return createMap(type.clone(wide), getSharding(whole), local, subtract)->getResult(0);
  }

  Value createClamp(OpBuilder &at, Value position, int64_t last) {
    position = arith::MaxSIOp::create(at, op->getLoc(), position, createInteger(at, 0));
    return arith::MinSIOp::create(at, op->getLoc(), position, createInteger(at, last));
  }

  /// The first element if all others, which are positions, are below their extents. As an unsigned number a
  /// position before the part is larger than any extent.
  Value createSelect(OpBuilder &at, ValueRange elements, ArrayRef<int64_t> extents) {
    Type type = elements[0].getType();
    Value zero = arith::ConstantOp::create(at, op->getLoc(), cast<TypedAttr>(at.getZeroAttr(type)));
    Value result = elements[0];
    for (auto [position, extent] : llvm::zip_equal(elements.drop_front(), extents)) {
      Value inside = arith::CmpIOp::create(at, op->getLoc(), arith::CmpIPredicate::ult, position,
                                           createInteger(at, extent));
      result = arith::SelectOp::create(at, op->getLoc(), inside, result, zero);
    }
    return result;
  }

  /// A tensor whose elements `body` computes: of the first input, which has its shape, and of positions.
  Operation *createMap(RankedTensorType type, ShardingAttr as, ValueRange inputs,
                       function_ref<Value(OpBuilder &, ValueRange)> body) {
    AffineMap identity = localizer.builder.getMultiDimIdentityMap(type.getRank());
    SmallVector<AffineMap> maps(inputs.size(), identity.getSubMap(SmallVector<unsigned>(access.indexDims)));
    maps.front() = identity;
    return localizer.createMap(op, type, as, inputs, maps, body);
  }

  Operation *op;
  IndexedAccess access;
  Localizer &localizer;
  ShardingAttr sharding; ///< of the operand
  MeshOp mesh;
  RankedTensorType part;
};
} // namespace

/// The local op, with positions that count from the beginning of this rank's part.
template <typename IndexedOp>
static IndexedOp cloneLocal(IndexedOp op, PositionLowering &lowering, Localizer &localizer, bool clamp) {
  auto local = cast<IndexedOp>(localizer.cloneLocal(op));
  OpBuilder::InsertionGuard guard(localizer.builder);
  localizer.builder.setInsertionPoint(local);
  lowering.offset(local.getIndicesMutable(), clamp);
  return local;
}

void mlir::epl::localizeGather(GatherOp op, Localizer &localizer) {
  PositionLowering lowering(op, op.getOperand(), IndexedAccess(op), localizer);
  GatherOp local = cloneLocal(op, lowering, localizer, /*clamp=*/true);
  if (Operation *mask = lowering.createMask(local.getResult(), local.getIndices()))
    replaceByLocal(op, mask, localizer);
}

void mlir::epl::localizeScatter(ScatterOp op, Localizer &localizer) {
  PositionLowering lowering(op, op.getOperand(), IndexedAccess(op), localizer);
  cloneLocal(op, lowering, localizer, /*clamp=*/false);
}
