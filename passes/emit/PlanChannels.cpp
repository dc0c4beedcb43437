//===- PlanChannels.cpp - What goes from mesh to mesh ---------------------===//
//
// Problem: a received value is an argument, a sent one a result; in a plan both are commands, and meshes that
// wait for each other must not do so in a circle.
// Method: a send stands behind the command that makes its value. A receive stands before the first reader of
// its own value or of one of a later channel, so that receives are in the order of channels, on a lane of
// their own. What makes a value that is sent stands before all that reads what comes by later channels
// (`verifyChannels`): of all channels that are not done the first can always be. A value that is sent on as
// it is received has no maker: it is received before what makes that of a later channel, or takes its
// messages. In a loop over micro-batches each iteration sends a message: a send stands where its part leaves
// the loop, a receive where the iteration takes its own.
//
//===----------------------------------------------------------------------===//

#include "dialect/Channels.h"
#include "passes/emit/PlanBuilder.h"

using namespace mlir;
using namespace mlir::epl;

/// The value that a send reads as soon as it is made: inside of the task that hands it out.
static Value getMade(Value value) {
  auto task = value.getDefiningOp<TaskOp>();
  if (!task)
    return value;
  Value inner = task.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
  return inner.getDefiningOp() ? inner : value;
}

static int64_t getChannel(func::FuncOp func, OpOperand &result) {
  return cast<IntegerAttr>(func.getResultAttr(result.getOperandNumber(), EplDialect::kChannelAttr)).getInt();
}

static int64_t getChannel(func::FuncOp func, BlockArgument argument) {
  return func.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), EplDialect::kChannelAttr).getInt();
}

/// For a received value that is sent on as it is, the first op that makes what goes by a later channel, or
/// takes messages of one: other meshes may wait for the value before they take that, or send these. All that
/// goes by channels before its own stands before that op. Null if there is none.
static Operation *getFirstBehind(func::FuncOp func, BlockArgument argument) {
  int64_t own = getChannel(func, argument);
  std::optional<int64_t> out;
  Operation *last = nullptr;
  SmallVector<std::pair<int64_t, Operation *>> later; // what may be, by channel
  for (OpOperand &result : func.front().getTerminator()->getOpOperands()) {
    if (!isSend(result))
      continue;
    int64_t channel = getChannel(func, result);
    Operation *maker = result.get().getDefiningOp();
    if (result.get() == argument)
      out = std::min(channel, out.value_or(channel));
    else if (maker && channel < own)
      last = last && maker->isBeforeInBlock(last) ? last : maker;
    else if (maker)
      later.push_back({channel, maker});
  }
  for (BlockArgument other : func.getArguments())
    if (Operation *slice = isReceivedInMessages(other) ? getFirstReader(other) : nullptr)
      later.push_back({getChannel(func, other), slice});
  Operation *first = nullptr;
  for (auto [channel, op] : later) {
    bool isBehind =
        !last || (last->isBeforeInBlock(op) && (!getEdgeLoop(last) || getEdgeLoop(last) != getEdgeLoop(op)));
    if (out && channel > *out && isBehind && (!first || op->isBeforeInBlock(first)))
      first = op;
  }
  return first;
}

void PlanBuilder::findChannels() {
  Block &body = func.front();
  Operation *next = body.getTerminator(); // the first reader of what comes by later channels
  for (BlockArgument argument : llvm::reverse(body.getArguments())) { // of which channels ascend
    if (!isReceived(argument))
      break;
    if (getChannelLoop(argument))
      continue;
    Operation *own = getFirstReader(argument), *behind = getFirstBehind(func, argument);
    own = !own || (behind && behind->isBeforeInBlock(own)) ? behind : own;
    next = own && own->isBeforeInBlock(next) ? own : next;
    received[next].push_back(argument);
  }
  for (auto &[reader, arguments] : received)
    std::reverse(arguments.begin(), arguments.end());
  for (OpOperand &result : body.getTerminator()->getOpOperands())
    if (isSend(result) && !isSentInMessages(result))
      sent[getMade(result.get())].push_back(result.getOperandNumber());
}

/// The ends of a channel: which one, and how this mesh holds the tensor.
template <typename EndT> EndT PlanBuilder::makeEnd(DistType type, Attribute channel, int64_t message) {
  EndT end;
  end.channel = uint32_t(cast<IntegerAttr>(channel).getInt());
  end.message = uint32_t(message);
  end.depth = uint32_t(planSchedule.getDepth(end.channel));
  end.type = *getElementType(type.getGlobal().getElementType());
  end.shape.assign(type.getGlobal().getShape().begin(), type.getGlobal().getShape().end());
  end.sharding = toDimShardings(type.getSharding());
  return end;
}

void PlanBuilder::addReceives(Operation *reader) {
  for (BlockArgument argument : received.lookup(reader)) {
    auto type = cast<DistType>(argument.getType());
    auto receive =
        makeEnd<plan::ReceiveT>(type, func.getArgAttr(argument.getArgNumber(), EplDialect::kChannelAttr));
    receive.target = addBuffer(argument, getLocalType(func, type), "receive");
    builder.setGuards({});
    builder.receive(getInfo(reader, "receive"), std::move(receive));
    addSends(argument, {}); // what an identity of this mesh makes for another one
  }
}

void PlanBuilder::addSends(Value value, WorkAttr work) {
  auto own = sent.find(value);
  if (own == sent.end())
    return;
  for (unsigned index : own->second) {
    auto send = makeEnd<plan::SendT>(cast<DistType>(func.getResultTypes()[index]),
                                     func.getResultAttr(index, EplDialect::kChannelAttr));
    send.source = buffers.lookup(value);
    Operation *maker = value.getDefiningOp();
    builder.setGuards({});
    builder.send(getInfo(maker ? maker : func.front().getTerminator(), "send", work), std::move(send));
  }
  sent.erase(own);
}

void PlanBuilder::receivePart(LoopSliceOp op, int64_t part) {
  unsigned argument = cast<BlockArgument>(op.getOperand()).getArgNumber();
  auto type = cast<DistType>(op.getType());
  auto receive = makeEnd<plan::ReceiveT>(type, func.getArgAttr(argument, EplDialect::kChannelAttr), part);
  receive.target = addBuffer(op, getLocalType(func, type), "receive");
  builder.setGuards({});
  builder.receive(getInfo(op, "receive"), std::move(receive));
}

void PlanBuilder::sendPart(LoopStackOp op, int64_t part) {
  builder.setGuards({});
  for (OpOperand &use : llvm::make_filter_range(op.getResult().getUses(), isSentInMessages)) {
    Attribute channel = func.getResultAttr(use.getOperandNumber(), EplDialect::kChannelAttr);
    auto send = makeEnd<plan::SendT>(cast<DistType>(op.getOperand().getType()), channel, part);
    send.source = buffers.lookup(op.getOperand());
    builder.send(getInfo(op, "send"), std::move(send));
  }
}
