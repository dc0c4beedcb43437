//===- SourceLocation.h - The user's line of an op --------------*- C++ -*-===//
#pragma once

#include "mlir/IR/Location.h"

#include <string>

namespace mlir::epl {

/// The source line that a location stands for, as `file:line`, or "" if it has none. Of a call site it is the
/// caller's: the user's code rather than the library function that was inlined into it.
std::string getSourceLine(Location location);

} // namespace mlir::epl
