//===- WriteConstraints.cpp - Seeds on values in the program --------------===//

#include "passes/shard/seed/WriteConstraints.h"

#include "passes/shard/analysis/Propagation.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::epl;

ConstrainOp mlir::epl::createConstrain(Value value, AxisState state, AxisAttr axis) {
  SmallVector<SmallVector<StringRef>> dims(cast<RankedTensorType>(value.getType()).getRank());
  SmallVector<StringRef> whole;
  (state.isSharded() ? dims[state.dim] : whole).push_back(axis.getName());
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  return ConstrainOp::create(builder, value.getLoc(), value,
                             ConstraintAttr::get(value.getContext(), dims, whole));
}

void mlir::epl::forEachAxis(func::FuncOp function, MeshOp mesh, function_ref<void(AxisAttr)> seed) {
  for (AxisAttr axis : mesh.getAxes().getAsRange<AxisAttr>()) {
    if (axis.getSize() > 1)
      seed(axis);
    FunctionRules rules(function, mesh);
    Propagation program(rules, axis, {});
    program.run();
    program.commit();
  }
  for (Operation &op : function.getBody().front()) {
    op.removeAttr(EplDialect::kShardingAttr);
    op.removeAttr(EplDialect::kFactorsAttr);
  }
}
