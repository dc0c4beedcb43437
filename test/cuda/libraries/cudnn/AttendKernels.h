//===- AttendKernels.h - The kernels of attention of the stand-in of cuDNN -*- C++ -*-===//
#pragma once

#include <string_view>

/// PTX of Attend.cpp: a part of the library.
std::string_view attendKernels();
