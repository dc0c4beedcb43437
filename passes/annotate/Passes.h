//===- Passes.h - The annotate phase ----------------------------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::epl {

#define GEN_PASS_DECL
#include "passes/annotate/Passes.h.inc"

/// Options of the pipeline `epl-annotate`.
struct AnnotateOptions : PassPipelineOptions<AnnotateOptions> {
  Option<int64_t> devices{*this, "devices", llvm::cl::desc("The number of devices of the mesh"),
                          llvm::cl::init(1)};
  Option<bool> colocate{*this, "colocate", llvm::cl::desc("Several task graphs share all devices"),
                        llvm::cl::init(false)};
  Option<int64_t> numStages{*this, "num-stages",
                            llvm::cl::desc("How many meshes there are, on which task graphs are in turn; 0: "
                                           "one for each"),
                            llvm::cl::init(0)};
  Option<int64_t> findStages{
      *this, "find-stages", llvm::cl::desc("Into how many stages a step without scopes is cut; 0: it is not"),
      llvm::cl::init(0)};
  ListOption<int64_t> stageMeshes{*this, "stage-meshes",
                                  llvm::cl::desc("The mesh of each task graph, instead of in turn")};
  Option<bool> lowerPrecision{*this, "lower-precision",
                              llvm::cl::desc("Contractions take operands of bf16 and add up in f32"),
                              llvm::cl::init(false)};
  Option<bool> explainPrecision{*this, "explain-precision",
                                llvm::cl::desc("Remark which operations take bf16 and which stay f32"),
                                llvm::cl::init(false)};
};

/// Adds the passes of the annotate phase, in order. In: a step as design 4.1 describes it. Out: the flat
/// global program of design 4.2, for a mesh of `options.devices` devices.
void buildAnnotatePipeline(OpPassManager &pm, const AnnotateOptions &options);

/// Registers the passes and the pipeline `epl-annotate`.
void registerAnnotatePasses();

} // namespace mlir::epl
