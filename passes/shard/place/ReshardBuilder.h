//===- ReshardBuilder.h - One reshard for each value and target --*- C++ -*-===//
#pragma once

#include "passes/shard/analysis/FactorChoice.h"

#include "mlir/IR/Builders.h"

namespace mlir::epl {

/// Makes values with other shardings, one for each value and sharding.
class ReshardBuilder {
public:
  explicit ReshardBuilder(const FunctionRules &rules)
      : rules(rules), builder(rules.getFunction().getContext()) {}

  /// `value` with sharding `target`, made right after `value`, of what another mesh sends before its first
  /// reader. What is made of constants is made again, and
  /// what is larger than what it is made of (`getEnlarged`) of that, resharded; the rest is resharded. `work`
  /// is that of the op that reads it: what reshards an argument belongs there.
  Value get(Value value, ShardingAttr target, WorkAttr work);

  /// How many copies were made of ops instead of moving what they make.
  size_t getNumRematerialized() const { return rematerialized.size(); }

  /// Erases ops that had other copies made of them and are read by nobody now.
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
