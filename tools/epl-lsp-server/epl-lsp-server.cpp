//===- epl-lsp-server.cpp - Language server for .mlir files with epl ops ---===//

#include "dialect/Epl.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<mlir::epl::EplDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
