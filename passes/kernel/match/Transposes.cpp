//===- Transposes.cpp - Transposes round contractions ----------------------===//
//
// Problem: between a contraction and a transpose that it could do for free there may be other ops. JAX's
// attention of grouped heads scales scores, has maxima of their rows, transposes both for the softmax, and
// its gradient back. Method: what makes each element of one makes it in any order of elements, and what is
// made of rows in any order of rows, as long as rows stay rows. So they get the shape that lies behind the
// transpose.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/match/Transposes.h"

#include "passes/kernel/cluster/OpRoles.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::epl;
using linalg::GenericOp;

namespace {

/// Whether an op makes each element of its result of that at its place in its one input: a scale, a rounding.
bool isElementwise(GenericOp op) {
  return op.getNumDpsInputs() == 1 && op.getNumResults() == 1 &&
         isa<RankedTensorType>(op.getOperand(0).getType()) &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) { return map.isIdentity(); }) &&
         op.getBody()->getArgument(1).use_empty() && op.getBody()->getOps<linalg::IndexOp>().empty();
}

/// Gives the result of an elementwise op the dimensions of its input.
void retype(GenericOp op) {
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(op.getOperand(0).getType())
                  .clone(getElementTypeOrSelf(op.getResult(0).getType()));
  op->setOperand(1, tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(), type.getElementType()));
  op.getResult(0).setType(type);
}

/// Whether the rows of a transposed tensor are rows of its source.
bool keepsRows(GenericOp transpose) {
  AffineMap map = transpose.getIndexingMapsArray().front();
  return map.getResults().back() == getAffineDimExpr(map.getNumDims() - 1, map.getContext());
}

/// A transpose of something else, right behind it.
GenericOp transposeAgain(GenericOp transpose, Value source) {
  OpBuilder builder(source.getContext());
  builder.setInsertionPointAfterValue(source);
  auto type =
      cast<RankedTensorType>(transpose.getResult(0).getType()).clone(getElementTypeOrSelf(source.getType()));
  Value empty = tensor::EmptyOp::create(builder, source.getLoc(), type.getShape(), type.getElementType());
  auto made = cast<GenericOp>(builder.clone(*transpose));
  made->setOperands({source, empty});
  for (BlockArgument argument : made.getBody()->getArguments())
    argument.setType(type.getElementType());
  made.getResult(0).setType(type);
  return made;
}

/// Whether an op makes one element of each row of its one input, rows in their order: a sum, a maximum.
bool reducesRows(GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumResults() != 1 || op.getNumReductionLoops() != 1)
    return false;
  AffineMap read = op.getIndexingMapsArray().front(), made = op.getIndexingMapsArray().back();
  return read.isIdentity() && made == read.dropResult(read.getNumResults() - 1) &&
         op.getBody()->getOps<linalg::IndexOp>().empty();
}

/// Whether two transposes have the same order, of which the second one is of what is made of rows.
bool areAlike(GenericOp transpose, GenericOp ofRows) {
  AffineMap whole = transpose.getIndexingMapsArray().front(), rows = ofRows.getIndexingMapsArray().front();
  SmallVector<unsigned> dims, ofDims;
  for (AffineExpr expr : whole.getResults().drop_back())
    dims.push_back(cast<AffineDimExpr>(expr).getPosition());
  for (AffineExpr expr : rows.getResults())
    ofDims.push_back(cast<AffineDimExpr>(expr).getPosition());
  return dims == ofDims;
}

/// What lies between a value and its transpose.
struct Between {
  SmallVector<GenericOp> elementwise; ///< the last one makes what is transposed
  /// What is made of rows of these, and transposed in the same way.
  SmallVector<std::pair<GenericOp, GenericOp>> reductions;
};

/// The transpose behind elementwise ops that read what each other make, beside which there may be reductions
/// of rows; null if there is none, or anything else reads these.
GenericOp findTranspose(Value made, Between &between) {
  while (true) {
    GenericOp next;
    for (Operation *user : made.getUsers()) {
      auto generic = dyn_cast<GenericOp>(user);
      if (!generic || generic.getOperand(0) != made)
        return {};
      if (reducesRows(generic)) {
        auto turned = generic->hasOneUse() ? dyn_cast<GenericOp>(*generic->user_begin()) : GenericOp();
        if (!turned || !isTranspose(turned))
          return {};
        between.reductions.emplace_back(generic, turned);
      } else if (std::exchange(next, generic)) {
        return {};
      }
    }
    if (!next || !(isTranspose(next) || isElementwise(next)))
      return {};
    if (!isTranspose(next)) {
      between.elementwise.push_back(next);
      made = next.getResult(0);
      continue;
    }
    bool isDirect = between.elementwise.empty() && between.reductions.empty();
    bool areTurned = llvm::all_of(between.reductions, [&](auto each) { return areAlike(next, each.second); });
    return isDirect || (keepsRows(next) && areTurned) ? next : GenericOp();
  }
}

/// The same fill for another type of equal rank and elements.
Value refill(Value init, RankedTensorType type, OpBuilder &builder) {
  auto fill = init.getDefiningOp<GenericOp>();
  IRMapping mapping;
  mapping.map(fill.getOperand(1),
              tensor::EmptyOp::create(builder, fill.getLoc(), type.getShape(), type.getElementType()));
  auto copy = cast<GenericOp>(builder.clone(*fill, mapping));
  copy.getResult(0).setType(type);
  return copy.getResult(0);
}

/// Has an op that starts from a number make a result of another shape, from the same number on.
void reshapeResult(GenericOp op, ArrayRef<int64_t> shape) {
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(op.getResult(0).getType()).clone(shape);
  op.getDpsInitOperand(0)->set(refill(op.getDpsInits()[0], type, builder));
  op.getResult(0).setType(type);
}

/// Puts the source of a transpose, which has its order now, in its place.
void removeTranspose(GenericOp transpose) {
  transpose.getResult(0).replaceAllUsesWith(transpose.getOperand(0));
  transpose.erase();
}

} // namespace

bool mlir::epl::startsFromFill(GenericOp op) {
  auto fill = op.getDpsInits()[0].getDefiningOp<GenericOp>();
  return fill && getFillValue(fill.getResult(0)) && fill.getNumDpsInputs() == 1 &&
         fill.getIndexingMapsArray().front().getNumResults() == 0;
}

bool mlir::epl::lowerTranspose(OpOperand &input) {
  SmallVector<GenericOp> between;
  auto source = input.get().getDefiningOp<GenericOp>();
  for (; source && isElementwise(source) && !isTranspose(source);
       source = source.getOperand(0).getDefiningOp<GenericOp>()) {
    if (!between.empty() && !source->hasOneUse())
      return false;
    between.push_back(source);
  }
  auto isRead = [](Operation *user) {
    auto generic = dyn_cast<GenericOp>(user);
    return generic && isContraction(generic);
  };
  if (between.empty() || !source || !isTranspose(source) || !keepsRows(source) || !source->hasOneUse() ||
      !llvm::all_of(between.front()->getUsers(), isRead))
    return false;
  between.back()->setOperand(0, source.getOperand(0));
  for (GenericOp op : llvm::reverse(between))
    retype(op);
  Value last = between.front().getResult(0);
  GenericOp behind = transposeAgain(source, last);
  last.replaceAllUsesExcept(behind.getResult(0), behind);
  source.erase();
  return true;
}

bool mlir::epl::foldTransposeOfResult(GenericOp op) {
  Between between;
  GenericOp transpose = findTranspose(op.getResult(0), between);
  if (!transpose || !startsFromFill(op) ||
      !llvm::all_of(between.reductions, [&](auto each) { return startsFromFill(each.first); }))
    return false;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(transpose.getResult(0).getType()).getShape();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.back() = inversePermutation(transpose.getIndexingMapsArray().front()).compose(maps.back());
  op.setIndexingMapsAttr(Builder(op).getAffineMapArrayAttr(maps));
  reshapeResult(op, shape);
  for (GenericOp each : between.elementwise)
    retype(each);
  for (auto [reduction, turned] : between.reductions) {
    reshapeResult(reduction, shape.drop_back());
    removeTranspose(turned);
  }
  removeTranspose(transpose);
  return true;
}
