//===- Repetitions.cpp - Contractions of what is repeated ------------------===//
//
// Problem: where heads of queries share those of keys and values, programs repeat the latter, and so each is
// in memory several times. Method: what is repeated is a broadcast to a dimension of its own, which a reshape
// then merges with its neighbour. A contraction that steps through both with one loop gets two, all its
// operands and its result having two dimensions there; then its operand is a broadcast, which becomes part of
// its maps (NormalizeContractions.cpp).
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/match/Repetitions.h"

#include "passes/kernel/cluster/OpRoles.h"
#include "passes/kernel/match/Transposes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::epl;
using linalg::GenericOp;

namespace {

/// A loop of a contraction as an outer and an inner one.
struct LoopSplit {
  unsigned loop;
  int64_t outer, inner;
};

/// The loop that steps through two dimensions of a broadcast, of which one repeats, as one.
std::optional<LoopSplit> findRepeatedLoop(GenericOp op, OpOperand &input) {
  auto merged = input.get().getDefiningOp<tensor::CollapseShapeOp>();
  auto repeated = merged ? merged.getSrc().getDefiningOp<GenericOp>() : GenericOp();
  if (!repeated || !isBroadcast(repeated) || !isa<RankedTensorType>(repeated.getOperand(0).getType()))
    return std::nullopt;
  AffineMap read = repeated.getIndexingMapsArray().front();
  auto isRepeated = [&](int64_t dim) {
    return repeated.getStaticLoopRanges()[dim] != 1 && !read.isFunctionOfDim(dim);
  };
  for (auto [number, dims] : llvm::enumerate(merged.getReassociationIndices())) {
    if (dims.size() != 2 || isRepeated(dims[0]) == isRepeated(dims[1]))
      continue;
    auto loop = dyn_cast<AffineDimExpr>(op.getMatchingIndexingMap(&input).getResult(number));
    if (loop)
      return LoopSplit{loop.getPosition(), repeated.getStaticLoopRanges()[dims[0]],
                       repeated.getStaticLoopRanges()[dims[1]]};
  }
  return std::nullopt;
}

/// Whether operands step by the loop along whole dimensions, or not at all.
bool isDimension(GenericOp op, unsigned loop) {
  return op.getIteratorTypesArray()[loop] == utils::IteratorType::parallel &&
         llvm::all_of(op.getIndexingMapsArray(), [&](AffineMap map) {
           return llvm::all_of(map.getResults(), [&](AffineExpr expr) {
             return isa<AffineDimExpr>(expr) || !expr.isFunctionOfDim(loop);
           });
         });
}

/// Tensors and maps of a contraction with the loops of a split.
class Splitter {
public:
  Splitter(GenericOp op, LoopSplit split) : op(op), split(split), builder(op) {}

  GenericOp run() {
    SmallVector<AffineMap> maps;
    for (AffineMap map : op.getIndexingMapsArray())
      maps.push_back(splitMap(map));
    SmallVector<Value> inputs;
    for (OpOperand *input : op.getDpsInputOperands())
      inputs.push_back(expand(input->get(), op.getMatchingIndexingMap(input)));
    Value init = fill();
    SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
    iterators.insert(iterators.begin() + split.loop, utils::IteratorType::parallel);
    auto made = GenericOp::create(builder, op.getLoc(), init.getType(), inputs, init, maps, iterators);
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    made.getRegion().takeBody(op.getRegion());
    replace(made);
    return made;
  }

private:
  AffineMap getResultMap() { return op.getMatchingIndexingMap(op.getDpsInitOperand(0)); }

  /// Loops behind the split one are one further.
  AffineMap splitMap(AffineMap map) {
    SmallVector<AffineExpr> loops, results;
    for (unsigned loop = 0; loop < map.getNumDims(); ++loop)
      loops.push_back(builder.getAffineDimExpr(loop + (loop > split.loop)));
    for (AffineExpr expr : map.getResults()) {
      results.push_back(expr.replaceDims(loops));
      if (expr == builder.getAffineDimExpr(split.loop))
        results.push_back(builder.getAffineDimExpr(split.loop + 1));
    }
    return AffineMap::get(map.getNumDims() + 1, 0, results, builder.getContext());
  }

  /// The dimensions of the split tensor for each of the whole one, and its type.
  std::pair<SmallVector<ReassociationIndices>, RankedTensorType> getSplit(RankedTensorType type,
                                                                          AffineMap map) {
    SmallVector<ReassociationIndices> groups;
    SmallVector<int64_t> shape;
    for (auto [expr, extent] : llvm::zip_equal(map.getResults(), type.getShape())) {
      bool isSplit = expr == builder.getAffineDimExpr(split.loop);
      groups.emplace_back();
      for (int64_t part :
           isSplit ? SmallVector<int64_t>{split.outer, split.inner} : SmallVector<int64_t>{extent}) {
        groups.back().push_back(int64_t(shape.size()));
        shape.push_back(part);
      }
    }
    return {groups, type.clone(shape)};
  }

  Value expand(Value value, AffineMap map) {
    auto type = cast<RankedTensorType>(value.getType());
    auto [groups, made] = getSplit(type, map);
    if (made.getRank() == type.getRank())
      return value;
    auto merged = value.getDefiningOp<tensor::CollapseShapeOp>();
    if (merged && merged.getSrcType() == made && merged.getReassociationIndices() == groups)
      return merged.getSrc();
    return tensor::ExpandShapeOp::create(builder, op.getLoc(), made, value, groups);
  }

  /// What the sums start from.
  Value fill() {
    auto from = op.getDpsInits()[0].getDefiningOp<GenericOp>();
    auto [_, type] = getSplit(cast<RankedTensorType>(op.getResult(0).getType()), getResultMap());
    int64_t rank = type.getRank();
    Value empty = tensor::EmptyOp::create(builder, from.getLoc(), type.getShape(), type.getElementType());
    return GenericOp::create(builder, from.getLoc(), type, from.getInputs(), empty,
                             ArrayRef<AffineMap>{AffineMap::get(rank, 0, builder.getContext()),
                                                 builder.getMultiDimIdentityMap(rank)},
                             SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
                             [](OpBuilder &b, Location loc, ValueRange arguments) {
                               linalg::YieldOp::create(b, loc, arguments.front());
                             })
        .getResult(0);
  }

  void replace(GenericOp made) {
    auto type = cast<RankedTensorType>(op.getResult(0).getType());
    auto [groups, _] = getSplit(type, getResultMap());
    Value result = made.getResult(0);
    if (result.getType() != type)
      result = tensor::CollapseShapeOp::create(builder, op.getLoc(), type, result, groups);
    op.getResult(0).replaceAllUsesWith(result);
    op.erase();
  }

  GenericOp op;
  LoopSplit split;
  OpBuilder builder;
};

} // namespace

GenericOp mlir::epl::splitRepeatedLoop(GenericOp op) {
  for (OpOperand *input : op.getDpsInputOperands())
    if (std::optional<LoopSplit> split = findRepeatedLoop(op, *input);
        split && isDimension(op, split->loop) && startsFromFill(op))
      return Splitter(op, *split).run();
  return {};
}
