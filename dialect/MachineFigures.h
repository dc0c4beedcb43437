//===- MachineFigures.h - A machine's figures as an attribute ---*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"
#include "runtime/machine/Machine.h"

namespace mlir::epl {

/// The attribute of a machine's figures, but for those that only GPUs have. A header of its own, for the
/// files that know the tables: elsewhere `epl` is one namespace.
MachineAttr getMachineOf(MLIRContext *context, const ::epl::runtime::machine::Machine &machine);

} // namespace mlir::epl
