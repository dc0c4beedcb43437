//===- Channels.cpp - What goes from one function to another --------------===//

#include "dialect/Channels.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <map>

using namespace mlir;
using namespace mlir::epl;

namespace {
/// An end of a channel: an argument or a result.
struct End {
  FunctionOpInterface function;
  unsigned index;
  Type type; ///< of the whole tensor
};

using Ends = std::map<int64_t, End>; // by channel
} // namespace

static Type getGlobalType(Type type) {
  auto dist = dyn_cast<DistType>(type);
  return dist ? dist.getGlobal() : type;
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
    if (failed(add(receivers, function.getArgAttrOfType<IntegerAttr>(index, EplDialect::kChannelAttr),
                   {function, unsigned(index), getGlobalType(type)}, "receiver")))
      return failure();
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    if (failed(add(senders, function.getResultAttrOfType<IntegerAttr>(index, EplDialect::kChannelAttr),
                   {function, unsigned(index), getGlobalType(type)}, "sender")))
      return failure();
  return success();
}

static LogicalResult verifyPair(int64_t channel, End sender, End receiver) {
  if (sender.function->getAttr(EplDialect::kMeshAttr) == receiver.function->getAttr(EplDialect::kMeshAttr))
    return receiver.function->emitOpError() << "receives channel " << channel << " from its own mesh";
  if (sender.type == receiver.type)
    return success();
  InFlightDiagnostic error = receiver.function->emitOpError()
                             << "argument " << receiver.index << " receives " << receiver.type
                             << " by channel " << channel << ", which carries " << sender.type;
  error.attachNote(sender.function->getLoc()) << "result " << sender.index << " is sent here";
  return error;
}

/// The channel of an argument or a result, or -1.
static int64_t getChannel(IntegerAttr channel) { return channel ? channel.getInt() : -1; }

/// Ops that make what is sent stand before those that read what is received later.
static LogicalResult verifyOrder(FunctionOpInterface function) {
  Block &body = function.getFunctionBody().front();
  DenseMap<Value, int64_t> sent, received;
  for (auto [index, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (auto channel = function.getResultAttrOfType<IntegerAttr>(index, EplDialect::kChannelAttr))
      sent.try_emplace(value, channel.getInt()); // Ascending: the first is the lowest one.
  for (BlockArgument argument : body.getArguments())
    received[argument] =
        getChannel(function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), EplDialect::kChannelAttr));
  int64_t latest = -1; // channel that was read so far
  for (Operation &op : body.without_terminator()) {
    for (Value value : isa<PredicateOp>(op) ? ValueRange() : ValueRange(op.getOperands()))
      if (auto known = received.find(value); known != received.end())
        latest = std::max(latest, known->second);
    for (Value result : op.getResults())
      if (auto known = sent.find(result); known != sent.end() && known->second < latest)
        return op.emitOpError() << "makes what is sent by channel " << known->second
                                << ", expected it before what is received by channel " << latest
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
