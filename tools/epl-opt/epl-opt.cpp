//===- epl-opt.cpp - Runs passes on a module ------------------------------===//

#include "passes/Parallelize.h"
#include "passes/annotate/Passes.h"
#include "passes/kernel/Passes.h"
#include "passes/pipeline/Passes.h"
#include "passes/shard/Passes.h"
#include "tools/PassLogs.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/PrettyStackTrace.h"

using namespace mlir::epl;

/// MLIR's main function parses these with its own options.
static llvm::cl::opt<bool> statistics("statistics", llvm::cl::desc(kStatisticsHelp),
                                      llvm::cl::cb<void, bool>([](bool isSet) {
                                        if (isSet)
                                          enableStatistics();
                                      }));
static llvm::cl::list<std::string> debugOnly("debug-only", llvm::cl::desc(kDebugOnlyHelp),
                                             llvm::cl::CommaSeparated, llvm::cl::value_desc("passes"));

int main(int argc, char **argv) {
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
  int code = mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
  printStatistics();
  return code;
}
