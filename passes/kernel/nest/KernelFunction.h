//===- KernelFunction.h - The function that a kernel becomes -------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::epl {

/// Discardable attribute of a loop nest: the kernel that it implements.
constexpr llvm::StringLiteral kKernelAttr = "epl.kernel";

/// What follows the name of a kernel in that of its nest.
constexpr llvm::StringLiteral kNestSuffix = ".body";

/// Attribute of a nest for GPUs, in LLVM's IR: how many threads work together on a slice; 1 if it is not
/// there.
constexpr llvm::StringLiteral kGroupAttr = "epl-group";

/// The same where the grid has fewer groups than there are slices: groups run several.
constexpr llvm::StringLiteral kRoundsAttr = "epl-rounds";

/// The same where launches of the code follow one another and do not need one another: a GPU wants to do a
/// list of them in one.
constexpr llvm::StringLiteral kListAttr = "epl-list";

/// The nests of a module's kernels, and the kernel of one; null if there is no such kernel.
SmallVector<func::FuncOp> getNests(ModuleOp module);
KernelOp getKernel(func::FuncOp nest);
/// The nest of a kernel, or of one of its phases on a GPU.
func::FuncOp getNest(KernelOp kernel, size_t phase = 0);
/// Says of a nest for GPUs how many threads work together on a slice, and whether these run several slices.
void setThreads(func::FuncOp nest, int64_t group, bool inRounds);
/// Says that of a nest.
void setInLists(func::FuncOp nest);

/// The function `@<kernel>.body` with the arguments that code generation expects: inputs and outputs as
/// linear memrefs, workspace, the rank's coordinates, `begin` and `end` of the slice.
///
/// Every tensor is row major and contiguous, so an element is named by its linear index. Memory holds
/// storage types: i1 takes a byte (0 or 1), index takes 64 bits.
class KernelFunction {
public:
  /// Creates an empty function behind `kernel`, or for one of its phases on a GPU behind that of the one
  /// before; `shared` says that results may share storage with inputs, so that nothing can be promised about
  /// aliases.
  KernelFunction(KernelOp kernel, bool shared, size_t phase = 0);

  func::FuncOp getFunction() { return function; }
  ImplicitLocOpBuilder &getBuilder() { return builder; }
  Value getInput(unsigned index) { return function.getArgument(index); }
  Value getOutput(unsigned index) { return function.getArgument(numInputs + index); }
  /// The slice of the outer parallel loop, as `index`.
  Value getBegin() { return begin; }
  Value getEnd() { return end; }
  /// The rank's coordinate on `axis` of `mesh`, as `index`.
  Value getAxisIndex(AxisIndexOp axis);
  /// Room in the workspace for `type`; valid for the whole function. What is never read takes none. Phases of
  /// a kernel ask for the same in the same order, and get the same.
  Value allocate(RankedTensorType type);
  /// Memory of a block of a GPU's threads for `size` elements.
  Value allocateShared(int64_t size, Type element);
  /// Memory that holds the elements of a constant.
  Value getConstant(DenseElementsAttr elements);
  /// An `index` constant at the top of the function.
  Value getIndex(int64_t value);

  /// Adds the terminators of a kernel's phases and gives the workspace its size, in bytes.
  static int64_t finish(ArrayRef<KernelFunction *> phases);
  int64_t finish() { return finish(this); }

private:
  std::string nameGlobal(StringRef suffix, unsigned number);
  void finishWith(int64_t workspaceBytes);

  KernelOp kernel;
  func::FuncOp function;
  ImplicitLocOpBuilder builder;
  unsigned numInputs, numOutputs;
  Value begin, end;
  SmallVector<memref::ViewOp> allocated; // in the workspace
  unsigned numConstants = 0, numShared = 0;
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
/// `mask` has. Others are 0 when they are loaded. Whole vectors lie at a multiple of `alignment` bytes; 0: of
/// an element.
Value loadVector(ImplicitLocOpBuilder &b, VectorType type, Value buffer, Value index, Value mask,
                 int64_t alignment = 0);
void storeVector(ImplicitLocOpBuilder &b, Value value, Value buffer, Value index, Value mask,
                 int64_t alignment = 0);
/// A loop from `begin` to `end`; `body` makes an iteration of its number.
void emitLoop(ImplicitLocOpBuilder &b, Value begin, Value end, Value step, function_ref<void(Value)> body);

} // namespace mlir::epl
