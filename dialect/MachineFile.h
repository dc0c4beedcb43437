//===- MachineFile.h - A machine as a file ----------------------*- C++ -*-===//
//
// A machine is given as a kind that there is a table of, or as a JSON file, of which runtime/machine has the
// names. What is of GPUs only ("gpu") no pass asks for.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Machine.h"

#include "llvm/Support/Error.h"

namespace mlir::epl {

/// The machine that `text`, the content of a file, says. Errors name `file`, the place in it, what is
/// expected and what was found.
llvm::Expected<MachineAttr> parseMachine(MLIRContext *context, StringRef text, StringRef file);

/// The table of a kind, or what the file says if `kindOrFile` is none. Errors as above.
llvm::Expected<MachineAttr> readMachine(MLIRContext *context, StringRef kindOrFile);

} // namespace mlir::epl
