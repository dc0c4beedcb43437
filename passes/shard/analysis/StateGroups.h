//===- StateGroups.h - States that are updated together ---------*- C++ -*-===//
//
// States belong together if one op of the optimizer leads by tensors to the new values of both: a parameter
// and its moments. A number, such as a norm of all gradients or a count of steps, leads to the new values of
// many states and joins none; one that leads to states which are numbers themselves joins these.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Loops.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace mlir::epl {

/// The elements of a tensor, distributed or not; 1 for other values.
int64_t countElements(Value value);

/// The groups of the states of a function, as it was when this was made.
class StateGroups {
public:
  /// The new values that an op leads to, as positions among the results that were given.
  struct Leads {
    llvm::BitVector all, byTensors;
    bool others = false; ///< it leads to other results, or to ops that are not followed
  };

  /// Of the states that `results` of the function update, by the ops for which `isFollowed`. Numbers join
  /// states only if these `mayJoin`.
  StateGroups(func::FuncOp function, ArrayRef<unsigned> results, function_ref<bool(Operation &)> isFollowed,
              function_ref<bool(const llvm::BitVector &)> mayJoin);

  ArrayRef<unsigned> getResults() const { return results; }
  /// The first member, by which the group of a result is known.
  unsigned find(unsigned result) const { return classes.getLeaderValue(result); }
  void join(unsigned result, unsigned other) { classes.unionSets(result, other); }
  /// What an op leads to; null if it is not followed.
  const Leads *getLeads(Operation *op) const {
    auto found = leads.find(op);
    return found == leads.end() ? nullptr : &found->second;
  }
  /// Whether an op makes a tensor of tensors; what is made of numbers alone, such as a rate for each element,
  /// is none.
  bool makesTensor(Operation &op) const;
  /// Whether each of these states is one number.
  bool isSmall(const llvm::BitVector &which) const;

private:
  void findTensors();
  bool connect(Operation &op, function_ref<bool(const llvm::BitVector &)> mayJoin);
  Leads collect(Operation &op) const;

  func::FuncOp function;
  Block &body;
  Loops loops;
  SmallVector<unsigned> results;
  DenseMap<unsigned, unsigned> positions; ///< of results
  DenseSet<Value> tensors;                ///< values whose elements differ, as far as that is seen
  DenseMap<Operation *, Leads> leads;
  llvm::EquivalenceClasses<unsigned> classes;
};

} // namespace mlir::epl
