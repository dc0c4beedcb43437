//===- KernelFunction.h - The function that a kernel becomes -------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::epl {

/// Discardable attribute of a loop nest: the kernel that it implements.
constexpr llvm::StringLiteral kKernelAttr = "epl.kernel";

/// What follows the name of a kernel in that of its nest.
constexpr llvm::StringLiteral kNestSuffix = ".body";

/// The nests of a module's kernels, and the kernel of one; null if there is no such kernel.
SmallVector<func::FuncOp> getNests(ModuleOp module);
KernelOp getKernel(func::FuncOp nest);

/// The function `@<kernel>.body` with the arguments that code generation expects: inputs and outputs as
/// linear memrefs, workspace, the rank's coordinates, `begin` and `end` of the slice.
///
/// Every tensor is row major and contiguous, so an element is named by its linear index. Memory holds
/// storage types: i1 takes a byte (0 or 1), index takes 64 bits.
class KernelFunction {
public:
  /// Creates an empty function behind `kernel`; `shared` says that results may share storage with inputs, so
  /// that nothing can be promised about aliases.
  KernelFunction(KernelOp kernel, bool shared);

  func::FuncOp getFunction() { return function; }
  ImplicitLocOpBuilder &getBuilder() { return builder; }
  Value getInput(unsigned index) { return function.getArgument(index); }
  Value getOutput(unsigned index) { return function.getArgument(numInputs + index); }
  /// The slice of the outer parallel loop, as `index`.
  Value getBegin() { return begin; }
  Value getEnd() { return end; }
  /// The rank's coordinate on `axis` of `mesh`, as `index`.
  Value getAxisIndex(AxisIndexOp axis);
  /// Room in the workspace for `type`; valid for the whole function.
  Value allocate(RankedTensorType type);
  /// Memory that holds the elements of a constant.
  Value getConstant(DenseElementsAttr elements);
  /// An `index` constant at the top of the function.
  Value getIndex(int64_t value);

  /// Adds the terminator and gives the workspace its size, in bytes.
  int64_t finish();

private:
  KernelOp kernel;
  func::FuncOp function;
  ImplicitLocOpBuilder builder;
  unsigned numInputs, numOutputs;
  Value begin, end;
  int64_t workspaceBytes = 0;
  unsigned numConstants = 0;
  DenseMap<int64_t, Value> indices;
};

/// What memory holds for an element type: i8 for i1, i64 for index.
Type getStorageType(Type element);
/// The linear memref of a tensor.
MemRefType getBufferType(RankedTensorType type);
/// The linear index of an element.
Value linearize(ImplicitLocOpBuilder &b, ValueRange indices, ArrayRef<int64_t> shape);
/// Loads or stores one element at a linear index; `element` is the tensor's element type.
Value loadElement(ImplicitLocOpBuilder &b, Value buffer, Value index, Type element);
void storeElement(ImplicitLocOpBuilder &b, Value value, Value buffer, Value index);
/// Loads or stores a vector as memory holds it, from a linear index on: all of its elements, or those that
/// `mask` has. Others are 0 when they are loaded.
Value loadVector(ImplicitLocOpBuilder &b, VectorType type, Value buffer, Value index, Value mask);
void storeVector(ImplicitLocOpBuilder &b, Value value, Value buffer, Value index, Value mask);
/// A loop from `begin` to `end`; `body` makes an iteration of its number.
void emitLoop(ImplicitLocOpBuilder &b, Value begin, Value end, Value step, function_ref<void(Value)> body);

} // namespace mlir::epl
