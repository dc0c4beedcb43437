//===- EplKernelOps.cpp - Kernels -----------------------------------------===//

#include "dialect/Bytes.h"
#include "dialect/Epl.h"

using namespace mlir;
using namespace mlir::epl;

static LogicalResult verifySameTypes(Operation *op, TypeRange found, TypeRange expected, StringRef what) {
  if (found != expected)
    return op->emitOpError() << what << " have types (" << found << "), expected (" << expected << ")";
  return success();
}

LogicalResult ConvolutionAttr::verify(function_ref<InFlightDiagnostic()> emitError, ConvolutionTensor,
                                      ArrayRef<int64_t> operands, bool, bool, ArrayRef<int64_t> samples,
                                      ArrayRef<int64_t> groups, ArrayRef<int64_t> channels,
                                      ArrayRef<int64_t> features, ArrayRef<int64_t> axes) {
  const ArrayRef<int64_t> dims[] = {samples, groups, channels, features};
  bool hasSizes = llvm::all_of(dims, [](ArrayRef<int64_t> dim) { return dim.size() == 4; }) &&
                  operands.size() == 3 && !axes.empty() && axes.size() % 10 == 0 && axes.size() <= 30;
  if (!hasSizes) // (C1)
    return emitError()
           << "a convolution has four numbers for each dimension, ten for each of 1 to 3 axes and "
              "three operands";
  auto isPositive = [](int64_t number) { return number > 0; };
  auto isNegative = [](int64_t number) { return number < 0; };
  bool isSound =
      llvm::none_of(operands, isNegative) && llvm::none_of(axes, isNegative) &&
      llvm::all_of(dims, [&](auto dim) { return isPositive(dim[0]) && llvm::none_of(dim, isNegative); });
  for (size_t axis = 0; axis < axes.size(); axis += 10)
    isSound &= llvm::all_of(axes.slice(axis, 3), isPositive) && isPositive(axes[axis + 6]) &&
               isPositive(axes[axis + 7]);
  if (!isSound) // (C2)
    return emitError() << "extents, strides and dilations of a convolution are positive, its other numbers "
                          "not negative";
  return success();
}

LogicalResult AttentionAttr::verify(function_ref<InFlightDiagnostic()> emitError, FloatAttr scale, bool) {
  if (!scale.getType().isF32() || !scale.getValue().isFinite()) // (C1)
    return emitError() << "the scale of attention is " << scale << ", expected a finite number of f32";
  return success();
}

LogicalResult AttentionGradientAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t parts,
                                            ArrayRef<int64_t> steps) {
  if (parts < 1 || steps.size() != 24 || llvm::any_of(steps, [](int64_t step) { return step < 1; })) // (C1)
    return emitError() << "a gradient of attention has " << parts << " parts and " << steps.size()
                       << " steps, expected at least one and 24, all of them positive";
  return success();
}

LogicalResult ClusterOp::verify() {
  Block &body = getBody().front();
  if (failed(
          verifySameTypes(*this, body.getArgumentTypes(), getInputs().getTypes(), "block arguments"))) // (C1)
    return failure();
  return verifySameTypes(*this, body.getTerminator()->getOperandTypes(), getResultTypes(),
                         "yielded values"); // (C2)
}

static LogicalResult verifyCopies(KernelOp kernel, ArrayAttr copies) {
  size_t inputs = kernel.getBody().getNumArguments();
  size_t results = kernel.getBody().front().getTerminator()->getNumOperands();
  if (copies.size() != inputs || results != 1) // (C3)
    return kernel.emitOpError() << "has " << copies.size() << " copies for " << inputs << " inputs and "
                                << results << " results, expected one for each input and one result";
  for (auto copy : copies.getAsRange<CopyAttr>())
    if (std::min({copy.getFrom(), copy.getTo(), copy.getSize()}) < 0) // (C2)
      return kernel.emitOpError() << "has a negative number in " << copy;
  return success();
}

static LogicalResult verifySize(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && tensor.hasStaticShape() && hasTooManyElements(tensor)) // (C5)
    return op->emitOpError() << "has a tensor of type " << tensor << ", expected at most 2^40 elements";
  return success();
}

static LogicalResult verifySizes(KernelOp kernel) {
  for (Type type : kernel.getBody().getArgumentTypes())
    if (failed(verifySize(kernel, type)))
      return failure();
  return success(!kernel.getBody()
                      .walk([](Operation *op) {
                        bool fits = llvm::all_of(op->getResultTypes(),
                                                 [&](Type type) { return succeeded(verifySize(op, type)); });
                        return fits ? WalkResult::advance() : WalkResult::interrupt();
                      })
                      .wasInterrupted());
}

static bool isGrid(GridAttr grid) {
  auto fits = [](int64_t number) { return 0 < number && number <= std::numeric_limits<int32_t>::max(); };
  return fits(grid.getBlocks()) && fits(grid.getThreads()) && fits(grid.getGroup()) &&
         fits(grid.getSlice()) && (grid.getShared() == 0 || fits(grid.getShared())) &&
         grid.getExtent() >= 0 && grid.getThreads() % grid.getGroup() == 0;
}

LogicalResult KernelOp::verify() {
  Block &body = getBody().front();
  TypeRange inputs = body.getArgumentTypes(), results = body.getTerminator()->getOperandTypes();
  if (int64_t(getExtent().value_or(0)) < 0 || int64_t(getWorkspace().value_or(0)) < 0) // (C2)
    return emitOpError() << "extent or workspace is negative";
  if (getCopies() && failed(verifyCopies(*this, *getCopies())))
    return failure();
  if (failed(verifySizes(*this)))
    return failure();
  for (Attribute grid : getGrids() ? getGrids()->getValue() : ArrayRef<Attribute>())
    if (!isGrid(cast<GridAttr>(grid))) // (C4)
      return emitOpError() << "has grid " << grid
                           << ", expected numbers from 1 to 2147483647, `shared` and `extent` from 0, "
                              "`threads` a multiple of `group`";
  if (!getInPlace())
    return success();
  if (getInPlace()->size() != results.size()) // (C1)
    return emitOpError() << "\"in_place\" has " << getInPlace()->size() << " entries, expected "
                         << results.size();
  for (auto [index, input] : llvm::enumerate(*getInPlace())) {
    if (input == -1)
      continue;
    if (input < 0 || input >= int64_t(inputs.size()) || inputs[input] != results[index]) // (C1)
      return emitOpError() << "result " << index << " shares the storage of input " << input
                           << ", expected an input of type " << results[index];
  }
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel) // (C1)
    return emitOpError() << "names unknown kernel " << getKernelAttr();
  Block &body = kernel.getBody().front();
  if (failed(verifySameTypes(*this, getInputs().getTypes(), body.getArgumentTypes(), "operands"))) // (C1)
    return failure();
  return verifySameTypes(*this, getResultTypes(), body.getTerminator()->getOperandTypes(), "results"); // (C1)
}
