//===- epl-opt.cpp - Runs passes on a module ------------------------------===//

#include "passes/Parallelize.h"
#include "passes/annotate/Passes.h"
#include "passes/kernel/Passes.h"
#include "passes/pipeline/Passes.h"
#include "passes/shard/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/PrettyStackTrace.h"

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
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "EPL optimizer driver\n", registry));
}
