//===- PtxModule.h - Loop nests as PTX -----------------------------*- C++ -*-===//
#pragma once

#include "passes/kernel/convert/CompileNests.h"
#include "passes/kernel/target/GpuTarget.h"

namespace mlir::epl {

/// Compiles a module of loop nests, as text, to PTX. Each function `@<kernel>.body` becomes a kernel
/// `<kernel>(buffers.., workspace, coordinates, extent, slice, conditions)`, as the plan's schema describes
/// it. Shares nothing with other calls, so that several can run at once. `compiled` is called after each
/// kernel. On failure `error` says why. With lines, a `.loc` stands before the instructions of each.
FailureOr<ObjectBytes> compilePtx(
    StringRef module, const GpuTarget &target, std::string &error, function_ref<void()> compiled = [] {},
    Lines lines = Lines::none);

/// One module of PTX from several of one target. On failure `error` says why.
FailureOr<std::string> joinPtx(ArrayRef<ObjectBytes> modules, std::string &error);

/// The version of the instruction set that a module says it is in, 10 * major + minor; 0 if it says none.
unsigned getPtxVersion(StringRef ptx);

} // namespace mlir::epl
