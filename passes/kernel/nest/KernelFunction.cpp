//===- KernelFunction.cpp - The function that a kernel becomes -------------------===//

#include "passes/kernel/nest/KernelFunction.h"

#include "dialect/Bytes.h"
#include "passes/kernel/cluster/StridedAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::epl;

// Buffers in the workspace start at cache lines: kernels of one launch on several threads do not share one.
static constexpr int64_t kWorkspaceAlignment = 64;
// Constants begin where a GPU's threads read 16 bytes at once.
static constexpr int64_t kConstantAlignment = 16;
// LLVM's number of the shared memory of a GPU's block.
static constexpr int64_t kSharedSpace = 3;

SmallVector<func::FuncOp> mlir::epl::getNests(ModuleOp module) {
  return llvm::to_vector(llvm::make_filter_range(
      module.getOps<func::FuncOp>(), [](func::FuncOp function) { return function->hasAttr(kKernelAttr); }));
}

KernelOp mlir::epl::getKernel(func::FuncOp nest) {
  auto name = nest->getAttrOfType<FlatSymbolRefAttr>(kKernelAttr);
  return name ? SymbolTable::lookupNearestSymbolFrom<KernelOp>(nest, name) : KernelOp();
}

static std::string getNestName(KernelOp kernel, size_t phase) {
  std::string entry = kernel.getSymName().str();
  return (phase == 0 ? entry : entry + "$" + std::to_string(phase)) + kNestSuffix.str();
}

func::FuncOp mlir::epl::getNest(KernelOp kernel, size_t phase) {
  auto module = kernel->getParentOfType<ModuleOp>();
  return module.lookupSymbol<func::FuncOp>(getNestName(kernel, phase));
}

// Adds an attribute that LLVM's function will have.
static void addLlvmAttr(func::FuncOp nest, Attribute attribute) {
  static constexpr StringLiteral kAttributes = "passthrough"; // of the LLVM dialect's functions
  SmallVector<Attribute> attributes;
  if (auto others = nest->getAttrOfType<ArrayAttr>(kAttributes))
    llvm::append_range(attributes, others);
  attributes.push_back(attribute);
  nest->setAttr(kAttributes, ArrayAttr::get(nest.getContext(), attributes));
}

void mlir::epl::setThreads(func::FuncOp nest, int64_t group, bool inRounds) {
  Builder b(nest.getContext());
  addLlvmAttr(nest, b.getStrArrayAttr({kGroupAttr, std::to_string(group)}));
  if (inRounds)
    addLlvmAttr(nest, b.getStringAttr(kRoundsAttr));
}

void mlir::epl::setInLists(func::FuncOp nest) {
  addLlvmAttr(nest, StringAttr::get(nest.getContext(), kListAttr));
}

Type mlir::epl::getStorageType(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  if (element.isIndex())
    return IntegerType::get(element.getContext(), 64);
  return element;
}

MemRefType mlir::epl::getBufferType(RankedTensorType type) {
  return MemRefType::get({type.getNumElements()}, getStorageType(type.getElementType()));
}

Value mlir::epl::linearize(ImplicitLocOpBuilder &b, ValueRange indices, ArrayRef<int64_t> shape) {
  Value linear;
  for (auto [index, stride] : llvm::zip_equal(indices, getStrides(shape))) {
    Value term = index;
    if (stride != 1)
      term = arith::MulIOp::create(b, index, arith::ConstantIndexOp::create(b, stride));
    linear = linear ? arith::AddIOp::create(b, linear, term) : term;
  }
  return linear ? linear : arith::ConstantIndexOp::create(b, 0);
}

Value mlir::epl::loadElement(ImplicitLocOpBuilder &b, Value buffer, Value index, Type element) {
  Value loaded = memref::LoadOp::create(b, buffer, index);
  if (element.isInteger(1))
    return arith::TruncIOp::create(b, element, loaded);
  return element.isIndex() ? arith::IndexCastOp::create(b, element, loaded).getResult() : loaded;
}

void mlir::epl::storeElement(ImplicitLocOpBuilder &b, Value value, Value buffer, Value index) {
  if (value.getType().isInteger(1))
    value = arith::ExtUIOp::create(b, b.getI8Type(), value);
  else if (value.getType().isIndex())
    value = arith::IndexCastOp::create(b, b.getI64Type(), value);
  memref::StoreOp::create(b, value, buffer, index);
}

static SmallVector<Type> getArgumentTypes(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  SmallVector<Type> types;
  for (TypeRange range :
       {TypeRange(body.getArgumentTypes()), TypeRange(body.getTerminator()->getOperandTypes())})
    for (Type type : range)
      types.push_back(getBufferType(cast<RankedTensorType>(type)));
  Builder b(kernel.getContext());
  types.push_back(MemRefType::get({0}, b.getI8Type()));
  int64_t numAxes = 0;
  for (auto mesh : kernel->getParentOfType<ModuleOp>().getOps<MeshOp>())
    numAxes = std::max<int64_t>(numAxes, mesh.getAxes().size());
  types.push_back(MemRefType::get({numAxes}, b.getI64Type()));
  types.append({b.getI64Type(), b.getI64Type()});
  return types;
}

KernelFunction::KernelFunction(KernelOp kernel, bool shared, size_t phase)
    : kernel(kernel), builder(kernel.getLoc(), kernel.getContext()),
      numInputs(kernel.getBody().getNumArguments()),
      numOutputs(kernel.getBody().front().getTerminator()->getNumOperands()) {
  Operation *last = phase == 0 ? kernel.getOperation() : getNest(kernel, phase - 1).getOperation();
  builder.setInsertionPointAfter(last);
  auto type = builder.getFunctionType(getArgumentTypes(kernel), {});
  function = func::FuncOp::create(builder, getNestName(kernel, phase), type);
  function.setPrivate();
  function->setAttr(kKernelAttr, FlatSymbolRefAttr::get(kernel.getSymNameAttr()));
  Block *block = function.addEntryBlock();
  for (unsigned arg = 0; !shared && arg < numInputs + numOutputs + 1; ++arg)
    function.setArgAttr(arg, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  builder.setInsertionPointToStart(block);
  unsigned numArguments = block->getNumArguments();
  begin = arith::IndexCastOp::create(builder, builder.getIndexType(), block->getArgument(numArguments - 2));
  end = arith::IndexCastOp::create(builder, builder.getIndexType(), block->getArgument(numArguments - 1));
}

Value KernelFunction::getAxisIndex(AxisIndexOp axis) {
  auto mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>(kernel, axis.getMeshAttr());
  Value coordinates = function.getArgument(numInputs + numOutputs + 1);
  Value position = arith::ConstantIndexOp::create(builder, mesh.getAxisPosition(axis.getAxis()));
  Value coordinate = memref::LoadOp::create(builder, coordinates, position);
  return arith::IndexCastOp::create(builder, builder.getIndexType(), coordinate);
}

Value KernelFunction::allocate(RankedTensorType type) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(end);
  Value start = arith::ConstantIndexOp::create(builder, 0); // `finish` gives it its place
  Value workspace = function.getArgument(numInputs + numOutputs);
  auto view = memref::ViewOp::create(builder, getBufferType(type), workspace, start, ValueRange());
  allocated.push_back(view);
  return view;
}

// The buffer that an op stores to; null if it does anything else.
static Value getTarget(Operation *op) {
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return store.getMemRef();
  if (auto store = dyn_cast<vector::StoreOp>(op))
    return store.getBase();
  return Value();
}

static bool isRead(memref::ViewOp view) {
  return !llvm::all_of(view->getUsers(),
                       [&](Operation *user) { return getTarget(user) == view.getResult(); });
}

static void eraseStores(memref::ViewOp view) {
  for (Operation *user : llvm::make_early_inc_range(view->getUsers()))
    user->erase();
  view.erase();
}

// What no phase reads is not stored.
int64_t KernelFunction::finish(ArrayRef<KernelFunction *> phases) {
  int64_t bytes = 0;
  for (size_t index = 0; index < phases.front()->allocated.size(); ++index) {
    MemRefType buffer = phases.front()->allocated[index].getType();
    bool wanted =
        llvm::any_of(phases, [&](KernelFunction *phase) { return isRead(phase->allocated[index]); });
    for (KernelFunction *phase : phases) {
      memref::ViewOp view = phase->allocated[index];
      if (!wanted) {
        eraseStores(view);
        continue;
      }
      OpBuilder::InsertionGuard guard(phase->builder);
      phase->builder.setInsertionPoint(view);
      view.getByteShiftMutable().assign(arith::ConstantIndexOp::create(phase->builder, bytes));
    }
    if (wanted)
      bytes = llvm::alignTo(bytes + buffer.getNumElements() * getElementBytes(buffer.getElementType()),
                            kWorkspaceAlignment);
  }
  for (KernelFunction *phase : phases)
    phase->finishWith(bytes);
  return bytes;
}

void KernelFunction::finishWith(int64_t workspaceBytes) {
  func::ReturnOp::create(builder);
  BlockArgument workspace = function.getArgument(numInputs + numOutputs);
  workspace.setType(MemRefType::get({workspaceBytes}, builder.getI8Type()));
  function.setType(builder.getFunctionType(function.front().getArgumentTypes(), {}));
}

// Of something that the function has beside it.
std::string KernelFunction::nameGlobal(StringRef suffix, unsigned number) {
  return (function.getName().drop_back(kNestSuffix.size()) + suffix + Twine(number)).str();
}

Value KernelFunction::allocateShared(int64_t size, Type element) {
  auto type = MemRefType::get({size}, getStorageType(element), MemRefLayoutAttrInterface(),
                              builder.getI64IntegerAttr(kSharedSpace));
  std::string name =
      (function.getName().drop_back(kNestSuffix.size()) + ".shared" + Twine(numShared++)).str();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function);
  memref::GlobalOp::create(builder, name, builder.getStringAttr("private"), type, builder.getUnitAttr(),
                           /*constant=*/false, builder.getI64IntegerAttr(kConstantAlignment));
  builder.setInsertionPointAfterValue(end);
  return memref::GetGlobalOp::create(builder, type, name);
}

Value KernelFunction::getConstant(DenseElementsAttr elements) {
  auto type = cast<RankedTensorType>(elements.getType());
  MemRefType buffer = getBufferType(type);
  auto linear = RankedTensorType::get({type.getNumElements()}, buffer.getElementType());
  DenseElementsAttr stored = elements.reshape(linear.clone(type.getElementType()));
  if (linear.getElementType() != type.getElementType())
    stored = stored.mapValues(linear.getElementType(), [&](const APInt &value) {
      return value.zextOrTrunc(linear.getElementTypeBitWidth());
    });
  std::string name = nameGlobal(".constant", numConstants++);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function);
  memref::GlobalOp::create(builder, name, builder.getStringAttr("private"), buffer, stored, /*constant=*/true,
                           builder.getI64IntegerAttr(kConstantAlignment));
  builder.setInsertionPointAfterValue(end);
  return memref::GetGlobalOp::create(builder, buffer, name);
}

Value KernelFunction::getIndex(int64_t value) {
  Value &constant = indices[value];
  if (!constant) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.front());
    constant = arith::ConstantIndexOp::create(builder, value);
  }
  return constant;
}

Value mlir::epl::loadVector(ImplicitLocOpBuilder &b, VectorType type, Value buffer, Value index, Value mask,
                            int64_t alignment) {
  if (!mask)
    return vector::LoadOp::create(b, type, buffer, index, /*nontemporal=*/false, llvm::MaybeAlign(alignment));
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return vector::MaskedLoadOp::create(b, type, buffer, index, mask, none);
}

void mlir::epl::storeVector(ImplicitLocOpBuilder &b, Value value, Value buffer, Value index, Value mask,
                            int64_t alignment) {
  if (mask)
    vector::MaskedStoreOp::create(b, buffer, index, mask, value);
  else
    vector::StoreOp::create(b, value, buffer, index, /*nontemporal=*/false, llvm::MaybeAlign(alignment));
}

void mlir::epl::emitLoop(ImplicitLocOpBuilder &b, Value begin, Value end, Value step,
                         function_ref<void(Value)> body) {
  OpBuilder::InsertionGuard guard(b);
  auto loop = scf::ForOp::create(b, begin, end, step);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}
