//===- RandomProgram.h - Random global programs -----------------*- C++ -*-===//
#pragma once

#include <string>

namespace mlir::epl {

/// The text of a module with a mesh of one, two or three axes and one function over matrices, vectors and
/// scalars of one extent, which not all axes need divide. Some arguments have a sharding; some result may
/// update an argument. The same seed gives the same program; of three seeds in turn each has another count of
/// axes.
std::string writeRandomProgram(unsigned seed);

} // namespace mlir::epl
