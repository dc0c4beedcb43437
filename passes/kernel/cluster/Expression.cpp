//===- Expression.cpp - What an element of a kernel's value is made of -----------===//
//
// Problem: a fused loop computes many ops at once; it must know which elements of memory each element of a
// result needs, through views, transposes and broadcasts.
//
// Method: pull. Starting from a result's element, given by a strided linear index over the loop's domain,
// follow the ops backwards. A view keeps the linear index. An elementwise op takes it apart along its
// result's shape and puts it together again along its operands'. Nothing is cloned: nodes point to the
// kernel's ops.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/cluster/Expression.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::epl;

// Beyond this many nodes an expression is shared too little for one loop: the general form is better.
static constexpr size_t kMaxNodes = 2000;

Value mlir::epl::stripViews(Value tensor) {
  while (Operation *op = tensor.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(op))
      break;
    tensor = op->getOperand(0);
  }
  return tensor;
}

// Whether payloads can read any element of `tensor`: all of it is in memory.
static bool isCapturable(Value tensor) {
  if (auto constant = tensor.getDefiningOp<arith::ConstantOp>()) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    return dense && !dense.isSplat();
  }
  return isa<BlockArgument>(tensor) && isa<KernelOp>(tensor.getParentBlock()->getParentOp());
}

bool mlir::epl::isVectorizable(Block &payload) {
  return llvm::all_of(payload.without_terminator(), [](Operation &op) {
    if (auto extract = dyn_cast<tensor::ExtractOp>(op))
      return isCapturable(extract.getTensor());
    return isa<linalg::IndexOp>(op) || OpTrait::hasElementwiseMappableTraits(&op) ||
           isa<arith::ConstantOp>(op);
  });
}

void mlir::epl::dropUnusedLoops(linalg::LinalgOp op, MutableArrayRef<StridedAccess> loops) {
  for (auto [loop, access] : llvm::enumerate(loops)) {
    auto isUsed = [&](linalg::IndexOp index) { return index.getDim() == loop; };
    if (llvm::none_of(op.getBlock()->getOps<linalg::IndexOp>(), isUsed))
      access = StridedAccess::constant(0, access.strides.size());
  }
}

FailureOr<ElementRef> Expressions::trace(Value tensor, const StridedAccess &access) {
  tensor = stripViews(tensor);
  bool inMemory = isa<BlockArgument>(tensor) || stored->contains(tensor);
  if (auto constant = tensor.getDefiningOp<arith::ConstantOp>()) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!dense)
      return failure();
    inMemory = !dense.isSplat();
  }
  if (!inMemory)
    return traceDefinition(tensor, access);
  ElementRef &node = known[{tensor.getAsOpaquePointer(), access}];
  if (!node.node)
    node = add({Element::Kind::load, tensor, {}, access, nullptr, {}, {}});
  return node;
}

FailureOr<ElementRef> Expressions::traceDefinition(Value tensor, const StridedAccess &access) {
  auto result = dyn_cast<OpResult>(tensor);
  if (!result || nodes.size() > kMaxNodes)
    return result ? FailureOr<ElementRef>(failure()) : trace(tensor, access);
  auto constant = [&](TypedAttr value) -> FailureOr<ElementRef> {
    return add({Element::Kind::scalar, {}, value, {}, nullptr, {}, {}});
  };
  return TypeSwitch<Operation *, FailureOr<ElementRef>>(result.getOwner())
      .Case([&](arith::ConstantOp op) -> FailureOr<ElementRef> {
        auto dense = cast<DenseElementsAttr>(op.getValue());
        if (!dense.isSplat())
          return trace(tensor, access);
        return constant(cast<TypedAttr>(dense.getSplatValue<Attribute>()));
      })
      .Case([&](tensor::EmptyOp op) {
        return constant(Builder(op).getZeroAttr(op.getType().getElementType()));
      })
      .Case([&](tensor::SplatOp op) { return FailureOr<ElementRef>(traceScalar(op.getInput())); })
      .Case([&](linalg::FillOp op) { return FailureOr<ElementRef>(traceScalar(op.getInputs()[0])); })
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
          [&](Operation *view) { return trace(view->getOperand(0), access); })
      .Case([&](tensor::ExtractSliceOp op) { return traceSlice(op, access); })
      .Case([&](linalg::LinalgOp op) { return traceLinalg(op, result.getResultNumber(), access); })
      .Default([&](Operation *op) -> FailureOr<ElementRef> {
        if (!OpTrait::hasElementwiseMappableTraits(op))
          return failure();
        return traceElementwise(op, result.getResultNumber(), access);
      });
}

ElementRef Expressions::traceScalar(Value scalar) {
  auto constant = scalar.getDefiningOp<arith::ConstantOp>();
  return add(
      {Element::Kind::scalar, scalar, constant ? constant.getValue() : TypedAttr(), {}, nullptr, {}, {}});
}

FailureOr<ElementRef> Expressions::traceSlice(tensor::ExtractSliceOp op, const StridedAccess &access) {
  auto isStatic = [](ArrayRef<int64_t> values) { return llvm::none_of(values, ShapedType::isDynamic); };
  if (!isStatic(op.getStaticOffsets()) || !isStatic(op.getStaticStrides()))
    return failure();
  auto positions = delinearize(access, domain, op.getType().getShape(), split);
  if (!positions)
    return failure();
  llvm::SmallBitVector dropped = op.getDroppedDims();
  SmallVector<StridedAccess> source;
  ArrayRef<StridedAccess> rest = *positions;
  for (auto [dim, offset, stride] : llvm::enumerate(op.getStaticOffsets(), op.getStaticStrides())) {
    source.push_back(StridedAccess::constant(offset, domain.size()));
    if (dropped.test(dim))
      continue;
    source.back() = source.back() + rest.front() * stride;
    rest = rest.drop_front();
  }
  return trace(op.getSource(), linearize(source, op.getSourceType().getShape(), domain.size()));
}

FailureOr<ElementRef> Expressions::traceOperand(linalg::LinalgOp op, OpOperand &operand,
                                                ArrayRef<StridedAccess> loops) {
  if (!isa<RankedTensorType>(operand.get().getType()))
    return traceScalar(operand.get());
  SmallVector<StridedAccess> positions;
  for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults()) {
    std::optional<StridedAccess> position = apply(expr, loops, domain.size());
    if (!position)
      return failure();
    positions.push_back(*position);
  }
  ArrayRef<int64_t> shape = cast<RankedTensorType>(operand.get().getType()).getShape();
  return trace(operand.get(), linearize(positions, shape, domain.size()));
}

FailureOr<ElementRef> Expressions::traceLinalg(linalg::LinalgOp op, unsigned result,
                                               const StridedAccess &access) {
  if (ElementRef node = known[{op.getOperation(), access}]; node.node)
    return ElementRef{node.node, result};
  AffineMap map = op.getIndexingMapMatchingResult(op->getResult(result));
  if (op.getNumReductionLoops() || !map.isPermutation() || !isVectorizable(*op.getBlock()))
    return failure();
  // Results of one op share a node only if they are indexed alike.
  for (OpResult other : op->getResults())
    if (op.getIndexingMapMatchingResult(other) != map)
      return failure();
  auto shape = cast<RankedTensorType>(op->getResult(result).getType()).getShape();
  auto positions = delinearize(access, domain, shape, split);
  if (!positions)
    return failure();
  Element node{Element::Kind::payload, {}, {}, access, op, {}, {}};
  node.loops.resize(op.getNumLoops());
  for (auto [dim, position] : llvm::enumerate(*positions))
    node.loops[map.getDimPosition(dim)] = position;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!op.payloadUsesValueFromOperand(&operand)) {
      node.operands.push_back({});
      continue;
    }
    FailureOr<ElementRef> traced = traceOperand(op, operand, node.loops);
    if (failed(traced))
      return failure();
    node.operands.push_back(*traced);
  }
  dropUnusedLoops(op, node.loops);
  ElementRef added = add(std::move(node));
  known[{op.getOperation(), access}] = added;
  return ElementRef{added.node, result};
}

FailureOr<ElementRef> Expressions::traceElementwise(Operation *op, unsigned result,
                                                    const StridedAccess &access) {
  if (ElementRef node = known[{op, access}]; node.node)
    return ElementRef{node.node, result};
  Element node{Element::Kind::payload, {}, {}, access, op, {}, {}};
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType())) {
      node.operands.push_back(traceScalar(operand));
      continue;
    }
    FailureOr<ElementRef> traced = trace(operand, access);
    if (failed(traced))
      return failure();
    node.operands.push_back(*traced);
  }
  ElementRef added = add(std::move(node));
  known[{op, access}] = added;
  return ElementRef{added.node, result};
}
