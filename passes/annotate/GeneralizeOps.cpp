//===- GeneralizeOps.cpp - One kind of structured op ----------------------===//
//
// Problem: named ops (matmul, fill, transpose) hide their indexing maps behind names.
// Method: upstream's generalization patterns in one walk. Not its pass: that folds, and merges constants.
// Invariant out: every linalg op is a linalg.generic.
//
//===----------------------------------------------------------------------===//

#include "passes/annotate/Passes.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::epl {
#define GEN_PASS_DEF_GENERALIZEOPSPASS
#include "passes/annotate/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;

namespace {
struct GeneralizeOpsPass : epl::impl::GeneralizeOpsPassBase<GeneralizeOpsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    linalg::populateLinalgNamedOpsGeneralizationPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
