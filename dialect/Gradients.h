//===- Gradients.h - Sums that complete gradients ---------------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// Whether a collective of a local program, in tasks or not yet, completes a sum of what backward work makes
/// that is read for the update of states alone, or returned to the caller: a gradient. What gradients are
/// made of further is not, such as a sum over the batch that the gradient of a norm reads, or what is sent to
/// the mesh of an earlier stage.
bool completesGradient(Operation *collective);

} // namespace mlir::epl
