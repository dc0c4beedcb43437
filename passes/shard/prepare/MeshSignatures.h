//===- MeshSignatures.h - What each mesh takes and gives --------*- C++ -*-===//
//
// A program that is dealt out to meshes (MeshAssignment.h) becomes a function for each. This says what these
// take and give: arguments and results of the caller, and channels, one for each value and mesh that receives
// it, ascending with the place where the value is made.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/prepare/MeshAssignment.h"

#include <set>

namespace mlir::epl {

/// A value on its way from one mesh to another.
struct Channel {
  Value value;
  unsigned from, to;
};

/// What one function of the result takes and gives, in values of the old one.
struct Signature {
  SmallVector<Value> arguments, results;
  SmallVector<Type> argumentTypes, resultTypes;
  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;

  void addArgument(Value value, Type type, DictionaryAttr attrs) {
    arguments.push_back(value);
    argumentTypes.push_back(type);
    argumentAttrs.push_back(attrs);
  }
  void addResult(Value value, Type type, DictionaryAttr attrs) {
    results.push_back(value);
    resultTypes.push_back(type);
    resultAttrs.push_back(attrs);
  }
};

class MeshSignatures {
public:
  /// Fails, with an error at the value, if one is to be sent that is no tensor.
  static FailureOr<MeshSignatures> create(func::FuncOp function, const MeshAssignment &assignment);

  ArrayRef<Channel> getChannels() const { return channels; }
  Signature getSignature(unsigned mesh) const;
  /// The loop over micro-batches of which each iteration has a `value` of its own, or null.
  LoopAttr getMicroLoop(Value value) const {
    LoopAttr loop = loops.getLoop(value);
    return isOfMicroBatches(loop) ? loop : LoopAttr();
  }
  /// The type of what is sent of a value: of all iterations if each has one.
  Type getChannelType(Value value) const;

private:
  MeshSignatures(func::FuncOp function, const MeshAssignment &assignment)
      : function(function), body(function.front()), assignment(assignment), loops(body) {}

  LogicalResult need(Value value, unsigned mesh, Operation *reader);
  LogicalResult findChannels();
  void numberChannels(Value value);
  void findBatchDims();
  unsigned getResultMesh(OpOperand &result) const;
  SmallVector<unsigned> getArgumentMeshes(BlockArgument argument) const;
  bool isInMessages(const Channel &channel) const;
  DictionaryAttr getChannelAttrs(int64_t number, const Channel &channel, bool isReceived) const;

  func::FuncOp function;
  Block &body;
  const MeshAssignment &assignment;
  Loops loops;
  DenseSet<std::pair<Value, unsigned>> needed; ///< what a mesh reads
  DenseSet<std::pair<Value, unsigned>> whole;  ///< what is not read by slices of iterations alone
  DenseMap<Value, std::set<unsigned>> receivers;
  SmallVector<Channel> channels;
  DenseMap<Value, int64_t> batchDims; ///< of the values that have one
};

} // namespace mlir::epl
