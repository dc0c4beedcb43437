//===- Channels.h - What goes from one function to another ------*- C++ -*-===//
//
// Where task graphs have devices of their own, a step is one function for each mesh. A result with an
// `epl.channel` becomes the argument of that number of another function.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::epl {

/// Whether `value` is an argument that comes from another mesh.
bool isReceived(Value value);

/// The first op of the value's block that reads it, or null. There, and not earlier, stands what is made of a
/// received value: what is sent before may be what that is made of.
Operation *getFirstReader(Value value);

/// What the ops of a function have to do with channels. What comes by a channel may be made of what goes by
/// those of lower numbers: who makes that stands before those who read this.
class ChannelUses {
public:
  explicit ChannelUses(FunctionOpInterface function);

  /// The last channel by which something comes that `op` reads; -1 if none does.
  int64_t getLastRead(Operation *op) const;
  /// The first channel by which a result of `op` goes; the largest number if none does.
  int64_t getFirstSent(Operation *op) const;

private:
  DenseMap<Value, int64_t> received, sent;
};

/// Fails, with an error at a function, if a channel of the module has not exactly one sender and one
/// receiver, on two meshes, of one global type; and at an op, if it makes what goes by a channel and stands
/// behind a reader of what comes by one of a higher number. Without that, meshes could wait in a circle.
LogicalResult verifyChannels(ModuleOp module);

} // namespace mlir::epl
