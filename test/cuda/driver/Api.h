//===- Api.h - What functions of the driver begin with ----------*- C++ -*-===//
#pragma once

#include "test/cuda/driver/Driver.h"

namespace cuda_double {

/// Runs the body of a function of the driver on its state.
template <typename Body> CUresult call(Body body) {
  Driver &driver = Driver::get();
  return driver.call([&] { body(driver); });
}

} // namespace cuda_double
