//===- CpuObject.h - Machine code of loop nests --------------------*- C++ -*-===//
#pragma once

#include "passes/kernel/convert/CompileNests.h"
#include "passes/kernel/target/CpuTarget.h"

namespace mlir::epl {

/// How much LLVM does: `vectorized` nests come with their vectors; `loops` are scalar and compiled quickly.
enum class CodeStyle { vectorized, loops };

/// Compiles a module of loop nests, as text, to an object file. Each function `@<kernel>.body` becomes the
/// entry point `<kernel>` of the kernel ABI. Shares nothing with other calls, so that several can run at
/// once. `compiled` is called after each entry point. On failure `error` says why.
FailureOr<ObjectBytes> compileCpuObject(
    StringRef module, const CpuTarget &target, CodeStyle style, std::string &error,
    function_ref<void()> compiled = [] {});

/// Links objects to one shared object that needs nothing but libm and libc. On failure `error` says why, and
/// names the symbols that are missing.
FailureOr<ObjectBytes> linkSharedObject(ArrayRef<ObjectBytes> objects, std::string &error);

} // namespace mlir::epl
