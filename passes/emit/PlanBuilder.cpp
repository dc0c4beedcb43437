//===- PlanBuilder.cpp - What one mesh does, as a plan --------------------===//
//
// Problem: a function says in ops what the plan of a mesh says in slots, buffers and commands.
// Method: one walk in program order. Arguments and results become slots, every tensor that a launch or a
// collective makes becomes a buffer, views share the buffer of what they view, and each launch and collective
// becomes a command. A loop has the commands of all its iterations. Lanes, waits and memory are the plan
// builder's matter.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/PlanBuilder.h"

#include "dialect/Servers.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::epl;

//===----------------------------------------------------------------------===//
// Tables: mesh, slots
//===----------------------------------------------------------------------===//

LogicalResult PlanBuilder::addMesh() {
  FailureOr<MeshOp> own = mlir::epl::getMesh(func);
  if (failed(own))
    return failure();
  mesh = *own;
  for (auto axis : mesh.getAxes().getAsRange<AxisAttr>())
    builder.addAxis(axis.getName().str(), axis.getSize());
  return success();
}

std::vector<std::unique_ptr<plan::DimShardingT>> mlir::epl::toDimShardings(ShardingAttr sharding) {
  std::vector<std::unique_ptr<plan::DimShardingT>> dims;
  for (int64_t dim = 0; dim < sharding.getRank(); ++dim) {
    dims.push_back(std::make_unique<plan::DimShardingT>());
    dims.back()->axes = toStrings(sharding.getDimAxes(dim));
  }
  return dims;
}

static std::vector<std::unique_ptr<plan::CallerPartsT>> toCallerParts(ArrayAttr dims) {
  std::vector<std::unique_ptr<plan::CallerPartsT>> parts;
  for (auto [dim, list] : llvm::enumerate(dims.getAsRange<DenseI64ArrayAttr>())) {
    if (list.empty())
      continue;
    parts.push_back(std::make_unique<plan::CallerPartsT>());
    parts.back()->dim = dim;
    parts.back()->extents.assign(list.asArrayRef().begin(), list.asArrayRef().end());
  }
  return parts;
}

LogicalResult PlanBuilder::addSlot(plan::SlotT slot, DistType type, DictionaryAttr attrs,
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
  if (auto parts = attrs.getAs<ArrayAttr>(EplDialect::kCallerPartsAttr))
    slot.caller_parts = toCallerParts(parts);
  if (auto rows = attrs.getAs<DenseI64ArrayAttr>(EplDialect::kCallerRowsAttr))
    slot.caller_rows = std::make_unique<plan::CallerRows>(rows[0], rows[1]);
  slot.sharding = toDimShardings(type.getSharding());
  if (OwnerAttr owner = type.getSharding().getOwner())
    slot.owner = std::make_unique<plan::Owner>(getOwner(owner));
  builder.addSlot(std::move(slot));
  return success();
}

bool mlir::epl::isChannel(DictionaryAttr attrs) { return attrs && attrs.contains(EplDialect::kChannelAttr); }

int64_t mlir::epl::getPosition(DictionaryAttr attrs, unsigned index) {
  auto position = attrs ? attrs.getAs<IntegerAttr>(EplDialect::kPositionAttr) : IntegerAttr();
  return position ? position.getInt() : index;
}

/// What servers hold is a constant to all passes before.
static plan::SlotRole getRole(DictionaryAttr attrs) {
  auto role = attrs.getAs<StringAttr>(EplDialect::kRoleAttr);
  if (attrs.contains(kPullAttr))
    return plan::SlotRole::pulled;
  if (!role || role.getValue() == "constant")
    return plan::SlotRole::constant;
  return role.getValue() == "state" ? plan::SlotRole::state : plan::SlotRole::batch;
}

LogicalResult PlanBuilder::addArgument(unsigned index) {
  DictionaryAttr attrs = func.getArgAttrDict(index);
  attrs = attrs ? attrs : DictionaryAttr::get(func.getContext());
  plan::SlotT slot;
  slot.role = getRole(attrs);
  slot.hidden = attrs.contains(EplDialect::kHiddenAttr);
  auto type = cast<DistType>(func.getArgument(index).getType());
  if (failed(addSlot(std::move(slot), type, attrs, "arg" + std::to_string(getPosition(attrs, index)))))
    return failure();
  buffers[func.getArgument(index)] = builder.slotBuffer(index);
  return success();
}

LogicalResult PlanBuilder::addResult(unsigned index) {
  DictionaryAttr attrs = func.getResultAttrDict(index);
  attrs = attrs ? attrs : DictionaryAttr::get(func.getContext());
  plan::SlotT slot;
  slot.role = attrs.contains(kPushAttr) ? plan::SlotRole::pushed : plan::SlotRole::result;
  slot.hidden = attrs.contains(EplDialect::kHiddenAttr);
  if (auto updates = attrs.getAs<IntegerAttr>(EplDialect::kUpdatesAttr))
    slot.updates = updates.getInt();
  auto type = cast<DistType>(func.getResultTypes()[index]);
  return addSlot(std::move(slot), type, attrs, "result" + std::to_string(getPosition(attrs, index)));
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

/// The launch that makes a value, through views.
static LaunchOp getProducer(Value value) {
  while (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value.getDefiningOp<LaunchOp>();
}

/// What a launch is the end of; its kernel says that launches of the same task have made its first operand.
std::unique_ptr<plan::AttentionT> PlanBuilder::getAttention(LaunchOp launch, AttentionAttr attr) const {
  LaunchOp softmax = getProducer(launch.getInputs()[0]);
  auto made = std::make_unique<plan::AttentionT>();
  made->softmax = commands.at(softmax);
  for (Value input : softmax.getInputs()) // the scores, beside which there may be a mask
    if (isa<FloatType>(getElementTypeOrSelf(input)))
      made->scores = commands.at(getProducer(input));
  made->scale = attr.getScale().getValue().convertToFloat();
  made->causal = attr.getCausal();
  return made;
}

void PlanBuilder::addContraction(LaunchOp launch, KernelOp kernel, GemmAttr gemm, WorkAttr work) {
  auto type = cast<RankedTensorType>(launch.getResult(0).getType());
  Type input = getElementTypeOrSelf(launch.getInputs()[0]);
  plan::ContractT contract;
  contract.type = *getElementType(input);
  contract.widens = input != type.getElementType();
  contract.a = buffers.lookup(launch.getInputs()[0]);
  contract.b = buffers.lookup(launch.getInputs()[1]);
  contract.m = gemm.getM();
  contract.n = gemm.getN();
  contract.k = gemm.getK();
  contract.lda = gemm.getLda();
  contract.ldb = gemm.getLdb();
  contract.ldc = gemm.getLdc();
  contract.transpose_a = gemm.getTransposeA();
  contract.transpose_b = gemm.getTransposeB();
  if (std::optional<EpilogueAttr> epilogue = kernel.getEpilogue()) {
    contract.activation = plan::Activation(epilogue->getActivation());
    contract.has_bias = epilogue->getBias();
    contract.bias = contract.has_bias ? buffers.lookup(launch.getInputs().back()) : 0;
  }
  ArrayRef<int64_t> batch = gemm.getBatch();
  for (size_t i = 0; i + 3 < batch.size(); i += 4)
    contract.batch.emplace_back(batch[i], batch[i + 1], batch[i + 2], batch[i + 3]);
  if (AttentionAttr attention = kernel.getAttentionAttr())
    contract.attention = getAttention(launch, attention);
  if (gemm.getAccumulate())
    beginSum(launch, contract, work);
  else
    contract.c = addBuffer(launch.getResult(0), type, kernel.getSymName());
  if (launch.getNumResults() > 1) {
    contract.attention->stats = addBuffer(
        launch.getResult(1), cast<RankedTensorType>(launch.getResult(1).getType()), kernel.getSymName());
    attentions[contract.attention->stats] = builder.nextCommand();
  }
  commands[launch] = builder.nextCommand();
  builder.contract(getInfo(launch, kernel.getSymName(), work), std::move(contract));
}

/// The gradients stay where the launches before it have put them.
void PlanBuilder::addAttentionGradient(LaunchOp launch, KernelOp kernel, WorkAttr work) {
  AttentionGradientAttr attr = kernel.getAttentionGradientAttr();
  plan::AttentionGradientT gradient;
  ArrayRef<int64_t> steps = attr.getSteps();
  for (Value input : launch.getInputs().drop_back()) {
    auto &tensors = gradient.outputs.size() < launch.getNumResults() ? gradient.outputs : gradient.inputs;
    tensors.emplace_back(buffers.lookup(input), steps[0], steps[1], steps[2]);
    steps = steps.drop_front(3);
  }
  for (auto [result, input] : llvm::zip(launch.getResults(), launch.getInputs()))
    buffers[result] = buffers.lookup(input);
  gradient.stats = buffers.lookup(launch.getInputs().back());
  gradient.attention = attentions.at(gradient.stats);
  builder.attentionGradient(getInfo(launch, kernel.getSymName(), work), std::move(gradient),
                            uint32_t(attr.getParts()));
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

LogicalResult PlanBuilder::addLaunch(LaunchOp launch, WorkAttr work) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(launch, launch.getKernelAttr());
  if (kernel.getGemm()) {
    addContraction(launch, kernel, *kernel.getGemm(), work);
    return success();
  }
  if (kernel.getAttentionGradient()) {
    addAttentionGradient(launch, kernel, work);
    return success();
  }
  if (kernel.getCopies()) {
    addCopies(launch, kernel, work);
    return success();
  }
  if (startsSums(launch, kernel)) {
    buffers[launch.getResult(0)] = kZeros;
    return success();
  }
  FailureOr<KernelEntry> entry = addKernel(kernel);
  if (failed(entry))
    return failure();
  std::vector<uint32_t> operands;
  for (Value input : launch.getInputs())
    operands.push_back(buffers.lookup(input));
  for (Value result : launch.getResults())
    operands.push_back(addBuffer(result, cast<RankedTensorType>(result.getType()), kernel.getSymName()));
  if (entry->workspace > 0)
    operands.push_back(builder.addBuffer((kernel.getSymName() + ".workspace").str(), entry->workspace));
  commands[launch] = builder.nextCommand();
  builder.launch(getInfo(launch, kernel.getSymName(), work), entry->index, std::move(operands));
  return success();
}

LogicalResult PlanBuilder::addTaskOp(Operation *op, WorkAttr work) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](LaunchOp launch) { return addLaunch(launch, work); })
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
  for (Operation &op : body) {
    if (failed(addTaskOp(&op, task.getWork())))
      return failure();
    for (Value result : op.getResults())
      addSends(result, task.getWork());
  }
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

plan::Owner PlanBuilder::getOwner(OwnerAttr owner) {
  return {builder.addCommunicator({owner.getAxis().str()}), uint32_t(owner.getCoordinate())};
}

/// The commands that follow are the owner's who does `op`, or those of all.
void PlanBuilder::setOwner(Operation *op) {
  OwnerAttr owner;
  if (op->getNumResults() > 0 && !isa<ReduceOp>(op))
    if (auto type = dyn_cast<DistType>(op->getResult(0).getType()))
      owner = type.getSharding().getOwner();
  builder.setOwner(owner ? std::optional(getOwner(owner)) : std::nullopt);
}

LogicalResult PlanBuilder::addOp(Operation *op) {
  setGuards(op);
  setOwner(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](TaskOp task) { return addTask(task); })
      .Case([&](PredicateOp predicate) {
        predicates[predicate.getId()] = buffers.lookup(predicate.getOperand());
        return success();
      })
      .Case([&](AllReduceOp reduce) { return addAllReduce(reduce); })
      .Case([&](ReduceOp reduce) { return addReduce(reduce); })
      .Case([&](BroadcastOp broadcast) { return addBroadcast(broadcast); })
      .Case([&](ReduceScatterOp reduce) { return addReduceScatter(reduce); })
      .Case([&](AllToAllOp exchange) { return addExchange(exchange, "all_to_all"); })
      .Case([&](PermuteOp exchange) { return addExchange(exchange, "permute"); })
      .Case([&](AllGatherOp gather) { return addAllGather(gather); })
      .Case([&](func::ReturnOp ret) {
        unsigned slot = llvm::count_if(func.getArguments(), [&](BlockArgument argument) {
          return !isChannel(func.getArgAttrDict(argument.getArgNumber()));
        });
        for (auto [index, value] : llvm::enumerate(ret.getOperands()))
          if (!isChannel(func.getResultAttrDict(index)))
            builder.setResult(slot++, buffers.lookup(value));
        return success();
      })
      .Default([](Operation *other) { return other->emitOpError("is not supported in a plan yet"); });
}

LogicalResult PlanBuilder::add() {
  if (failed(addMesh()))
    return failure();
  findChannels();
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (!isChannel(func.getArgAttrDict(i)) && failed(addArgument(i)))
      return failure();
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    if (!isChannel(func.getResultAttrDict(i)) && failed(addResult(i)))
      return failure();
  for (BlockArgument argument : func.getArguments())
    if (!isChannel(func.getArgAttrDict(argument.getArgNumber())))
      addSends(argument, {});
  addUnits();
  return addOps(func.front());
}
