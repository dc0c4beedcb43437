//===- AssumedConstraints.h - Constraints that no op says -------*- C++ -*-===//
//
// Searches ask what `epl.constrain` would change, without writing it into the program for every question. A
// value can have a constraint that all of its uses read, and behind it others that single uses read:
//
//   value ── [for all] ──┬───────────── use
//                        └── [single] ─ uses
//
// What a constraint makes is sharded or replicated on the axis at hand. As for the op, it reads no pending
// sum.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/AxisState.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace mlir::epl {

/// Asks for the state of a tensor on the axis at hand.
using StateOf = function_ref<AxisState(Value)>;

class AssumedConstraints {
public:
  struct Constraint {
    Value value;                     ///< that it is about
    AxisState state;                 ///< of what it makes: sharded or replicated
    bool isForAll;                   ///< whether all uses of `value` read it
    SmallVector<OpOperand *> single; ///< else those that do
  };

  /// Has all uses of `value` read it in `state`.
  void addForAll(Value value, AxisState state);
  /// Has one use read its value in `state`. There is one constraint for a value and a state.
  void addForUse(OpOperand &use, AxisState state);

  bool isEmpty() const { return constraints.empty(); }
  /// In the order in which they were added.
  const std::vector<Constraint> &get() const { return constraints; }
  bool isConstrained(OpOperand &use) const { return getNearest(use); }

  /// Whether `use` reads what `source` makes, directly or through another one. All do of the value itself,
  /// which a null `source` stands for, here and below.
  bool reaches(OpOperand &use, const Constraint *source) const;
  /// The constraint through which `use` reads what `source` makes; null if there is none.
  const Constraint *getNext(OpOperand &use, const Constraint *source) const;

  /// The state in which `use` reads its value, given that of the value as its op makes it.
  AxisState getRead(OpOperand &use, StateOf getState) const {
    const Constraint *nearest = isEmpty() ? nullptr : getNearest(use);
    return nearest ? nearest->state : getState(use.get());
  }
  /// The state that a constraint between `use` and the value needs of the value; none if there is none.
  std::optional<AxisState> getNeeded(OpOperand &use) const {
    const Constraint *next = isEmpty() ? nullptr : getNext(use, nullptr);
    return next ? std::optional(next->state) : std::nullopt;
  }

private:
  /// The constraint that `use` reads; null if it reads the value itself.
  const Constraint *getNearest(OpOperand &use) const;
  const Constraint *getForAll(Value value) const;
  const Constraint *getSingle(OpOperand &use) const;

  std::vector<Constraint> constraints;
  DenseMap<Value, unsigned> forAll; ///< where they stand in `constraints`
  DenseMap<OpOperand *, unsigned> single;
  DenseMap<std::pair<Value, int64_t>, unsigned> byState; ///< those of single uses, by dimension or -1
};

} // namespace mlir::epl
