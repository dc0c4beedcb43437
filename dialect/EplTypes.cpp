//===- EplTypes.cpp - Types of the epl dialect ----------------------------===//

#include "dialect/Epl.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::epl;

#define GET_TYPEDEF_CLASSES
#include "dialect/EplTypes.cpp.inc"

void EplDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/EplTypes.cpp.inc"
      >();
}

LogicalResult DistType::verify(function_ref<InFlightDiagnostic()> emitError, RankedTensorType global,
                               ShardingAttr sharding) {
  if (sharding.getRank() != global.getRank()) // (D1)
    return emitError() << "sharding has " << sharding.getRank() << " dimensions, expected "
                       << global.getRank();
  return success();
}
