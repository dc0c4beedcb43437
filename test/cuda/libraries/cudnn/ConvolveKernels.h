//===- ConvolveKernels.h - The kernels of the stand-in of cuDNN ----*- C++ -*-===//
#pragma once

#include <string_view>

/// PTX of Convolve.cpp: a part of the library.
std::string_view convolveKernels();
