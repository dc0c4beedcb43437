//===- Describe.cpp - Shardings as people read them -----------------------===//

#include "passes/shard/Describe.h"

#include "dialect/SourceLocation.h"

using namespace mlir;
using namespace mlir::epl;

/// "32/model", the extent over the axes that split it.
static void printDim(raw_ostream &os, RankedTensorType type, ShardingAttr sharding, int64_t dim) {
  os << type.getDimSize(dim);
  if (sharding)
    for (StringRef axis : sharding.getDimAxes(dim))
      os << '/' << axis;
}

std::string mlir::epl::describeTensor(RankedTensorType type, ShardingAttr sharding,
                                      DenseI64ArrayAttr callerShape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ArrayRef<int64_t> shape = callerShape ? callerShape.asArrayRef() : type.getShape();
  os << type.getElementType() << '[';
  int64_t dim = 0;
  for (auto [index, extent] : llvm::enumerate(shape)) {
    os << (index ? ", " : "");
    printDim(os, type, sharding, dim);
    for (int64_t taken = type.getDimSize(dim++); taken < extent; taken *= type.getDimSize(dim++))
      printDim(os << 'x', type, sharding, dim);
  }
  os << ']';
  if (sharding && sharding.isPartial())
    os << ' ' << stringifyReductionKind(sharding.getReduction()) << " over "
       << llvm::join(sharding.getPartialAxes(), ", ");
  return text;
}

std::string mlir::epl::describeTensor(Value value, ShardingAttr sharding) {
  DenseI64ArrayAttr callerShape;
  if (auto argument = dyn_cast<BlockArgument>(value))
    callerShape =
        cast<func::FuncOp>(argument.getOwner()->getParentOp())
            .getArgAttrOfType<DenseI64ArrayAttr>(argument.getArgNumber(), EplDialect::kCallerShapeAttr);
  return describeTensor(cast<RankedTensorType>(value.getType()), sharding, callerShape);
}

std::string mlir::epl::describeMaker(Value value) {
  if (Operation *op = value.getDefiningOp())
    return describeOp(op);
  auto argument = cast<BlockArgument>(value);
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), EplDialect::kNameAttr);
  return name ? name.str() : describeArgument(function, argument.getArgNumber());
}

std::string mlir::epl::getResultName(func::FuncOp function, unsigned result) {
  auto name = function.getResultAttrOfType<StringAttr>(result, EplDialect::kNameAttr);
  return name ? name.str() : "result " + std::to_string(result);
}
