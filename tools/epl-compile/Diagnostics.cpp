//===- Diagnostics.cpp - How errors and remarks are printed ---------------===//

#include "tools/epl-compile/Diagnostics.h"

#include "dialect/SourceLocation.h"

using namespace mlir;
using namespace mlir::epl;

UserDiagnosticHandler::UserDiagnosticHandler(llvm::SourceMgr &sources, MLIRContext *context)
    : SourceMgrDiagnosticHandler(sources, context) {
  setHandler([this](Diagnostic &diagnostic) {
    Diagnostic shown(getUserLocation(diagnostic.getLocation()), diagnostic.getSeverity());
    shown << diagnostic.str();
    for (Diagnostic &note : diagnostic.getNotes())
      shown.attachNote(getUserLocation(note.getLocation())) << note.str();
    emitDiagnostic(shown);
  });
}

LogicalResult mlir::epl::printRemark(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Remark)
    return failure();
  auto print = [](Diagnostic &line, StringRef kind) {
    std::string source = getSourceLine(line.getLocation());
    llvm::errs() << source << (source.empty() ? "" : ": ") << kind << ": " << line.str() << "\n";
  };
  print(diagnostic, "remark");
  for (Diagnostic &note : diagnostic.getNotes())
    print(note, "note");
  return success();
}
