//===- MachineFile.cpp - A machine as a file ------------------------------===//

#include "dialect/MachineFile.h"

#include "dialect/MachineFigures.h"
#include "runtime/machine/MachineFile.h"

using namespace mlir;
using namespace mlir::epl;
namespace machine = ::epl::runtime::machine;

static llvm::Expected<MachineAttr> getAttr(MLIRContext *context, const machine::MachineOrError &read) {
  if (const auto *found = std::get_if<machine::Machine>(&read))
    return getMachineOf(context, *found);
  return llvm::createStringError(*std::get_if<std::string>(&read));
}

llvm::Expected<MachineAttr> mlir::epl::parseMachine(MLIRContext *context, StringRef text, StringRef file) {
  return getAttr(context, machine::parseMachine(text.str(), file.str()));
}

llvm::Expected<MachineAttr> mlir::epl::readMachine(MLIRContext *context, StringRef kindOrFile) {
  return getAttr(context, machine::readMachine(kindOrFile.str()));
}
