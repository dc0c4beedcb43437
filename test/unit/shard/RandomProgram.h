//===- RandomProgram.h - Random global programs -----------------*- C++ -*-===//
#pragma once

#include <string>

namespace mlir::epl {

/// The text of a module with a mesh ["data"=2] and one function over matrices of 8 x 8, vectors of 8 and
/// scalars. Some arguments have a sharding; some result may update an argument. The same seed gives the same
/// program.
std::string writeRandomProgram(unsigned seed);

} // namespace mlir::epl
