//===- BuildPlan.cpp - From the last module to a plan ---------------------===//
//
// Problem: a plan is data for a runtime that knows no MLIR; the module says the same in ops.
// Method: one walk in program order. Arguments and results become slots, every tensor that a launch or a
// collective makes becomes a buffer, views share the buffer of what they view, and each launch and
// collective becomes a command. A loop has the commands of all its turns. Lanes, waits and memory are the
// plan builder's matter.
// Invariant in: level "kernels"; every kernel is lowered, or matched to the matrix library.
// Invariant out: a plan that the verifier accepted.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/PlanBuilder.h"

#include "runtime/plan/Error.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::epl;

//===----------------------------------------------------------------------===//
// Tables: mesh, kernels, slots
//===----------------------------------------------------------------------===//

LogicalResult PlanBuilder::addMesh(func::FuncOp func) {
  FailureOr<MeshOp> only = getMesh(func);
  if (failed(only))
    return failure();
  mesh = *only;
  for (auto axis : mesh.getAxes().getAsRange<AxisAttr>())
    builder.addAxis(axis.getName().str(), axis.getSize(), axis.getTemporal());
  return success();
}

void PlanBuilder::addKernel(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  plan::KernelT entry;
  entry.name = entry.symbol = kernel.getSymName().str();
  entry.form = kernel.getForm().value_or("").str();
  entry.num_inputs = body.getNumArguments();
  entry.num_outputs = body.getTerminator()->getNumOperands();
  for (Type type : body.getArgumentTypes())
    entry.operand_sizes.push_back(getByteSize(cast<RankedTensorType>(type)));
  for (Type type : body.getTerminator()->getOperandTypes())
    entry.operand_sizes.push_back(getByteSize(cast<RankedTensorType>(type)));
  entry.workspace = kernel.getWorkspace().value_or(0);
  entry.extent = kernel.getExtent().value_or(1);
  entry.flops = kernel.getFlops().value_or(0);
  if (auto inPlace = kernel.getInPlace())
    entry.in_place.assign(inPlace->begin(), inPlace->end());
  else
    entry.in_place.assign(entry.num_outputs, -1);
  kernels[kernel.getSymName()] = builder.addKernel(std::move(entry));
}

LogicalResult PlanBuilder::addSlot(func::FuncOp func, plan::SlotT slot, DistType type, DictionaryAttr attrs,
                                   StringRef defaultName) {
  auto name = attrs.getAs<StringAttr>(EplDialect::kNameAttr);
  slot.name = (name ? name.getValue() : defaultName).str();
  std::optional<plan::ElementType> element = getElementType(type.getGlobal().getElementType());
  if (!element)
    return func.emitError() << "element type " << type.getGlobal().getElementType() << " of \"" << slot.name
                            << "\" is not supported by the runtime";
  slot.type = *element;
  slot.shape.assign(type.getGlobal().getShape().begin(), type.getGlobal().getShape().end());
  if (auto seen = attrs.getAs<DenseI64ArrayAttr>(EplDialect::kCallerShapeAttr))
    slot.caller_shape.assign(seen.asArrayRef().begin(), seen.asArrayRef().end());
  for (int64_t dim = 0; dim < type.getGlobal().getRank(); ++dim) {
    auto sharding = std::make_unique<plan::DimShardingT>();
    sharding->axes = toStrings(type.getSharding().getDimAxes(dim));
    slot.sharding.push_back(std::move(sharding));
  }
  builder.addSlot(std::move(slot));
  return success();
}

LogicalResult PlanBuilder::addArgument(func::FuncOp func, unsigned index) {
  DictionaryAttr attrs = func.getArgAttrDict(index);
  attrs = attrs ? attrs : DictionaryAttr::get(func.getContext());
  auto role = attrs.getAs<StringAttr>(EplDialect::kRoleAttr);
  plan::SlotT slot;
  slot.role = !role || role.getValue() == "constant" ? plan::SlotRole::constant
              : role.getValue() == "state"           ? plan::SlotRole::state
                                                     : plan::SlotRole::batch;
  slot.hidden = attrs.contains(EplDialect::kHiddenAttr);
  auto type = cast<DistType>(func.getArgument(index).getType());
  if (failed(addSlot(func, std::move(slot), type, attrs, "arg" + std::to_string(index))))
    return failure();
  buffers[func.getArgument(index)] = builder.slotBuffer(index);
  return success();
}

LogicalResult PlanBuilder::addResult(func::FuncOp func, unsigned index) {
  DictionaryAttr attrs = func.getResultAttrDict(index);
  attrs = attrs ? attrs : DictionaryAttr::get(func.getContext());
  plan::SlotT slot;
  slot.role = plan::SlotRole::result;
  if (auto updates = attrs.getAs<IntegerAttr>(EplDialect::kUpdatesAttr))
    slot.updates = updates.getInt();
  auto type = cast<DistType>(func.getResultTypes()[index]);
  return addSlot(func, std::move(slot), type, attrs, "result" + std::to_string(index));
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

void PlanBuilder::addContraction(LaunchOp launch, KernelOp kernel, GemmAttr gemm, WorkAttr work) {
  auto type = cast<RankedTensorType>(launch.getResult(0).getType());
  Type input = getElementTypeOrSelf(launch.getInputs()[0]);
  plan::ContractT contract;
  contract.type = *getElementType(input);
  contract.widens = input != type.getElementType();
  contract.a = buffers.lookup(launch.getInputs()[0]);
  contract.b = buffers.lookup(launch.getInputs()[1]);
  contract.c = addBuffer(launch.getResult(0), type, kernel.getSymName());
  contract.m = gemm.getM();
  contract.n = gemm.getN();
  contract.k = gemm.getK();
  contract.lda = gemm.getLda();
  contract.ldb = gemm.getLdb();
  contract.ldc = gemm.getLdc();
  contract.transpose_a = gemm.getTransposeA();
  contract.transpose_b = gemm.getTransposeB();
  contract.accumulate = gemm.getAccumulate();
  ArrayRef<int64_t> batch = gemm.getBatch();
  for (size_t i = 0; i + 3 < batch.size(); i += 4)
    contract.batch.emplace_back(batch[i], batch[i + 1], batch[i + 2], batch[i + 3]);
  if (gemm.getAccumulate()) // the library adds to c: c begins as the third input
    builder.copy(getInfo(launch, "copy", work), buffers.lookup(launch.getInputs()[2]), contract.c);
  builder.contract(getInfo(launch, kernel.getSymName(), work), std::move(contract));
}

void PlanBuilder::addCopies(LaunchOp launch, KernelOp kernel, WorkAttr work) {
  auto type = cast<RankedTensorType>(launch.getResult(0).getType());
  plan::CopyT copy;
  copy.target = addBuffer(launch.getResult(0), type, kernel.getSymName());
  auto parts = kernel.getCopies()->getAsRange<CopyAttr>();
  for (auto [input, part] : llvm::zip_equal(launch.getInputs(), parts)) {
    copy.source = buffers.lookup(input);
    copy.from = part.getFrom();
    copy.to = part.getTo();
    copy.size = part.getSize();
    if (copy.size > 0)
      builder.copy(getInfo(launch, kernel.getSymName(), work), copy);
  }
}

void PlanBuilder::addLaunch(LaunchOp launch, WorkAttr work) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(launch, launch.getKernelAttr());
  if (kernel.getGemm())
    return addContraction(launch, kernel, *kernel.getGemm(), work);
  if (kernel.getCopies())
    return addCopies(launch, kernel, work);
  if (!kernels.contains(kernel.getSymName()))
    addKernel(kernel);
  std::vector<uint32_t> operands;
  for (Value input : launch.getInputs())
    operands.push_back(buffers.lookup(input));
  for (Value result : launch.getResults())
    operands.push_back(addBuffer(result, cast<RankedTensorType>(result.getType()), kernel.getSymName()));
  if (int64_t workspace = kernel.getWorkspace().value_or(0))
    operands.push_back(builder.addBuffer((kernel.getSymName() + ".workspace").str(), workspace));
  builder.launch(getInfo(launch, kernel.getSymName(), work), kernels[kernel.getSymName()],
                 std::move(operands));
}

LogicalResult PlanBuilder::addTaskOp(Operation *op, WorkAttr work) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](LaunchOp launch) {
        addLaunch(launch, work);
        return success();
      })
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp>([&](auto view) {
        buffers[view.getResult()] = buffers.lookup(view.getSrc());
        return success();
      })
      .Case<YieldOp, AxisIndexOp>([](auto) { return success(); })
      .Default([](Operation *other) { return other->emitOpError("has no place in a plan"); });
}

LogicalResult PlanBuilder::addTask(TaskOp task) {
  Block &body = task.getBody().front();
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), task.getInputs()))
    buffers[argument] = buffers.lookup(input);
  for (Operation &op : body)
    if (failed(addTaskOp(&op, task.getWork())))
      return failure();
  for (auto [result, value] : llvm::zip_equal(task.getResults(), body.getTerminator()->getOperands()))
    buffers[result] = buffers.lookup(value);
  return success();
}

/// The commands that follow are done only where all guards of `op` hold.
void PlanBuilder::setGuards(Operation *op) {
  std::vector<plan::Guard> guards;
  if (auto array = op->getAttrOfType<ArrayAttr>(EplDialect::kGuardsAttr))
    for (auto guard : array.getAsRange<GuardAttr>())
      guards.emplace_back(predicates.lookup(guard.getPredicate()), guard.getExpected());
  builder.setGuards(std::move(guards));
}

LogicalResult PlanBuilder::addOp(Operation *op) {
  setGuards(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](TaskOp task) { return addTask(task); })
      .Case([&](PredicateOp predicate) {
        predicates[predicate.getId()] = buffers.lookup(predicate.getOperand());
        return success();
      })
      .Case([&](AllReduceOp reduce) { return addAllReduce(reduce); })
      .Case([&](ReduceScatterOp reduce) { return addReduceScatter(reduce); })
      .Case([&](AllToAllOp exchange) { return addExchange(exchange, "all_to_all"); })
      .Case([&](PermuteOp exchange) { return addExchange(exchange, "permute"); })
      .Case([&](AllGatherOp gather) { return addAllGather(gather); })
      .Case([&](func::ReturnOp ret) {
        unsigned first = ret->getParentOfType<func::FuncOp>().getNumArguments();
        for (auto [index, value] : llvm::enumerate(ret.getOperands()))
          builder.setResult(first + index, buffers.lookup(value));
        return success();
      })
      .Default([](Operation *other) { return other->emitOpError("is not supported in a plan yet"); });
}

FailureOr<plan::PlanT> PlanBuilder::build() {
  auto functions = module.getOps<func::FuncOp>();
  auto main = llvm::find_if(functions, [](func::FuncOp func) { return func.isPublic(); });
  if (main == functions.end())
    return module.emitError() << "has no public function";
  func::FuncOp func = *main;
  if (failed(addMesh(func)))
    return failure();
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (failed(addArgument(func, i)))
      return failure();
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    if (failed(addResult(func, i)))
      return failure();
  if (failed(addOps(func.front())))
    return failure();
  for (BinaryOp binary : module.getOps<BinaryOp>()) {
    StringRef image = binary.getImage();
    builder.setImage({image.bytes_begin(), image.bytes_end()}, binary.getCpu().str(),
                     toStrings(llvm::to_vector(binary.getFeatures().getAsValueRange<StringAttr>())));
  }
  plan::ProvenanceT provenance;
  provenance.producer = "epl-compile";
  provenance.options = options.options;
  provenance.source = options.source;
  builder.setProvenance(std::move(provenance));
  plan::PlanT plan = builder.finish();
  plan.layout = options.layout;
  return plan;
}

FailureOr<plan::PlanT> mlir::epl::buildPlan(ModuleOp module, const PlanOptions &options) {
  try {
    return PlanBuilder(module, options).build();
  } catch (const runtime::PlanError &error) {
    return module.emitError() << error.what();
  }
}
