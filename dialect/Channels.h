//===- Channels.h - What goes from one function to another ------*- C++ -*-===//
//
// Where task graphs have devices of their own, a step is one function for each mesh. A result with an
// `epl.channel` becomes the argument of that number of another function.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// Fails, with an error at a function, if a channel of the module has not exactly one sender and one
/// receiver, on two meshes, of one global type; and at an op, if it makes what goes by a channel and stands
/// behind a reader of what comes by one of a higher number. Without that, meshes could wait in a circle.
LogicalResult verifyChannels(ModuleOp module);

} // namespace mlir::epl
