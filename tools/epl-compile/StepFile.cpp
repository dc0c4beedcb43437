//===- StepFile.cpp - The text of a step ----------------------------------===//
//
// Problem: errors show lines of the step until the last phase. A file that is mapped into memory is gone when
// something shortens it meanwhile, such as an editor or what `--mlir-print-ir-tree-dir` writes, and who reads
// on there is ended by SIGBUS. Method: the step is read, not mapped.
//
//===----------------------------------------------------------------------===//

#include "tools/epl-compile/StepFile.h"

#include "tools/Nesting.h"
#include "tools/Tool.h"

#include "mlir/Bytecode/BytecodeReader.h"

using llvm::MemoryBuffer;

std::unique_ptr<MemoryBuffer> mlir::epl::readStep(const std::string &name) {
  auto read = name == "-" ? MemoryBuffer::getSTDIN()
                          : MemoryBuffer::getFile(name, /*IsText=*/false, /*RequiresNullTerminator=*/true,
                                                  /*IsVolatile=*/true);
  if (!read) {
    ::epl::runtime::tool::printError("cannot open input file '" + name + "': " + read.getError().message());
    return nullptr;
  }
  const MemoryBuffer &step = **read;
  if (isBytecode(step))
    return std::move(*read);
  if (auto problem = findDeepNesting(step.getBuffer(), step.getBufferIdentifier())) {
    llvm::errs() << *problem << "\n";
    return nullptr;
  }
  return std::move(*read);
}
