//===- PlaceOnAxis.cpp - A step on an axis that only a pass has -----------===//

#include "passes/shard/place/PlaceOnAxis.h"

#include "passes/shard/analysis/AxisPlacement.h"
#include "passes/shard/place/InsertReshards.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::epl;

/// Has each reshard go from parts or addends to what is whole, or from that to these.
static void completeReshards(func::FuncOp function, MeshOp mesh) {
  auto symbol = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  for (auto reshard : llvm::to_vector(function.getOps<ReshardOp>())) {
    ShardingAttr replicated = ShardingAttr::getReplicated(symbol, reshard.getType().getRank());
    if (getSharding(reshard.getOperand()).isReplicated() || reshard.getSharding() == replicated)
      continue;
    OpBuilder builder(reshard);
    auto between = cast<ReshardOp>(builder.clone(*reshard));
    between.setShardingAttr(replicated);
    reshard.getOperandMutable().assign(between.getResult());
  }
}

void mlir::epl::placeOnAxis(const FunctionRules &rules, AxisAttr axis, ArrayRef<BlockArgument> open) {
  Propagation propagation(rules, axis, open);
  propagation.run();
  propagation.commit();
  SmallVector<AxisPlacement, 0> placements;
  placements.emplace_back(rules, axis).commit();
  insertReshards(rules, placements);
  completeReshards(rules.getFunction(), rules.getMesh());
}

void mlir::epl::forgetAxis(func::FuncOp function) {
  auto ops = llvm::to_vector(llvm::make_pointer_range(function.front()));
  for (Operation *op : llvm::reverse(ops)) {
    for (StringRef name : {EplDialect::kShardingAttr, EplDialect::kFactorsAttr, EplDialect::kCauseAttr})
      op->removeAttr(name);
    if (isOpTriviallyDead(op) && !isa<LoopLastOp>(op))
      op->erase();
  }
}
