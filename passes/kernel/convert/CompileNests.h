//===- CompileNests.h - All nests of a module, compiled ------------*- C++ -*-===//
#pragma once

#include "passes/kernel/Passes.h"
#include "passes/kernel/nest/KernelFunction.h"

namespace mlir::epl {

/// Bytes of an object file, of a shared object, or text of an assembler.
using ObjectBytes = SmallVector<char, 0>;

/// Compiles a module of loop nests, as text, so that each function `@<kernel>.body` in it becomes the entry
/// `<kernel>`. Called by several threads at once. `compiled` is to be called after each entry. On failure
/// `error` says why.
using CompileShare =
    function_ref<FailureOr<ObjectBytes>(StringRef text, std::string &error, function_ref<void()> compiled)>;

/// Whether the text of nests has the user's source line of each op as its location.
enum class Lines : bool { none, ofUser };

/// Compiles the nests of a module's kernels on `threads` threads, and erases them. A kernel whose nest is the
/// code of another one's gets `symbol`, and has that one's lines; what launches run that could be one has
/// `kListAttr`. Gives what each thread has made: nothing if there are no nests. Fails with an error at the
/// module.
FailureOr<SmallVector<ObjectBytes>> compileNests(ModuleOp module, unsigned threads,
                                                 const KernelProgress &progress, CompileShare compile,
                                                 Lines lines = Lines::none);

} // namespace mlir::epl
