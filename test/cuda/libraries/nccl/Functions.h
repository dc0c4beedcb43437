//===- Functions.h - The functions of the library ---------------*- C++ -*-===//
#pragma once

#include "runtime/device/cuda/collectives/Nccl.h"

extern "C" {
// Of the forms in which the product calls them.
#define EPL_DECLARE(name) epl::runtime::cuda::nccl::name name; // NOLINT(bugprone-macro-parentheses)
EPL_NCCL_FUNCTIONS(EPL_DECLARE)
#undef EPL_DECLARE
}
