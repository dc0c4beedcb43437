//===- MatmulKernels.h - The kernels of the stand-in of cublasLt ---*- C++ -*-===//
#pragma once

#include <string_view>

/// PTX of Matmul.cpp: a part of the library.
std::string_view matmulKernels();
