//===- NormalizeContractions.cpp - Contractions without transposes --------===//
//
// Problem: front ends transpose what they contract (JAX does so to every weight gradient), and each such
// transpose moves a whole matrix. Matrix libraries read and write transposed operands for free.
// Method: a transpose or broadcast of an operand, and a transpose that is the only use of the result, become
// part of the contraction's indexing maps, also through a scale or a rounding (Transposes.h); what is
// repeated is read once (Repetitions.h). Then the operands are ordered so that the result's minor dimension
// comes from the second one, which is how row-major libraries want it. The gradients of convolutions read
// reversed weights, which becomes part of the maps too, and elements with zeros between them: these are
// inserted right before the contraction, so that they share a kernel, which skips the zeros.
//
// In: task bodies of flat ops. Out: the same values; contractions read what was transposed.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Passes.h"
#include "passes/kernel/cluster/OpRoles.h"
#include "passes/kernel/match/Repetitions.h"
#include "passes/kernel/match/Transposes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::epl {
#define GEN_PASS_DEF_NORMALIZECONTRACTIONS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;
using linalg::GenericOp;

namespace {

void setMap(GenericOp op, OpOperand &operand, AffineMap map) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps[operand.getOperandNumber()] = map;
  op.setIndexingMapsAttr(Builder(op).getAffineMapArrayAttr(maps));
}

/// Reads the source of a transpose or broadcast instead of its result.
bool foldInput(GenericOp op, OpOperand &input) {
  auto source = input.get().getDefiningOp<GenericOp>();
  if (!source || !(isTranspose(source) || isBroadcast(source)))
    return false;
  AffineMap read = source.getIndexingMapsArray().front();
  if (!isa<RankedTensorType>(source.getOperand(0).getType()) || !read.isProjectedPermutation())
    return false;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps[input.getOperandNumber()] = read.compose(maps[input.getOperandNumber()]);
  if (!inversePermutation(concatAffineMaps(maps, op.getContext()))) // every loop needs a dimension
    return false;
  input.set(source.getOperand(0));
  setMap(op, input, maps[input.getOperandNumber()]);
  return true;
}

/// For each dimension of a generic's input whether it is read backwards; nothing if the generic does anything
/// else.
std::optional<SmallVector<bool>> getReversal(GenericOp op) {
  AffineMap map = getCopyMap(op);
  auto type = map ? dyn_cast<RankedTensorType>(op.getOperand(0).getType()) : RankedTensorType();
  if (!type || map.getNumResults() != map.getNumDims())
    return std::nullopt;
  SmallVector<bool> reversed;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    AffineExpr forward = getAffineDimExpr(dim, op.getContext());
    reversed.push_back(expr == type.getDimSize(dim) - 1 - forward);
    if (!reversed.back() && expr != forward)
      return std::nullopt;
  }
  return reversed;
}

bool hasDim(AffineMap map, AffineExpr dim) { return llvm::is_contained(map.getResults(), dim); }

/// Whether `input` reads each element along `loop`, a sum, and nothing else, and only windows of others do so
/// too: where the other operand reads each element as well, a library goes forwards only.
bool mayTurn(GenericOp op, OpOperand &input, AffineDimExpr loop) {
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    bool isInput = &operand == &input;
    int64_t reads = llvm::count_if(map.getResults(),
                                   [&](AffineExpr expr) { return expr.isFunctionOfDim(loop.getPosition()); });
    if (isInput ? reads != 1 : hasDim(map, loop) || (op.isDpsInit(&operand) && reads != 0))
      return false;
  }
  return true;
}

/// Reads the source of a reversal instead of its result: sums go through the other operand backwards.
bool foldReversal(GenericOp op, OpOperand &input) {
  auto source = input.get().getDefiningOp<GenericOp>();
  std::optional<SmallVector<bool>> reversed = source ? getReversal(source) : std::nullopt;
  if (!reversed)
    return false;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineMap read = maps[input.getOperandNumber()];
  SmallVector<AffineExpr> loops;
  for (unsigned loop = 0; loop < read.getNumDims(); ++loop)
    loops.push_back(getAffineDimExpr(loop, op.getContext()));
  for (auto [dim, expr] : llvm::enumerate(read.getResults())) {
    if (!(*reversed)[dim])
      continue;
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (!loop || !mayTurn(op, input, loop))
      return false;
    loops[loop.getPosition()] = op.getStaticLoopRanges()[loop.getPosition()] - 1 - loop;
  }
  for (AffineMap &map : maps)
    map = map.replaceDimsAndSymbols(loops, {}, loops.size(), 0);
  maps[input.getOperandNumber()] = read;
  input.set(source.getOperand(0));
  op.setIndexingMapsAttr(Builder(op).getAffineMapArrayAttr(maps));
  return true;
}

/// The insertion that spreads elements, zeros being between them, in `value`, a view of its result or itself.
/// Null if there is none, or if the view splits dimensions with zeros.
tensor::InsertSliceOp getSpread(Value value) {
  auto view = value.getDefiningOp<tensor::ExpandShapeOp>();
  auto insert = (view ? view.getSrc() : value).getDefiningOp<tensor::InsertSliceOp>();
  if (!insert || !insertsIntoZeros(insert) ||
      llvm::all_of(insert.getStaticStrides(), [](int64_t stride) { return stride == 1; }))
    return {};
  for (int64_t dim = 0; view && dim < insert.getType().getRank(); ++dim)
    if (view.getReassociationIndices()[dim].size() != 1 &&
        insert.getSourceType().getDimSize(dim) != insert.getType().getDimSize(dim))
      return {};
  return insert;
}

/// The source of `insert`, with as many zeros round it as make the insertion a dilation.
Value padSource(tensor::InsertSliceOp insert, OpBuilder &builder) {
  SmallVector<int64_t> shape;
  SmallVector<OpFoldResult> low, high;
  for (int64_t dim = 0; dim < insert.getType().getRank(); ++dim) {
    int64_t offset = insert.getStaticOffset(dim), stride = insert.getStaticStride(dim);
    shape.push_back(llvm::divideCeil(insert.getType().getDimSize(dim) - offset % stride, stride));
    low.push_back(builder.getIndexAttr(offset / stride));
    high.push_back(
        builder.getIndexAttr(shape.back() - offset / stride - insert.getSourceType().getDimSize(dim)));
  }
  RankedTensorType type = insert.getSourceType().clone(shape);
  if (type == insert.getSourceType())
    return insert.getSource();
  Location loc = insert.getLoc();
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type.getElementType()));
  return tensor::PadOp::create(builder, loc, type, insert.getSource(), low, high, zero);
}

/// Reads a dilation, whose zeros its kernel skips, instead of elements that are spread in another way.
bool dilateInput(GenericOp op, OpOperand &input) {
  tensor::InsertSliceOp insert = getSpread(input.get());
  if (!insert || getOpRole(input.get().getDefiningOp()) == OpRole::clone)
    return false;
  OpBuilder builder(op);
  Value source = padSource(insert, builder);
  auto type = cast<RankedTensorType>(input.get().getType());
  SmallVector<int64_t> shape(type.getShape()), offsets(type.getRank(), 0), strides(type.getRank(), 1);
  auto view = input.get().getDefiningOp<tensor::ExpandShapeOp>();
  for (int64_t dim = 0; dim < insert.getType().getRank(); ++dim) {
    int64_t to = view ? view.getReassociationIndices()[dim].front() : dim;
    if (insert.getStaticStride(dim) == 1)
      continue;
    shape[to] = cast<RankedTensorType>(source.getType()).getDimSize(dim);
    offsets[to] = insert.getStaticOffset(dim) % insert.getStaticStride(dim);
    strides[to] = insert.getStaticStride(dim);
  }
  if (view)
    source = tensor::ExpandShapeOp::create(builder, op.getLoc(), type.clone(shape), source,
                                           view.getReassociationIndices());
  Value zeros = arith::ConstantOp::create(builder, op.getLoc(), builder.getZeroAttr(type));
  auto toFold = [&](ArrayRef<int64_t> numbers) { return getAsIndexOpFoldResult(op.getContext(), numbers); };
  input.set(tensor::InsertSliceOp::create(builder, op.getLoc(), source, zeros, toFold(offsets), toFold(shape),
                                          toFold(strides)));
  return true;
}

/// Whether the minor-most dimension of the result that one operand alone has is the first operand's.
bool isMinorFromFirst(GenericOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (AffineExpr expr : llvm::reverse(maps[2].getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || ranges[dim.getPosition()] == 1 || hasDim(maps[0], dim) == hasDim(maps[1], dim))
      continue;
    return hasDim(maps[0], dim);
  }
  return false;
}

/// Swaps the operands of the product.
void orderOperands(GenericOp op) {
  OpOperand &a = op->getOpOperand(0), &b = op->getOpOperand(1);
  Block *body = op.getBody();
  if (op.getNumDpsInputs() != 2 || body->getArgument(0).getType() != body->getArgument(1).getType() ||
      !isMinorFromFirst(op))
    return;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  std::swap(maps[0], maps[1]);
  op.setIndexingMapsAttr(Builder(op).getAffineMapArrayAttr(maps));
  Value first = a.get();
  a.set(b.get());
  b.set(first);
}

struct NormalizeContractionsPass : epl::impl::NormalizeContractionsBase<NormalizeContractionsPass> {
  void runOnOperation() override {
    SmallVector<GenericOp> contractions;
    getOperation().walk([&](GenericOp op) {
      if (isContraction(op) && isa<TaskOp>(op->getParentOp()))
        contractions.push_back(op);
    });
    for (GenericOp op : contractions) {
      foldInputs(op);
      while (foldTransposeOfResult(op))
        ;
      while (GenericOp split = splitRepeatedLoop(op)) {
        op = split;
        foldInputs(op);
      }
      orderOperands(op);
    }
  }

private:
  static void foldInputs(GenericOp op) {
    for (OpOperand *input : op.getDpsInputOperands())
      while (foldInput(op, *input) || lowerTranspose(*input) || foldReversal(op, *input) ||
             dilateInput(op, *input))
        ;
  }
};

} // namespace
