//===- GeneralNest.cpp - Op by op loop nests of a kernel -------------------------===//
//
// Problem: every kernel must run, whatever its ops, ranks, maps and types are, and something must say what
// the fast forms have to compute.
//
// Method: visit the ops in order. A tensor is a linear buffer (an argument, an output or a part of the
// workspace) or one scalar that all its elements equal. An op is a loop nest over its result or its
// iteration space that reads elements of its operands and writes elements of its result; the payload of a
// linalg op is cloned as it stands. A reduction accumulates in its result, in the order of its loops.
//
// Invariant in: a kernel of static shapes. Invariant out: the nest runs in the one iteration of [0, 1).
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/GeneralNest.h"

#include "passes/kernel/cluster/OpRoles.h"
#include "passes/kernel/nest/PlainSort.h"
#include "passes/kernel/nest/ScatterNest.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::epl;

namespace {

class GeneralNest {
public:
  GeneralNest(KernelOp kernel, KernelFunction &function, unsigned vectorBits)
      : kernel(kernel), function(function), b(function.getBuilder()), vectorBits(vectorBits) {}

  LogicalResult emit();

private:
  using Indices = SmallVector<Value>;

  LogicalResult visit(Operation *op);
  LogicalResult visitScalar(Operation *op);
  LogicalResult visitConstant(arith::ConstantOp op);
  LogicalResult visitFill(linalg::FillOp op);
  LogicalResult visitLinalg(linalg::LinalgOp op);
  LogicalResult visitElementwise(Operation *op);
  LogicalResult visitExtractSlice(tensor::ExtractSliceOp op);
  LogicalResult visitInsertSlice(tensor::InsertSliceOp op);
  LogicalResult visitPad(tensor::PadOp op);
  LogicalResult visitFromElements(tensor::FromElementsOp op);
  LogicalResult visitConcatenate(Operation *op, int64_t dim);
  LogicalResult visitScatter(ScatterOp op);
  LogicalResult visitSort(SortOp op);
  LogicalResult visitYield(YieldOp op);
  /// A result with the elements of `source` in the same linear order.
  LogicalResult alias(Value result, Value source);

  void emitLoops(ArrayRef<int64_t> shape, function_ref<void(ArrayRef<Value>)> body);
  Value read(Value tensor, ArrayRef<Value> indices);
  void write(Value scalar, Value result, ArrayRef<Value> indices);
  /// The buffer of a result, made at its first use: the output where it is yielded.
  Value getBuffer(Value result);
  /// Clones the payload of a linalg op at the loops `ivs`; gives the yielded scalars.
  SmallVector<Value> clonePayload(Block &payload, ArrayRef<Value> arguments, ArrayRef<Value> ivs);
  void resolve(Operation *cloned);
  Value getScalar(OpFoldResult value);
  static ArrayRef<int64_t> getShape(Value tensor) {
    return cast<RankedTensorType>(tensor.getType()).getShape();
  }

  KernelOp kernel;
  KernelFunction &function;
  ImplicitLocOpBuilder &b;
  unsigned vectorBits;
  DenseMap<Value, Value> buffers;
  DenseMap<Value, Value> splats; // a tensor all of whose elements are this scalar
  IRMapping scalars;             // the kernel's values that are not tensors
  DenseSet<Value> claimed;       // outputs that a result has taken as its buffer
};

} // namespace

LogicalResult GeneralNest::emit() {
  Block &body = kernel.getBody().front();
  for (BlockArgument argument : body.getArguments())
    buffers[argument] = function.getInput(argument.getArgNumber());
  auto once = scf::ForOp::create(b, function.getBegin(), function.getEnd(), function.getIndex(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(once.getBody());
  for (Operation &op : body) {
    b.setLoc(op.getLoc());
    if (failed(visit(&op)))
      return failure();
  }
  return success();
}

LogicalResult GeneralNest::visit(Operation *op) {
  auto isTensor = [](Value value) { return isa<TensorType>(value.getType()); };
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](YieldOp yield) { return visitYield(yield); })
      .Case([&](arith::ConstantOp constant) { return visitConstant(constant); })
      .Case([&](AxisIndexOp axis) {
        scalars.map(axis.getResult(), function.getAxisIndex(axis));
        return success();
      })
      .Case([&](tensor::EmptyOp empty) {
        Type element = empty.getType().getElementType();
        splats[empty] = arith::ConstantOp::create(b, b.getZeroAttr(element));
        return success();
      })
      .Case([&](tensor::SplatOp splat) {
        splats[splat] = scalars.lookup(splat.getInput());
        return success();
      })
      .Case([&](tensor::ExtractOp extract) {
        Indices indices =
            llvm::map_to_vector(extract.getIndices(), [&](Value v) { return scalars.lookup(v); });
        scalars.map(extract.getResult(), read(extract.getTensor(), indices));
        return success();
      })
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp, tensor::ReshapeOp>(
          [&](Operation *view) { return alias(view->getResult(0), view->getOperand(0)); })
      .Case([&](tensor::ExtractSliceOp slice) { return visitExtractSlice(slice); })
      .Case([&](tensor::InsertSliceOp slice) { return visitInsertSlice(slice); })
      .Case([&](tensor::PadOp pad) { return visitPad(pad); })
      .Case([&](tensor::FromElementsOp elements) { return visitFromElements(elements); })
      .Case([&](tensor::ConcatOp concat) { return visitConcatenate(concat, concat.getDim()); })
      .Case([&](ConcatenateOp concat) { return visitConcatenate(concat, concat.getDim()); })
      .Case([&](ScatterOp scatter) { return visitScatter(scatter); })
      .Case([&](SortOp sort) { return visitSort(sort); })
      .Case([&](linalg::FillOp fill) { return visitFill(fill); })
      .Case([&](linalg::LinalgOp linalg) { return visitLinalg(linalg); })
      .Default([&](Operation *other) {
        if (llvm::none_of(op->getOperands(), isTensor) && llvm::none_of(op->getResults(), isTensor))
          return visitScalar(other);
        if (OpTrait::hasElementwiseMappableTraits(other))
          return visitElementwise(other);
        return LogicalResult(other->emitOpError()
                             << "in kernel \"" << kernel.getSymName() << "\" has no loop nest");
      });
}

LogicalResult GeneralNest::visitScalar(Operation *op) {
  resolve(b.clone(*op, scalars));
  return success();
}

LogicalResult GeneralNest::visitConstant(arith::ConstantOp op) {
  auto elements = dyn_cast<ElementsAttr>(op.getValue());
  if (!elements)
    return visitScalar(op);
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense)
    return op.emitOpError() << "in kernel \"" << kernel.getSymName() << "\" holds no dense elements";
  if (dense.isSplat())
    splats[op] = arith::ConstantOp::create(b, cast<TypedAttr>(dense.getSplatValue<Attribute>()));
  else
    buffers[op] = function.getConstant(dense);
  return success();
}

LogicalResult GeneralNest::visitFill(linalg::FillOp op) {
  splats[op.getResult(0)] = scalars.lookup(op.getInputs()[0]);
  return success();
}

LogicalResult GeneralNest::visitLinalg(linalg::LinalgOp op) {
  if (Attribute fill = op->getNumResults() == 1 ? getFillValue(op->getResult(0)) : Attribute()) {
    splats[op->getResult(0)] = arith::ConstantOp::create(b, cast<TypedAttr>(fill));
    return success();
  }
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  if (!op.hasPureTensorSemantics() || llvm::any_of(ranges, ShapedType::isDynamic))
    return op->emitOpError() << "in kernel \"" << kernel.getSymName() << "\" is not on static tensors";
  // A reduction reads its result before it writes it.
  if (op.getNumReductionLoops())
    for (auto [init, result] : llvm::zip_equal(op.getDpsInits(), op->getResults()))
      emitLoops(getShape(result), [&](ArrayRef<Value> at) { write(read(init, at), result, at); });
  emitLoops(ranges, [&](ArrayRef<Value> ivs) {
    SmallVector<Value> arguments;
    SmallVector<Indices> at;
    for (OpOperand &operand : op->getOpOperands()) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      at.emplace_back(*affine::expandAffineMap(b, b.getLoc(), map, ivs));
      bool accumulates = op.isDpsInit(&operand) && op.getNumReductionLoops();
      Value tensor = accumulates ? Value(op.getTiedOpResult(&operand)) : operand.get();
      if (isa<RankedTensorType>(tensor.getType()))
        arguments.push_back(read(tensor, at.back()));
      else
        arguments.push_back(scalars.lookup(tensor));
    }
    SmallVector<Value> yielded = clonePayload(*op.getBlock(), arguments, ivs);
    ArrayRef<Indices> outputs = ArrayRef(at).take_back(op.getNumDpsInits());
    for (auto [value, result, indices] : llvm::zip_equal(yielded, op->getResults(), outputs))
      write(value, result, indices);
  });
  return success();
}

SmallVector<Value> GeneralNest::clonePayload(Block &payload, ArrayRef<Value> arguments, ArrayRef<Value> ivs) {
  IRMapping mapping = scalars;
  mapping.map(payload.getArguments(), arguments);
  for (Operation &op : payload.without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      mapping.map(index.getResult(), ivs[index.getDim()]);
    } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      Indices at =
          llvm::map_to_vector(extract.getIndices(), [&](Value v) { return mapping.lookupOrDefault(v); });
      mapping.map(extract.getResult(), read(extract.getTensor(), at));
    } else {
      resolve(b.clone(op, mapping));
    }
  }
  return llvm::map_to_vector(payload.getTerminator()->getOperands(),
                             [&](Value v) { return mapping.lookupOrDefault(v); });
}

// Regions of a cloned op still name tensors of the kernel.
void GeneralNest::resolve(Operation *cloned) {
  OpBuilder::InsertionGuard guard(b);
  SmallVector<tensor::ExtractOp> extracts;
  cloned->walk([&](tensor::ExtractOp op) { extracts.push_back(op); });
  for (tensor::ExtractOp op : extracts) {
    b.setInsertionPoint(op);
    op.getResult().replaceAllUsesWith(read(op.getTensor(), Indices(op.getIndices())));
    op.erase();
  }
}

LogicalResult GeneralNest::visitElementwise(Operation *op) {
  emitLoops(getShape(op->getResult(0)), [&](ArrayRef<Value> at) {
    IRMapping mapping = scalars;
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        mapping.map(operand, read(operand, at));
    Operation *scalar = b.clone(*op, mapping);
    for (auto [tensor, result] : llvm::zip_equal(op->getResults(), scalar->getResults())) {
      result.setType(getElementTypeOrSelf(tensor));
      write(result, tensor, at);
    }
  });
  return success();
}

Value GeneralNest::getScalar(OpFoldResult value) {
  if (auto constant = getConstantIntValue(value))
    return arith::ConstantIndexOp::create(b, *constant);
  return scalars.lookup(cast<Value>(value));
}

// The indices of the large tensor for indices `at` of a slice of it.
template <typename SliceOp, typename ScalarFn>
static SmallVector<Value> getSliceIndices(ImplicitLocOpBuilder &b, SliceOp op, ArrayRef<Value> at,
                                          ScalarFn getScalar) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  SmallVector<Value> indices;
  for (auto [dim, offset, stride] : llvm::enumerate(op.getMixedOffsets(), op.getMixedStrides())) {
    Value index = getScalar(offset);
    if (!dropped.test(dim)) {
      Value step = arith::MulIOp::create(b, at.front(), getScalar(stride));
      index = arith::AddIOp::create(b, index, step);
      at = at.drop_front();
    }
    indices.push_back(index);
  }
  return indices;
}

LogicalResult GeneralNest::visitExtractSlice(tensor::ExtractSliceOp op) {
  emitLoops(getShape(op), [&](ArrayRef<Value> at) {
    write(read(op.getSource(), getSliceIndices(b, op, at, [&](OpFoldResult v) { return getScalar(v); })), op,
          at);
  });
  return success();
}

LogicalResult GeneralNest::visitInsertSlice(tensor::InsertSliceOp op) {
  emitLoops(getShape(op), [&](ArrayRef<Value> at) { write(read(op.getDest(), at), op, at); });
  emitLoops(getShape(op.getSource()), [&](ArrayRef<Value> at) {
    write(read(op.getSource(), at), op,
          getSliceIndices(b, op, at, [&](OpFoldResult v) { return getScalar(v); }));
  });
  return success();
}

LogicalResult GeneralNest::visitPad(tensor::PadOp op) {
  Value padding = op.getConstantPaddingValue();
  if (!padding)
    return op.emitOpError() << "in kernel \"" << kernel.getSymName() << "\" has no constant padding";
  Value outside = scalars.lookupOrNull(padding);
  if (!outside)
    outside = b.clone(*padding.getDefiningOp())->getResult(0);
  emitLoops(getShape(op), [&](ArrayRef<Value> at) { write(outside, op, at); });
  emitLoops(getShape(op.getSource()), [&](ArrayRef<Value> at) {
    Indices shifted;
    for (auto [index, low] : llvm::zip_equal(at, op.getMixedLowPad()))
      shifted.push_back(arith::AddIOp::create(b, index, getScalar(low)));
    write(read(op.getSource(), at), op, shifted);
  });
  return success();
}

LogicalResult GeneralNest::visitFromElements(tensor::FromElementsOp op) {
  for (auto [position, element] : llvm::enumerate(op.getElements()))
    storeElement(b, scalars.lookup(element), getBuffer(op), arith::ConstantIndexOp::create(b, position));
  return success();
}

LogicalResult GeneralNest::visitConcatenate(Operation *op, int64_t dim) {
  Value result = op->getResult(0);
  int64_t offset = 0;
  for (Value operand : op->getOperands()) {
    emitLoops(getShape(operand), [&](ArrayRef<Value> at) {
      Indices shifted(at);
      shifted[dim] = arith::AddIOp::create(b, at[dim], arith::ConstantIndexOp::create(b, offset));
      write(read(operand, at), result, shifted);
    });
    offset += getShape(operand)[dim];
  }
  return success();
}

LogicalResult GeneralNest::visitScatter(ScatterOp op) {
  auto getSource = [&](Value tensor) { return TensorSource{buffers.lookup(tensor), splats.lookup(tensor)}; };
  emitScatterNest(op, getBuffer(op.getResult()), getSource, function, vectorBits);
  return success();
}

LogicalResult GeneralNest::visitSort(SortOp op) {
  auto readElement = [&](Value tensor, ArrayRef<Value> at) { return read(tensor, at); };
  auto writeElement = [&](Value scalar, Value result, ArrayRef<Value> at) { write(scalar, result, at); };
  emitPlainSort(op, function, readElement, writeElement);
  return success();
}

LogicalResult GeneralNest::alias(Value result, Value source) {
  if (Value splat = splats.lookup(source))
    splats[result] = splat;
  else
    buffers[result] = buffers.lookup(source);
  return success();
}

LogicalResult GeneralNest::visitYield(YieldOp op) {
  for (auto [index, value] : llvm::enumerate(op.getOperands())) {
    Value output = function.getOutput(index);
    if (buffers.lookup(value) == output)
      continue;
    auto size = cast<RankedTensorType>(value.getType()).getNumElements();
    emitLoops(size, [&](ArrayRef<Value> at) {
      Type element = getElementTypeOrSelf(value);
      Value splat = splats.lookup(value);
      storeElement(b, splat ? splat : loadElement(b, buffers.lookup(value), at[0], element), output, at[0]);
    });
  }
  return success();
}

void GeneralNest::emitLoops(ArrayRef<int64_t> shape, function_ref<void(ArrayRef<Value>)> body) {
  OpBuilder::InsertionGuard guard(b);
  Indices ivs;
  for (int64_t size : shape) {
    auto loop = scf::ForOp::create(b, function.getIndex(0), function.getIndex(size), function.getIndex(1));
    ivs.push_back(loop.getInductionVar());
    b.setInsertionPointToStart(loop.getBody());
  }
  body(ivs);
}

Value GeneralNest::read(Value tensor, ArrayRef<Value> indices) {
  if (Value splat = splats.lookup(tensor))
    return splat;
  return loadElement(b, buffers.lookup(tensor), linearize(b, indices, getShape(tensor)),
                     getElementTypeOrSelf(tensor));
}

void GeneralNest::write(Value scalar, Value result, ArrayRef<Value> indices) {
  Value buffer = getBuffer(result);
  storeElement(b, scalar, buffer, linearize(b, indices, getShape(result)));
}

Value GeneralNest::getBuffer(Value result) {
  Value &buffer = buffers[result];
  if (buffer)
    return buffer;
  for (OpOperand &use : result.getUses())
    if (isa<YieldOp>(use.getOwner()) && claimed.insert(function.getOutput(use.getOperandNumber())).second)
      return buffer = function.getOutput(use.getOperandNumber());
  return buffer = function.allocate(cast<RankedTensorType>(result.getType()));
}

LogicalResult mlir::epl::emitGeneralNest(KernelOp kernel, KernelFunction &function, unsigned vectorBits) {
  return GeneralNest(kernel, function, vectorBits).emit();
}
