//===- SourceLocation.h - What users call an op -----------------*- C++ -*-===//
#pragma once

#include "mlir/IR/Location.h"

#include <string>

namespace mlir {
class Operation;
}

namespace mlir::epl {

/// The source line that a location stands for, as `file:line`, or "" if it has none. Of several frames it is
/// the innermost that is the user's: not in an installed Python package.
std::string getSourceLine(Location location);

/// Where users look for an error: `location` from its innermost frame that is the user's on, if frames of
/// installed packages are within that; else `location`.
Location getUserLocation(Location location);

/// The line of `getSourceLine` without the folders of the file: `model.py:12`.
std::string getShortSourceLine(Location location);

/// What the front end calls an op: the primitive at the end of its name stack, "dot_general". Without a name
/// stack, and where a loop begins and ends, the op's own name; of a `linalg.generic` what it computes:
/// "contraction", "addf".
std::string getOpName(Operation *op);

/// Name and line, for remarks and reports: `dot_general model.py:12`.
std::string describeOp(Operation *op);

} // namespace mlir::epl
