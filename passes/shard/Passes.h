//===- Passes.h - The shard phase ---------------------------------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::epl {

/// What devices that compute the same share among them instead of each having a copy: nothing, the
/// optimizer's state, its gradients too, parameters too.
enum class ZeroLevel { off, v1, v2, v3 };

/// Their names in options.
inline llvm::cl::ValuesClass getZeroLevels() {
  return llvm::cl::values(
      clEnumValN(ZeroLevel::off, "off", "nothing"), clEnumValN(ZeroLevel::v1, "v1", "the optimizer's state"),
      clEnumValN(ZeroLevel::v2, "v2", "gradients too"), clEnumValN(ZeroLevel::v3, "v3", "parameters too"));
}

/// Which values are kept where what lies between them is computed again for the gradient: nothing is, those
/// that the user names, or the narrowest.
enum class RecomputeMode { off, collection, automatic };

/// Their names in options.
inline llvm::cl::ValuesClass getRecomputeModes() {
  return llvm::cl::values(
      clEnumValN(RecomputeMode::off, "off", "nothing is computed again"),
      clEnumValN(RecomputeMode::collection, "collection", "values that the user names are kept"),
      clEnumValN(RecomputeMode::automatic, "auto", "the narrowest values are kept"));
}

/// In which type devices exchange gradients of f32.
enum class GradientType { f32, f16, bf16 };

/// Their names in options.
inline llvm::cl::ValuesClass getGradientTypes() {
  return llvm::cl::values(clEnumValN(GradientType::f32, "f32", "as they are"),
                          clEnumValN(GradientType::f16, "f16", "rounded to f16, scaled"),
                          clEnumValN(GradientType::bf16, "bf16", "rounded to bf16"));
}

/// Whose part of a step is made where servers hold the parameters.
enum class ServerRole { worker, server };

#define GEN_PASS_DECL
#include "passes/shard/Passes.h.inc"

/// What the shard phase may be told.
struct ShardOptions : PassPipelineOptions<ShardOptions> {
  Option<bool> explainSplit{*this, "explain-split",
                            llvm::cl::desc("Remark, as a table, for each kind of parameter how it is "
                                           "split, what that costs and what was next"),
                            llvm::cl::init(false)};
  Option<bool> explainSharding{*this, "explain-sharding",
                               llvm::cl::desc("Remark where a value is wanted with two shardings which was "
                                              "dropped, and why, and where each pending reduction is "
                                              "completed, and for whom"),
                               llvm::cl::init(false)};
  Option<bool> explainStages{
      *this, "explain-stages",
      llvm::cl::desc("Remark, as a table, what each stage that is found takes, and the "
                     "next best cut"),
      llvm::cl::init(false)};
  Option<int64_t> microBatches{*this, "micro-batches",
                               llvm::cl::desc("How many micro-batches the batch is cut into"),
                               llvm::cl::init(1)};
  Option<RecomputeMode> recompute{
      *this, "recompute",
      llvm::cl::desc("Which values are kept, what lies between being computed again for the gradient"),
      llvm::cl::init(RecomputeMode::off), getRecomputeModes()};
  Option<int64_t> recomputeEnd{*this, "recompute-end",
                               llvm::cl::desc("The last task graph of which work is computed again; -1: all"),
                               llvm::cl::init(-1)};
  Option<bool> splitBackward{*this, "split-backward",
                             llvm::cl::desc("Split the backward work of micro-batches in what sent gradients "
                                            "are made of and what can be done later"),
                             llvm::cl::init(false)};
  Option<ZeroLevel> zero{*this, "zero", llvm::cl::desc("What is shared over the axis \"data\""),
                         llvm::cl::init(ZeroLevel::off), getZeroLevels()};
  Option<bool> owners{*this, "owners",
                      llvm::cl::desc("Give each parameter with its optimizer's state to one device of the "
                                     "axis \"data\""),
                      llvm::cl::init(false)};
  Option<bool> sequenceParallel{*this, "sequence-parallel",
                                llvm::cl::desc("Share among the devices of a split what all would compute "
                                               "whole between its sums and its products"),
                                llvm::cl::init(false)};
  Option<GradientType> gradientType{*this, "gradient-type",
                                    llvm::cl::desc("In which type devices exchange gradients of f32"),
                                    llvm::cl::init(GradientType::f32), getGradientTypes()};
  Option<int64_t> gradientScale{*this, "gradient-scale",
                                llvm::cl::desc("What gradients are multiplied by before they are f16"),
                                llvm::cl::init(128)};
  Option<bool> sparseAsDense{
      *this, "sparse-as-dense",
      llvm::cl::desc("Sum gradients of tables whole, also where to exchange the rows that "
                     "a batch looks up would move less"),
      llvm::cl::init(false)};
};

/// Adds the passes of the first half of the shard phase, which gives a global program its shardings and
/// reshards.
void buildPlacePipeline(OpPassManager &pm, const ShardOptions &options);

/// Adds those of the second half, which makes the local program of it.
void buildLocalizePipeline(OpPassManager &pm, const ShardOptions &options);

/// Adds the passes of the shard phase, in order.
void buildShardPipeline(OpPassManager &pm, const ShardOptions &options);

/// Attaches what ops mean for sharding (`ShardableOp`) to the ops of the dialects in `registry`. Without it
/// the passes know only what is derived from indexing maps.
void registerShardModels(DialectRegistry &registry);

/// Registers the passes and the pipeline `epl-shard`.
void registerShardPasses();

} // namespace mlir::epl
