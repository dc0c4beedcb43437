//===- PlanTypes.h - Types and reductions as plans name them ----*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"
#include "runtime/plan/format/plan_generated.h"

namespace mlir::epl {

/// The plan's name of an element type; nothing for types that the runtime has no memory for.
std::optional<::epl::runtime::plan::ElementType> getElementType(Type type);

/// The plan's name of a reduction.
::epl::runtime::plan::ReductionKind getReductionKind(ReductionKind kind);

} // namespace mlir::epl
