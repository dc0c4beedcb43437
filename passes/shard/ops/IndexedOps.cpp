//===- IndexedOps.cpp - What gathers and scatters mean for sharding -------===//
//
// Windows at computed positions. What a window takes whole of a dimension is parallel; positions are, too, in
// a gather, and in a scatter that adds they are a reduction. The dimension that positions are of may be split
// in two cases: a scatter drops what lies elsewhere, as it does with every window outside of its operand; a
// gather reads something and leaves zeros in its place, and the sum over the ranks has every window once.
// Positions count from the beginning of the whole tensor: each rank makes them count from that of its part.
// Reference: vocabularies split by rows (Megatron-LM, arXiv:1909.08053).
//
//===----------------------------------------------------------------------===//

#include "dialect/Indexed.h"
#include "passes/shard/analysis/ShardableOp.h"
#include "passes/shard/localize/Localize.h"
#include "passes/shard/ops/Models.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::epl;

using utils::IteratorType;

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// What windows take of the operand as a whole is parallel: the operand's dimension, written by a scatter as
/// well, and the windows'. A dimension where windows begin at computed positions is blocked.
static void linkWindows(FactorRule &rule, const IndexedAccess &access,
                        ArrayRef<SmallVector<int64_t> *> wholes, SmallVector<int64_t> &windows,
                        MutableArrayRef<SmallVector<int64_t>> indices) {
  for (int64_t dim = 0; dim < access.operand.getRank(); ++dim) {
    if (access.operandDims[dim] < 0 || !access.isWhole(dim))
      continue;
    SmallVector<FactorRule::Dim> dims = {{windows, access.operandDims[dim]}};
    for (SmallVector<int64_t> *whole : wholes)
      dims.push_back({*whole, dim});
    if (int64_t batch = access.getBatchDim(dim); batch >= 0)
      for (SmallVector<int64_t> &index : indices)
        dims.push_back({index, batch});
    rule.link(dims);
  }
}

/// Makes a factor of each dimension of the positions that is no batch: what it is read at, or written at.
static void linkPositions(FactorRule &rule, const IndexedAccess &access, SmallVector<int64_t> &windows,
                          MutableArrayRef<SmallVector<int64_t>> indices, IteratorType iterator) {
  for (auto [dim, window] : llvm::enumerate(access.indexDims)) {
    if (llvm::is_contained(access.operandDims, window))
      continue;
    SmallVector<FactorRule::Dim> dims = {{windows, window}};
    for (SmallVector<int64_t> &index : indices)
      dims.push_back({index, static_cast<int64_t>(dim)});
    rule.link(dims, iterator);
  }
}

/// Whether to complete a sum over the windows moves no more than to gather the operand. Members could not sum
/// booleans.
static bool isLookupCheaper(const IndexedAccess &access) {
  return access.operand.hasStaticShape() && access.windows.hasStaticShape() &&
         2 * access.windows.getNumElements() <= access.operand.getNumElements() &&
         !access.operand.getElementType().isInteger(1);
}

/// Each member can read what lies in its part and zeros elsewhere: a sum is pending then.
static void linkLookups(FactorRule &rule, const IndexedAccess &access) {
  if (!isLookupCheaper(access))
    return;
  for (int64_t dim : access.of) {
    if (!access.isElement(dim))
      continue;
    rule.lookups.push_back(rule.factors.size());
    rule.link({{rule.operands[0], dim}}, IteratorType::reduction);
  }
}

static FactorRule getGatherRule(GatherOp op) {
  FactorRule rule = getBlockedRule(op);
  IndexedAccess access(op);
  auto indices = MutableArrayRef(rule.operands).drop_front(1);
  linkWindows(rule, access, {&rule.operands[0]}, rule.results[0], indices);
  linkPositions(rule, access, rule.results[0], indices, IteratorType::parallel);
  linkLookups(rule, access);
  return rule;
}

/// Members can each write the updates that lie in their part, or each add their updates, a sum is pending
/// then. Other combinations have an order, or results that are no sum.
static FactorRule getScatterRule(ScatterOp op) {
  FactorRule rule = getBlockedRule(op);
  IndexedAccess access(op);
  auto indices = MutableArrayRef(rule.operands).drop_front(2);
  linkWindows(rule, access, {&rule.operands[1], &rule.results[0]}, rule.operands[0], indices);
  for (int64_t dim : access.of)
    if (access.isElement(dim))
      rule.link({{rule.operands[1], dim}, {rule.results[0], dim}});
  if (op.getCombine() == CombineKind::add)
    linkPositions(rule, access, rule.operands[0], indices, IteratorType::reduction);
  return rule;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// For each window, and each element that its position may be, the step that takes it if it is that: sets
/// the positions of the windows, which are operand or result, of what they are windows of, and of the
/// indices, which are operands from `firstIndex` on.
static Steps getWindowSteps(Operation *op, const IndexedAccess &access, unsigned firstIndex,
                            SmallVector<AffineExpr> &windows, SmallVector<AffineExpr> &whole) {
  MLIRContext *context = op->getContext();
  Steps steps(op);
  windows = steps.addLoops(context, access.windows.getShape());
  for (int64_t dim = 0; dim < access.operand.getRank(); ++dim) {
    bool isSame = access.operandDims[dim] >= 0 && access.isWhole(dim);
    whole.push_back(isSame ? windows[access.operandDims[dim]]
                           : steps.addLoop(context, access.operand.getDimSize(dim)));
  }
  SmallVector<AffineExpr> at =
      llvm::map_to_vector(access.indexDims, [&](int64_t dim) { return windows[dim]; });
  for (unsigned index = 0; index < access.indices.size(); ++index)
    steps.setOperand(firstIndex + index, at, context);
  return steps;
}

//===----------------------------------------------------------------------===//
// Statuses
//===----------------------------------------------------------------------===//

/// What is read is linear in the `numTensors` first operands; nothing is in the positions behind them.
static Status evaluateIndexed(ArrayRef<Status> operands, size_t numTensors) {
  bool isLinear = evaluateOpaque(operands.drop_front(numTensors)) == Status::normal;
  return isLinear ? joinAll(operands.take_front(numTensors)) : evaluateOpaque(operands);
}

//===----------------------------------------------------------------------===//
// Local ops
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// The models
//===----------------------------------------------------------------------===//

namespace {
struct GatherModel : ShardableOp::ExternalModel<GatherModel, GatherOp> {
  FactorRule getFactorRule(Operation *op) const { return getGatherRule(cast<GatherOp>(op)); }
  SmallVector<Steps> getSteps(Operation *op) const {
    SmallVector<AffineExpr> windows, whole;
    Steps steps = getWindowSteps(op, IndexedAccess(cast<GatherOp>(op)), 1, windows, whole);
    steps.setOperand(0, whole, op->getContext());
    steps.setResult(0, windows, op->getContext());
    return {steps};
  }
  SmallVector<Status> getStatuses(Operation *, ArrayRef<Status> operands, function_ref<Status(Value)>) const {
    return {evaluateIndexed(operands, 1)};
  }
  bool localize(Operation *op, Localizer &localizer) const {
    auto gather = cast<GatherOp>(op);
    PositionLowering lowering(op, gather.getOperand(), IndexedAccess(gather), localizer);
    GatherOp local = cloneLocal(gather, lowering, localizer, /*clamp=*/true);
    if (Operation *mask = lowering.createMask(local.getResult(), local.getIndices()))
      replaceByLocal(op, mask, localizer);
    return true;
  }
};

struct ScatterModel : ShardableOp::ExternalModel<ScatterModel, ScatterOp> {
  FactorRule getFactorRule(Operation *op) const { return getScatterRule(cast<ScatterOp>(op)); }
  SmallVector<Steps> getSteps(Operation *op) const {
    SmallVector<AffineExpr> windows, whole;
    Steps written = getWindowSteps(op, IndexedAccess(cast<ScatterOp>(op)), 2, windows, whole), kept(op);
    written.setOperand(0, windows, op->getContext());
    written.setResult(0, whole, op->getContext());
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    SmallVector<AffineExpr> same = kept.addLoops(op->getContext(), type.getShape());
    kept.setOperand(1, same, op->getContext());
    kept.setResult(0, same, op->getContext());
    return {written, kept};
  }
  /// Of combinations only adding is linear.
  SmallVector<Status> getStatuses(Operation *op, ArrayRef<Status> operands,
                                  function_ref<Status(Value)>) const {
    bool adds = cast<ScatterOp>(op).getCombine() == CombineKind::add;
    return {adds ? evaluateIndexed(operands, 2) : evaluateOpaque(operands)};
  }
  bool localize(Operation *op, Localizer &localizer) const {
    auto scatter = cast<ScatterOp>(op);
    PositionLowering lowering(op, scatter.getOperand(), IndexedAccess(scatter), localizer);
    cloneLocal(scatter, lowering, localizer, /*clamp=*/false);
    return true;
  }
  bool isWorthSkipping(Operation *op) const { return true; }
};
} // namespace

void mlir::epl::registerIndexedModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, EplDialect *) {
    GatherOp::attachInterface<GatherModel>(*context);
    ScatterOp::attachInterface<ScatterModel>(*context);
  });
}
