//===- Control.h - What tests ask of the stand-in ---------------*- C++ -*-===//
//
// Beside the functions of the driver, libcuda.so.1 has these.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
/// Forgets findings, work and a fault, and chooses another order. Memory, modules and streams stay.
void eplCudaRestart(uint64_t seed);
/// How many findings there are, and the text of one.
size_t eplCudaCountFindings();
const char *eplCudaGetFinding(size_t number);
}
