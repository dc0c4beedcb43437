//===- epl-opt.cpp - Runs passes on a module ------------------------------===//

#include "passes/Parallelize.h"
#include "passes/annotate/Passes.h"
#include "passes/kernel/Passes.h"
#include "passes/pipeline/Passes.h"
#include "passes/shard/Passes.h"
#include "tools/Nesting.h"
#include "tools/PassLogs.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir::epl;

/// MLIR's main function parses these with its own options.
static llvm::cl::opt<bool> statistics("statistics", llvm::cl::desc(kStatisticsHelp),
                                      llvm::cl::cb<void, bool>([](bool isSet) {
                                        if (isSet)
                                          enableStatistics();
                                      }));
static llvm::cl::list<std::string> debugOnly("debug-only", llvm::cl::desc(kDebugOnlyHelp),
                                             llvm::cl::CommaSeparated, llvm::cl::value_desc("passes"));

/// Runs the passes on text that the parser survives, and prints what they have counted.
static mlir::LogicalResult run(llvm::StringRef input, llvm::StringRef output,
                               mlir::DialectRegistry &registry) {
  std::string error;
  auto from = mlir::openInputFile(input, &error);
  auto to = from ? mlir::openOutputFile(output, &error) : nullptr;
  if (!to) {
    llvm::errs() << "error: " << error << "\n";
    return mlir::failure();
  }
  if (auto problem = mlir::isBytecode(*from)
                         ? std::nullopt
                         : mlir::epl::findDeepNesting(from->getBuffer(), from->getBufferIdentifier())) {
    llvm::errs() << *problem << "\n";
    return mlir::failure();
  }
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  mlir::LogicalResult result = mlir::MlirOptMain(to->os(), std::move(from), registry, config);
  if (succeeded(result))
    to->keep();
  if (statistics)
    printStatistics();
  return result;
}

int main(int argc, char **argv) {
  llvm::InitLLVM initialized(argc, argv);
  llvm::setBugReportMsg("error: epl-opt has crashed: please send us the input and the arguments\n");
  mlir::registerAllPasses();
  mlir::epl::registerAnnotatePasses();
  mlir::epl::registerShardPasses();
  mlir::epl::registerPipelinePasses();
  mlir::epl::registerKernelPasses();
  mlir::epl::registerParallelizePipeline();
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<mlir::epl::EplDialect>();
  mlir::epl::registerShardModels(registry);
  auto [input, output] = mlir::registerAndParseCLIOptions(argc, argv, "EPL optimizer driver\n", registry);
  if (!debugOnly.empty() && !enableDebugLogs(debugOnly))
    return 1;
  return mlir::asMainReturnCode(run(input, output, registry));
}
