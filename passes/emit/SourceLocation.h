//===- SourceLocation.h - The user's line of an op --------------*- C++ -*-===//
#pragma once

#include "mlir/IR/Location.h"

#include <string>

namespace mlir::epl {

/// The source line that a location stands for, as `file:line`, or "" if it has none. Of several frames it is
/// the innermost that is the user's: not in an installed Python package.
std::string getSourceLine(Location location);

} // namespace mlir::epl
