//===- MeshSignatures.cpp - What each mesh takes and gives ----------------===//

#include "passes/shard/prepare/MeshSignatures.h"

#include "dialect/Channels.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/BatchFactors.h"

using namespace mlir;
using namespace mlir::epl;

FailureOr<MeshSignatures> MeshSignatures::create(func::FuncOp function, const MeshAssignment &assignment) {
  MeshSignatures made(function, assignment);
  if (failed(made.findChannels()))
    return failure();
  made.findBatchDims();
  return made;
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

/// Says that `mesh` reads `value` for `reader`, or what it is made of if that is rematerialized.
LogicalResult MeshSignatures::need(Value value, unsigned mesh, Operation *reader) {
  if (auto slice = dyn_cast<LoopSliceOp>(reader); !slice || !isOfMicroBatches(slice.getLoop()))
    whole.insert({value, mesh});
  if (!needed.insert({value, mesh}).second)
    return success();
  Operation *producer = value.getDefiningOp();
  if (producer && assignment.isRematerialized(producer))
    return success(llvm::all_of(getUsedValues(producer),
                                [&](Value source) { return succeeded(need(source, mesh, producer)); }));
  std::optional<unsigned> home = assignment.getMesh(value);
  if (!home || *home == mesh)
    return success();
  if (!isa<RankedTensorType>(value.getType()))
    return emitError(value.getLoc()) << "value of type " << value.getType()
                                     << " is read on another mesh than it is made on, expected a tensor";
  receivers[value].insert(mesh);
  return success();
}

LogicalResult MeshSignatures::findChannels() {
  for (Operation &op : body.without_terminator())
    for (Value value : getUsedValues(&op))
      if (!assignment.isRematerialized(&op) && failed(need(value, assignment.getMesh(&op), &op)))
        return failure();
  for (OpOperand &result : body.getTerminator()->getOpOperands())
    if (failed(need(result.get(), getResultMesh(result), result.getOwner())))
      return failure();
  llvm::for_each(body.getArguments(), [&](Value value) { numberChannels(value); });
  for (Operation &op : body.without_terminator())
    llvm::for_each(op.getResults(), [&](Value value) { numberChannels(value); });
  return success();
}

void MeshSignatures::numberChannels(Value value) {
  for (unsigned mesh : receivers.lookup(value))
    channels.push_back({value, *assignment.getMesh(value), mesh});
}

void MeshSignatures::findBatchDims() {
  DenseMap<Operation *, FactorRule> rules;
  for (Operation &op : body)
    rules[&op] = getFactorRule(&op);
  BatchFactors factors(function, loops,
                       [&](Operation *op) -> const FactorRule & { return rules.find(op)->second; });
  for (const Channel &channel : channels)
    if (int64_t dim = factors.getDim(channel.value); dim >= 0)
      batchDims[channel.value] = dim + (getMicroLoop(channel.value) ? 1 : 0);
}

Type MeshSignatures::getChannelType(Value value) const {
  LoopAttr loop = getMicroLoop(value);
  if (!loop)
    return value.getType();
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape = {loop.getTripCount()};
  llvm::append_range(shape, type.getShape());
  return type.clone(shape);
}

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

/// A batch that nobody reads is still the caller's to give.
SmallVector<unsigned> MeshSignatures::getArgumentMeshes(BlockArgument argument) const {
  if (std::optional<unsigned> home = assignment.getMesh(argument))
    return {*home};
  SmallVector<unsigned> readers = assignment.getReaders(argument);
  return readers.empty() ? SmallVector<unsigned>{0} : readers;
}

/// An update is returned where its argument is, what another step wants on a mesh is on that, anything else
/// where it is made.
unsigned MeshSignatures::getResultMesh(OpOperand &result) const {
  func::FuncOp function = this->function; // whose attributes only a copy that is not const gives
  if (auto wanted =
          function.getResultAttrOfType<ShardingAttr>(result.getOperandNumber(), EplDialect::kWantedAttr)) {
    auto isWanted = [&](MeshOp mesh) { return mesh.getSymName() == wanted.getMesh().getValue(); };
    return llvm::find_if(assignment.getMeshes(), isWanted) - assignment.getMeshes().begin();
  }
  if (BlockArgument updated = getUpdatedArgument(function, result.getOperandNumber()))
    return getArgumentMeshes(updated).front();
  if (auto argument = dyn_cast<BlockArgument>(result.get()))
    return getArgumentMeshes(argument).front();
  return assignment.getMesh(result.get()).value_or(0);
}

static DictionaryAttr withPosition(MLIRContext *context, DictionaryAttr attrs, int64_t position,
                                   std::optional<int64_t> updates) {
  Builder builder(context);
  NamedAttrList list(attrs);
  if (!list.get(EplDialect::kPositionAttr)) // else this is one of several of the caller's argument
    list.set(EplDialect::kPositionAttr, builder.getI64IntegerAttr(position));
  if (updates)
    list.set(EplDialect::kUpdatesAttr, builder.getI64IntegerAttr(*updates));
  return list.getDictionary(context);
}

/// Whether each iteration sends: its own value, or a part of what a loop stacks and others slice.
bool MeshSignatures::isInMessages(const Channel &channel) const {
  auto stack = channel.value.getDefiningOp<LoopStackOp>();
  return getMicroLoop(channel.value) ||
         (stack && isOfMicroBatches(stack.getLoop()) && !whole.contains({channel.value, channel.to}));
}

DictionaryAttr MeshSignatures::getChannelAttrs(int64_t number, const Channel &channel,
                                               bool isReceived) const {
  Builder builder(body.getParentOp()->getContext());
  NamedAttrList list;
  list.set(EplDialect::kChannelAttr, builder.getI64IntegerAttr(number));
  if (isInMessages(channel))
    list.set(kMessagesAttr, builder.getUnitAttr());
  if (auto dim = batchDims.find(channel.value); isReceived && dim != batchDims.end())
    list.set(EplDialect::kBatchDimAttr, builder.getI64IntegerAttr(dim->second));
  return list.getDictionary(builder.getContext());
}

/// What the caller knows comes first, in its order, then channels in theirs.
Signature MeshSignatures::getSignature(unsigned mesh) const {
  func::FuncOp function = this->function; // whose attributes only a copy that is not const gives
  MLIRContext *context = function.getContext();
  Signature signature;
  for (BlockArgument argument : body.getArguments())
    if (llvm::is_contained(getArgumentMeshes(argument), mesh)) {
      unsigned position = argument.getArgNumber();
      signature.addArgument(argument, argument.getType(),
                            withPosition(context, function.getArgAttrDict(position), position, std::nullopt));
    }
  for (OpOperand &result : body.getTerminator()->getOpOperands())
    if (getResultMesh(result) == mesh) {
      unsigned position = result.getOperandNumber();
      std::optional<int64_t> updates;
      if (BlockArgument updated = getUpdatedArgument(function, position))
        updates = llvm::find(signature.arguments, Value(updated)) - signature.arguments.begin();
      signature.addResult(result.get(), result.get().getType(),
                          withPosition(context, function.getResultAttrDict(position), position, updates));
    }
  for (auto [number, channel] : llvm::enumerate(channels)) {
    Type type = getChannelType(channel.value);
    if (channel.to == mesh)
      signature.addArgument(channel.value, type, getChannelAttrs(number, channel, true));
    if (channel.from == mesh)
      signature.addResult(channel.value, type, getChannelAttrs(number, channel, false));
  }
  return signature;
}
