//===- PassOptions.cpp - MLIR's options for looking into passes -----------===//

#include "tools/epl-compile/PassOptions.h"

#include "passes/annotate/Passes.h"
#include "passes/kernel/Passes.h"
#include "passes/pipeline/Passes.h"
#include "passes/shard/Passes.h"
#include "tools/epl-compile/CrashReport.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace mlir::epl;

/// The options name passes by their flags: those that phases have, and no more, as a static build links what
/// is registered.
static void registerOptions() {
  registerAnnotatePasses();
  registerShardPasses();
  registerPipelinePasses();
  registerKernelPasses();
  registerCSEPass();
  registerSymbolDCEPass();
  registerAsmPrinterCLOptions();
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
}

bool mlir::epl::takeMlirOptions(std::vector<char *> &arguments) {
  auto isOfMlir = [](StringRef argument) {
    return argument.starts_with("--mlir-") && argument.split('=').first != kReproducerOption;
  };
  auto begin = llvm::find_if(arguments, isOfMlir);
  if (begin == arguments.end())
    return true;
  std::vector<const char *> taken{arguments.front()};
  llvm::copy_if(arguments, std::back_inserter(taken), isOfMlir);
  arguments.erase(std::remove_if(begin, arguments.end(), isOfMlir), arguments.end());
  registerOptions();
  return llvm::cl::ParseCommandLineOptions(int(taken.size()), taken.data(), "", &llvm::errs());
}

void mlir::epl::applyMlirOptions(PassManager &pm) {
  // False is for options that exclude each other, of which MLIR says what it prefers.
  (void)applyPassManagerCLOptions(pm);
}

void mlir::epl::applyMlirOptions(DefaultTimingManager &timing) { applyDefaultTimingManagerCLOptions(timing); }

LogicalResult Reproducer::begin(PassManager &pm, ModuleOp module) {
  if (file.empty())
    return success();
  std::string error;
  auto fail = [&] {
    llvm::errs() << "error: cannot write the reproducer \"" << file << "\": " << error << "\n";
    return failure();
  };
  if (!openOutputFile(file, &error)) // what it opens goes with it
    return fail();
  makeReproducer(ModuleOp::getOperationName(), llvm::make_range(pm.begin(), pm.end()), module, file);
  auto written = openInputFile(file, &error);
  std::string text = written ? written->getBuffer().str() : ""; // not a view of the file that is written next
  auto output = written ? openOutputFile(file, &error) : nullptr;
  if (!output)
    return fail();
  output->os() << "// The module as phase \"" << phase
               << "\" of epl-compile found it, and the phase's passes.\n"
               << "// epl-opt --run-reproducer runs them again.\n"
               << text;
  output->keep();
  setCrashReproducer(file);
  return success();
}

LogicalResult Reproducer::end(LogicalResult result) {
  setCrashReproducer("");
  if (file.empty())
    return result;
  if (succeeded(result))
    (void)llvm::sys::fs::remove(file); // a file that is there is of no harm
  else
    llvm::errs() << "note: phase \"" << phase << "\" can be run again: epl-opt --run-reproducer " << file
                 << "\n";
  return result;
}
