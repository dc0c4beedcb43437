//===- PlanTypes.cpp - Types and reductions as plans name them ------------===//

#include "passes/emit/PlanTypes.h"

using namespace mlir;
using namespace mlir::epl;
namespace plan = ::epl::runtime::plan;

std::optional<plan::ElementType> mlir::epl::getElementType(Type type) {
  if (type.isF32())
    return plan::ElementType::f32;
  if (type.isF64())
    return plan::ElementType::f64;
  if (type.isF16())
    return plan::ElementType::f16;
  if (type.isBF16())
    return plan::ElementType::bf16;
  switch (type.isSignlessInteger() ? type.getIntOrFloatBitWidth() : 0) {
  case 1:
    return plan::ElementType::i1;
  case 8:
    return plan::ElementType::i8;
  case 16:
    return plan::ElementType::i16;
  case 32:
    return plan::ElementType::i32;
  case 64:
    return plan::ElementType::i64;
  default:
    return std::nullopt;
  }
}

plan::ReductionKind mlir::epl::getReductionKind(ReductionKind kind) {
  switch (kind) {
  case ReductionKind::sum:
    return plan::ReductionKind::sum;
  case ReductionKind::prod:
    return plan::ReductionKind::prod;
  case ReductionKind::max:
    return plan::ReductionKind::max;
  case ReductionKind::min:
    return plan::ReductionKind::min;
  case ReductionKind::all:
    return plan::ReductionKind::all;
  case ReductionKind::any:
    return plan::ReductionKind::any;
  }
  llvm_unreachable("every reduction is listed");
}
