//===- FoldEpilogues.cpp - Products with what follows them ------------------===//
//
// Problem: a product is followed by a kernel that adds a bias or applies an activation: it reads and writes
// all of what the product has just written. The library of GPUs does both as an epilogue of the product.
// Method: a launch of such a kernel (Epilogues.h), which alone reads what a product of the library writes,
// becomes one launch with the product. Its kernel has the ops of both, so that it still says what it
// computes.
//
// In: kernels that the library takes have `gemm`. Out: of those with an epilogue also `epilogue`, and the
// bias as their last input; kernels that nobody launches any more are gone.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Passes.h"
#include "passes/kernel/match/Epilogues.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::epl {
#define GEN_PASS_DEF_FOLDEPILOGUES
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

namespace {

struct FoldEpilogues : epl::impl::FoldEpiloguesBase<FoldEpilogues> {
  void runOnOperation() override {
    symbols.emplace(getOperation());
    SmallVector<LaunchOp> launches;
    getOperation().walk([&](LaunchOp launch) { launches.push_back(launch); });
    for (LaunchOp launch : launches)
      fold(launch);
    eraseUnused();
  }

private:
  KernelOp kernelOf(LaunchOp launch) const { return symbols->lookup<KernelOp>(launch.getKernel()); }

  /// Puts a launch that is an epilogue and the product before it together.
  void fold(LaunchOp launch) {
    std::optional<Epilogue> epilogue = matchEpilogue(kernelOf(launch));
    if (!epilogue)
      return;
    auto product = launch.getInputs()[epilogue->product].getDefiningOp<LaunchOp>();
    if (!product || product->getBlock() != launch->getBlock() || !product->hasOneUse() ||
        !suits(*epilogue, kernelOf(product)))
      return;
    SmallVector<Value> inputs(product.getInputs());
    if (epilogue->bias)
      inputs.push_back(launch.getInputs()[*epilogue->bias]);
    OpBuilder b(launch);
    auto joined = LaunchOp::create(b, product.getLoc(), launch.getResultTypes(),
                                   join(kernelOf(product), kernelOf(launch), *epilogue), inputs);
    joined->setDiscardableAttrs(product->getDiscardableAttrDictionary());
    launch->replaceAllUsesWith(joined);
    launch.erase();
    product.erase();
  }

  /// The kernel of both.
  FlatSymbolRefAttr join(KernelOp product, KernelOp follower, const Epilogue &epilogue) {
    KernelOp &joined = kernels[{product, follower}];
    if (!joined) {
      joined = makeKernel(product, follower, epilogue);
      symbols->insert(joined, Block::iterator(follower));
    }
    return FlatSymbolRefAttr::get(joined.getSymNameAttr());
  }

  static KernelOp makeKernel(KernelOp product, KernelOp follower, const Epilogue &epilogue) {
    KernelOp joined = product.clone();
    // k2_matmul and k3_tanh_add: k2_matmul_tanh_add.
    StringRef what = follower.getSymName().drop_until([](char c) { return c == '_'; });
    joined.setSymName((product.getSymName() + what).str());
    joined.setEpilogueAttr(
        EpilogueAttr::get(product.getContext(), epilogue.bias.has_value(), epilogue.activation));
    Block &body = joined.getBody().front(), &rest = follower.getBody().front();
    Operation *yield = body.getTerminator();
    IRMapping mapping;
    mapping.map(rest.getArgument(epilogue.product), yield->getOperand(0));
    if (epilogue.bias) {
      BlockArgument bias = rest.getArgument(*epilogue.bias);
      mapping.map(bias, body.addArgument(bias.getType(), bias.getLoc()));
    }
    OpBuilder b(yield);
    for (Operation &op : rest)
      b.clone(op, mapping);
    yield->erase();
    return joined;
  }

  void eraseUnused() {
    for (auto [pair, joined] : kernels)
      for (KernelOp kernel : {pair.first, pair.second})
        if (symbols->lookup(kernel.getSymName()) && SymbolTable::symbolKnownUseEmpty(kernel, getOperation()))
          symbols->erase(kernel);
  }

  std::optional<SymbolTable> symbols;
  llvm::MapVector<std::pair<KernelOp, KernelOp>, KernelOp> kernels;
};

} // namespace
