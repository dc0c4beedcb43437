//===- Channels.cpp - What goes from one function to another --------------===//

#include "dialect/Channels.h"

#include "dialect/Loops.h"

#include <limits>
#include <map>

using namespace mlir;
using namespace mlir::epl;

namespace {
/// An end of a channel: an argument or a result.
struct End {
  FunctionOpInterface function;
  unsigned index;
  Type type;       ///< of the whole tensor
  bool inMessages; ///< whether each iteration sends or receives its part
};

using Ends = std::map<int64_t, End>; // by channel
} // namespace

static Type getGlobalType(Type type) {
  auto dist = dyn_cast<DistType>(type);
  return dist ? dist.getGlobal() : type;
}

/// An attribute of the argument that `value` is, or null.
static Attribute getArgumentAttr(Value value, StringRef name) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()) : FunctionOpInterface();
  return function ? function.getArgAttr(argument.getArgNumber(), name) : Attribute();
}

bool mlir::epl::isReceived(Value value) { return bool(getArgumentAttr(value, EplDialect::kChannelAttr)); }

Operation *mlir::epl::getFirstReader(Value value) {
  Operation *first = nullptr;
  for (Operation *user : value.getUsers())
    if (Operation *reader = value.getParentBlock()->findAncestorOpInBlock(*user);
        !first || reader->isBeforeInBlock(first))
      first = reader;
  return first;
}

bool mlir::epl::isReceivedInMessages(Value value) { return bool(getArgumentAttr(value, kMessagesAttr)); }

/// Whether a function returns `value`, seen through casts, in messages.
static bool leavesInMessages(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    bool isCast = isa<ToLocalOp, FromLocalOp>(use.getOwner());
    return isCast ? leavesInMessages(use.getOwner()->getResult(0)) : isSentInMessages(use);
  });
}

LoopAttr mlir::epl::getChannelLoop(Value value) {
  if (auto stack = value.getDefiningOp<LoopStackOp>())
    return leavesInMessages(value) ? stack.getLoop() : LoopAttr();
  Operation *reader = isReceivedInMessages(value) && !value.use_empty() ? *value.user_begin() : nullptr;
  while (isa_and_nonnull<ToLocalOp, FromLocalOp>(reader) && !reader->use_empty())
    reader = *reader->user_begin();
  auto slice = dyn_cast_or_null<LoopSliceOp>(reader);
  return slice ? slice.getLoop() : LoopAttr();
}

bool mlir::epl::isSend(OpOperand &use) {
  auto function = dyn_cast<FunctionOpInterface>(use.getOwner()->getParentOp());
  return use.getOwner()->hasTrait<OpTrait::IsTerminator>() && function &&
         function.getResultAttr(use.getOperandNumber(), EplDialect::kChannelAttr);
}

bool mlir::epl::isSentInMessages(OpOperand &use) {
  return isSend(use) && cast<FunctionOpInterface>(use.getOwner()->getParentOp())
                            .getResultAttr(use.getOperandNumber(), kMessagesAttr);
}

bool mlir::epl::isSent(Value value) { return llvm::any_of(value.getUses(), isSend); }

ChannelUses::ChannelUses(FunctionOpInterface function) {
  Block &body = function.getFunctionBody().front();
  for (BlockArgument argument : body.getArguments())
    if (auto channel =
            function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), EplDialect::kChannelAttr))
      received[argument] = channel.getInt();
  for (auto [index, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (auto channel = function.getResultAttrOfType<IntegerAttr>(index, EplDialect::kChannelAttr))
      sent.try_emplace(value, channel.getInt()); // Ascending: the first is the lowest one.
}

int64_t ChannelUses::getLastRead(Operation *op) const {
  int64_t last = -1;
  for (Value operand : op->getOperands())
    if (auto known = received.find(operand); known != received.end())
      last = std::max(last, known->second);
  return last;
}

int64_t ChannelUses::getFirstSent(Operation *op) const {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (Value result : op->getResults())
    if (auto known = sent.find(result); known != sent.end())
      first = std::min(first, known->second);
  return first;
}

/// `what` is "sender" or "receiver".
static LogicalResult add(Ends &ends, IntegerAttr channel, End end, StringRef what) {
  if (!channel)
    return success();
  auto [known, inserted] = ends.try_emplace(channel.getInt(), end);
  if (inserted)
    return success();
  InFlightDiagnostic error = end.function->emitOpError() << "is a second " << what << " of channel "
                                                         << channel.getInt() << ", expected one";
  error.attachNote(known->second.function->getLoc()) << "the first one is here";
  return error;
}

static LogicalResult addEnds(FunctionOpInterface function, Ends &senders, Ends &receivers) {
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (failed(add(
            receivers, function.getArgAttrOfType<IntegerAttr>(index, EplDialect::kChannelAttr),
            {function, unsigned(index), getGlobalType(type), bool(function.getArgAttr(index, kMessagesAttr))},
            "receiver")))
      return failure();
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    if (failed(add(senders, function.getResultAttrOfType<IntegerAttr>(index, EplDialect::kChannelAttr),
                   {function, unsigned(index), getGlobalType(type),
                    bool(function.getResultAttr(index, kMessagesAttr))},
                   "sender")))
      return failure();
  return success();
}

static LogicalResult verifyPair(int64_t channel, End sender, End receiver) {
  if (sender.function->getAttr(EplDialect::kMeshAttr) == receiver.function->getAttr(EplDialect::kMeshAttr))
    return receiver.function->emitOpError() << "receives channel " << channel << " from its own mesh";
  if (sender.inMessages != receiver.inMessages)
    return receiver.function->emitOpError()
           << "receives channel " << channel << (receiver.inMessages ? " in messages" : " once")
           << ", expected it as it is sent, " << (sender.inMessages ? "in messages" : "once");
  if (sender.type == receiver.type)
    return success();
  InFlightDiagnostic error = receiver.function->emitOpError()
                             << "argument " << receiver.index << " receives " << receiver.type
                             << " by channel " << channel << ", which carries " << sender.type;
  error.attachNote(sender.function->getLoc()) << "result " << sender.index << " is sent here";
  return error;
}

/// Ops that make what is sent stand before those that read what is received later, outside of the loop over
/// micro-batches that they are both in.
static LogicalResult verifyOrder(FunctionOpInterface function) {
  ChannelUses uses(function);
  std::map<int64_t, LoopAttr> read; // channels so far, and where
  for (Operation &op : function.getFunctionBody().front().without_terminator()) {
    LoopAttr loop = getEdgeLoop(&op);
    if (int64_t channel = uses.getLastRead(&op); channel >= 0 && !isa<PredicateOp>(op))
      read.try_emplace(channel, loop);
    int64_t sent = uses.getFirstSent(&op);
    for (auto later = read.upper_bound(sent); later != read.end(); ++later)
      if (!isOfMicroBatches(loop) || later->second != loop)
        return op.emitOpError() << "makes what is sent by channel " << sent
                                << ", expected it before what is received by channel " << later->first
                                << " is read";
  }
  return success();
}

LogicalResult mlir::epl::verifyChannels(ModuleOp module) {
  for (auto function : module.getOps<FunctionOpInterface>())
    if (!function.isExternal() && failed(verifyOrder(function)))
      return failure();
  Ends senders, receivers;
  for (auto function : module.getOps<FunctionOpInterface>())
    if (failed(addEnds(function, senders, receivers)))
      return failure();
  for (auto &[channel, sender] : senders) {
    auto receiver = receivers.find(channel);
    if (receiver == receivers.end())
      return sender.function->emitOpError()
             << "result " << sender.index << " is sent by channel " << channel << ", which nobody receives";
    if (failed(verifyPair(channel, sender, receiver->second)))
      return failure();
  }
  for (auto &[channel, receiver] : receivers)
    if (!senders.contains(channel))
      return receiver.function->emitOpError() << "argument " << receiver.index << " is received by channel "
                                              << channel << ", which nobody sends";
  return success();
}
