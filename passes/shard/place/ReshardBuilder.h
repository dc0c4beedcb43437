//===- ReshardBuilder.h - One reshard for each value and target --*- C++ -*-===//
#pragma once

#include "passes/shard/analysis/FactorChoice.h"

#include "mlir/IR/Builders.h"

namespace mlir::epl {

/// Gives readers a value in the sharding that they need; readers that need the same one share it.
class ReshardBuilder {
public:
  explicit ReshardBuilder(const FunctionRules &rules)
      : rules(rules), builder(rules.getFunction().getContext()) {}

  /// `value` with sharding `target`:
  ///
  ///     value                                     | becomes
  ///     ------------------------------------------+------------------------------------------------
  ///     made of constants                         | the op once more, with sharding `target`
  ///     enlarged from an operand (`getEnlarged`)  | the operand resharded, then the op once more
  ///     other                                     | an `epl.reshard`
  ///
  /// It stands right behind `value`; what comes from another mesh is resharded before its first reader.
  /// `work` is that of the reader, which a reshard of an argument belongs to.
  Value get(Value value, ShardingAttr target, WorkAttr work);

  /// How many ops were copied instead of resharding their results.
  size_t getNumRematerialized() const { return rematerialized.size(); }

  /// Erases ops whose readers all read copies now.
  void eraseUnread();

private:
  bool canRematerialize(Operation *op, ShardingAttr target) const;
  Value rematerialize(Operation *op, ShardingAttr target, WorkAttr work);
  Value reshard(Value value, ShardingAttr target, WorkAttr work);

  const FunctionRules &rules;
  OpBuilder builder;
  DenseMap<std::pair<Value, Attribute>, Value> made;
  SmallVector<Operation *> rematerialized;
  DenseMap<Value, Value> originals; ///< of the copies that were rematerialized
};

} // namespace mlir::epl
