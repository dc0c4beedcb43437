//===- Programs.h - Tests on the text of a program --------------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"
#include "passes/shard/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace mlir::epl {

/// The dialects of global programs, with what their ops mean for sharding.
inline DialectRegistry makeProgramRegistry() {
  DialectRegistry registry;
  registry.insert<EplDialect, arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                  math::MathDialect, tensor::TensorDialect>();
  registerShardModels(registry);
  return registry;
}

class ProgramTest : public testing::Test {
protected:
  ProgramTest() : context(makeProgramRegistry()) { context.loadAllAvailableDialects(); }

  /// The function of a module, which lives as long as the test or until the next one, and its mesh.
  std::pair<func::FuncOp, MeshOp> parse(const std::string &text) {
    module = parseSourceString<ModuleOp>(text, &context);
    return {*module->getOps<func::FuncOp>().begin(), *module->getOps<MeshOp>().begin()};
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

} // namespace mlir::epl
