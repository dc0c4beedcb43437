//===- ElementEmitter.cpp - One element of a kernel's value ----------------------===//

#include "passes/kernel/nest/ElementEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::epl;

ElementEmitter::ElementEmitter(KernelOp kernel, KernelFunction &function)
    : function(function), b(function.getBuilder()) {
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (auto axis = dyn_cast<AxisIndexOp>(op))
      scalars.map(axis.getResult(), function.getAxisIndex(axis));
    else if (llvm::none_of(op.getResultTypes(), llvm::IsaPred<TensorType>))
      b.clone(op, scalars);
  }
}

Value ElementEmitter::emit(ElementRef ref, ArrayRef<Value> point) {
  Known known;
  return emit(ref, point, known);
}

Value ElementEmitter::emitAccess(const StridedAccess &access, ArrayRef<Value> point) {
  Value sum = function.getIndex(access.offset);
  for (auto [stride, position] : llvm::zip_equal(access.strides, point))
    if (stride != 0)
      sum = arith::AddIOp::create(b, sum, arith::MulIOp::create(b, position, function.getIndex(stride)));
  return sum;
}

Value ElementEmitter::emit(ElementRef ref, ArrayRef<Value> point, Known &known) {
  Element &node = *ref.node;
  if (auto found = known.find(&node); found != known.end())
    return found->second[ref.result];
  SmallVector<Value> results;
  if (node.kind == Element::Kind::payload)
    results = emitPayload(node, point, known);
  else if (node.kind == Element::Kind::load)
    results = {load(node.tensor, emitAccess(node.access, point))};
  else
    results = {node.constant ? arith::ConstantOp::create(b, node.constant).getResult()
                             : scalars.lookup(node.tensor)};
  return (known[&node] = results)[ref.result];
}

SmallVector<Value> ElementEmitter::emitPayload(Element &node, ArrayRef<Value> point, Known &known) {
  IRMapping mapping = scalars;
  auto emitOperand = [&](Value operand, ElementRef ref) {
    if (ref.node)
      mapping.map(operand, emit(ref, point, known));
  };
  auto linalgOp = dyn_cast<linalg::LinalgOp>(node.op);
  if (!linalgOp) {
    for (auto [operand, ref] : llvm::zip_equal(node.op->getOperands(), node.operands))
      emitOperand(operand, ref);
    return {cloneScalar(node.op, mapping, {})};
  }
  Block &payload = *linalgOp.getBlock();
  for (auto [argument, ref] : llvm::zip_equal(payload.getArguments(), node.operands))
    emitOperand(argument, ref);
  SmallVector<Value> loops =
      llvm::map_to_vector(node.loops, [&](const StridedAccess &loop) { return emitAccess(loop, point); });
  for (Operation &op : payload.without_terminator())
    mapping.map(op.getResult(0), cloneScalar(&op, mapping, loops));
  return llvm::map_to_vector(payload.getTerminator()->getOperands(),
                             [&](Value yielded) { return mapping.lookupOrDefault(yielded); });
}

Value ElementEmitter::cloneScalar(Operation *op, IRMapping &mapping, ArrayRef<Value> loops) {
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return loops[index.getDim()];
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    SmallVector<Value> indices =
        llvm::map_to_vector(extract.getIndices(), [&](Value v) { return mapping.lookupOrDefault(v); });
    return load(extract.getTensor(), linearize(b, indices, extract.getTensor().getType().getShape()));
  }
  Operation *copy = b.clone(*op, mapping);
  copy->getResult(0).setType(getElementTypeOrSelf(copy->getResult(0)));
  return copy->getResult(0);
}

Value ElementEmitter::load(Value tensor, Value index) {
  Value buffer;
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    buffer = function.getInput(argument.getArgNumber());
  else if (Value &constant = constants[tensor]; constant)
    buffer = constant;
  else
    buffer = constant =
        function.getConstant(cast<DenseElementsAttr>(tensor.getDefiningOp<arith::ConstantOp>().getValue()));
  return loadElement(b, buffer, index, getElementTypeOrSelf(tensor));
}
