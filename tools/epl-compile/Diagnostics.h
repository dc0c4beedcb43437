//===- Diagnostics.h - How errors and remarks are printed -------*- C++ -*-===//
#pragma once

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/SourceMgr.h"

namespace mlir::epl {

/// Prints errors, warnings and their notes at the user's lines, not at those of libraries that these call.
class UserDiagnosticHandler : public SourceMgrDiagnosticHandler {
public:
  UserDiagnosticHandler(llvm::SourceMgr &sources, MLIRContext *context);
};

/// Prints a remark, which explains and needs no source text below it, as lines "FILE:LINE: remark: ...".
/// Fails for other diagnostics, which are for the handler before.
LogicalResult printRemark(Diagnostic &diagnostic);

} // namespace mlir::epl
