//===- Current.h - The context of a thread ----------------------*- C++ -*-===//
#pragma once

#include <cuda.h>

namespace cuda_double {

/// The context that the functions of this thread are about. A device has one, its primary one.
inline CUcontext &currentContext() {
  static thread_local CUcontext context = nullptr;
  return context;
}

/// Contexts are no objects here: a number from 1.
inline CUcontext contextOf(int device) {
  return reinterpret_cast<CUcontext>(static_cast<uintptr_t>(device) + 1);
}
inline int deviceOf(CUcontext context) { return static_cast<int>(reinterpret_cast<uintptr_t>(context)) - 1; }

} // namespace cuda_double
