//===- Channels.h - What goes from one function to another ------*- C++ -*-===//
//
// Where task graphs have devices of their own, a step is one function for each mesh. A result with
// `epl.channel` = n is sent, and is the argument with `epl.channel` = n of another function. Meshes may send
// each other values several times in a step; channels are numbered in the order of the program:
//
//   mesh of the body                       mesh of the head
//   %a = ...                      ── 0 ──> %a, forward
//   %da, backward                 <── 1 ── %da = ... %a ...
//   %n, a norm over both meshes   <── 2 ── ...
//
// Each function runs in order and waits for what it receives. To wait in a circle, a mesh would have to wait
// for channel n before it makes what it sends by a channel below n. So that is forbidden: an op that makes
// what is sent by channel k stands before all ops that read what comes by channels above k.
//
// In a loop over micro-batches each iteration sends: a channel with `epl.messages` carries the values of all
// of them, which `epl.loop_stack` and `epl.loop_slice` put together and take apart. A stack that the other
// mesh reads as a whole is sent once, as any value behind the loop. A mesh does one iteration's forward work
// before it does the backward work of an earlier one, so channels of one loop have no order here: that of
// the schedule is proved in the plan (runtime/plan/verify).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::epl {

/// Argument and result attribute beside `epl.channel`, a unit: the value is a stack over micro-batches, of
/// which each iteration sends and receives its own part.
inline constexpr llvm::StringLiteral kMessagesAttr = "epl.messages";

/// Whether `value` is an argument that comes from another mesh.
bool isReceived(Value value);

/// Whether a use is that a function returns a value for another mesh.
bool isSend(OpOperand &use);
/// Whether a value has such a use.
bool isSent(Value value);
/// Whether a use is that a function returns a stack of which each iteration sends its part.
bool isSentInMessages(OpOperand &use);

/// The first op of the value's block that reads it, or null. What is made of a received value stands there
/// and not earlier: what it is made of may in turn be made of what is sent before.
Operation *getFirstReader(Value value);

/// Whether `value` is an argument of which each iteration receives its part.
bool isReceivedInMessages(Value value);

/// The loop over micro-batches whose iterations each receive a part of `value`, an argument, or send one of
/// it, a result. Null if it is sent once.
LoopAttr getChannelLoop(Value value);

/// The channels that the ops of a function read and send by.
class ChannelUses {
public:
  explicit ChannelUses(FunctionOpInterface function);

  /// The highest channel that an operand of `op` comes by; -1 if none does.
  int64_t getLastRead(Operation *op) const;
  /// The lowest channel that a result of `op` is sent by; the largest int64_t if none is.
  int64_t getFirstSent(Operation *op) const;

private:
  DenseMap<Value, int64_t> received, sent;
};

/// Fails, with an error at a function, unless each channel of the module has one sender and one receiver, on
/// two meshes, of one global type; and, with an error at the op, if the order above does not hold.
LogicalResult verifyChannels(ModuleOp module);

} // namespace mlir::epl
