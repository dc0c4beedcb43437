//===- KernelArguments.h - Launches from arguments --------------*- C++ -*-===//
#pragma once

#include "test/cuda/driver/Driver.h"
#include "test/cuda/ptx/Parser.h"

namespace cuda_double {

/// The launch of a kernel whose arguments are where the pointers say, each of the size of its parameter.
KernelWork makeKernelWork(Function &function, std::array<unsigned, 3> grid, std::array<unsigned, 3> block,
                          unsigned shared, void **arguments);

} // namespace cuda_double
