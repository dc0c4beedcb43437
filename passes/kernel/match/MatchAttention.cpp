//===- MatchAttention.cpp - Products and a softmax that a library runs as attention ---===//
//
// Problem: attention is two products with a softmax between them. What these hand to one another has an
// element for each pair of positions, which a library of GPUs never puts into memory. Method: a product
// p v whose p is made by a launch that is a softmax along rows (RowSoftmax.h) of a product q k^T in f32. Of
// both products each step through the batch is one through the same matrices of p, so that the library has
// them as batches and heads. Only where nobody else reads p and the scores: so not where gradients do.
//
// In: kernels that the library of products takes have `gemm`. Out: the kernel of such a product p v has
// `attention` and, as its last inputs, q and k; the launches before it stay as they are, for devices whose
// library does not take it.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Passes.h"
#include "passes/kernel/cluster/Expression.h"
#include "passes/kernel/cluster/NarrowFloats.h"
#include "passes/kernel/match/RowSoftmax.h"

namespace mlir::epl {
#define GEN_PASS_DEF_MATCHATTENTION
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

namespace {

/// One loop of a product's batch: its extent, and the strides in both operands and the result.
struct BatchLoop {
  int64_t extent, a, b, c;
};

/// Outer loops first, by where their matrices lie in one of the three.
SmallVector<BatchLoop> getBatch(GemmAttr gemm, int64_t BatchLoop::*stride) {
  SmallVector<BatchLoop> loops;
  ArrayRef<int64_t> batch = gemm.getBatch();
  for (size_t i = 0; i + 3 < batch.size(); i += 4)
    loops.push_back({batch[i], batch[i + 1], batch[i + 2], batch[i + 3]});
  llvm::sort(loops, [&](const BatchLoop &l, const BatchLoop &r) { return l.*stride > r.*stride; });
  return loops;
}

/// The launch that makes a value that only one operand reads, through views; null if there is none.
LaunchOp getOnlyProducer(Value value, Block *block) {
  while (value.hasOneUse() &&
         isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  auto launch = value.hasOneUse() ? value.getDefiningOp<LaunchOp>() : LaunchOp();
  return launch && launch->getBlock() == block && launch->getNumResults() == 1 ? launch : LaunchOp();
}

/// What `gemm` is of a kernel that does nothing else, on bf16 or f16; null if there is none.
GemmAttr getPlainProduct(KernelOp kernel, bool widens) {
  GemmAttr gemm = kernel.getGemmAttr();
  if (!gemm || gemm.getAccumulate() || gemm.getTransposeA() || kernel.getEpilogue() || kernel.getAttention())
    return {};
  Type operand = getElementTypeOrSelf(kernel.getBody().front().getArgument(0).getType());
  Type result = getElementTypeOrSelf(kernel.getBody().front().getTerminator()->getOperand(0).getType());
  return isNarrowFloat(operand) && (widens ? result.isF32() : result == operand) ? gemm : GemmAttr();
}

/// Whether the result of `scores` lies as `product` reads its first operand: matrices of rows without gaps,
/// one behind the other, and steps that lead through all four tensors.
bool areAlike(GemmAttr scores, GemmAttr product) {
  SmallVector<BatchLoop> ofScores = getBatch(scores, &BatchLoop::c),
                         ofProduct = getBatch(product, &BatchLoop::a);
  if (scores.getM() != product.getM() || scores.getN() != product.getK() ||
      scores.getLdc() != scores.getN() || product.getLda() != product.getK() ||
      ofScores.size() != ofProduct.size() || ofScores.size() > 2)
    return false;
  int64_t next = scores.getM() * scores.getN();
  for (auto [one, other] : llvm::reverse(llvm::zip_equal(ofScores, ofProduct))) {
    if (one.extent != other.extent || one.c != next || other.a != next || one.a == 0 || one.b == 0 ||
        other.b == 0 || other.c == 0)
      return false;
    next *= one.extent;
  }
  return true;
}

struct MatchAttentionPass : epl::impl::MatchAttentionBase<MatchAttentionPass> {
  void runOnOperation() override {
    symbols.emplace(getOperation());
    SmallVector<LaunchOp> launches;
    getOperation().walk([&](LaunchOp launch) { launches.push_back(launch); });
    for (LaunchOp launch : launches)
      match(launch);
    for (auto &[from, made] : kernels)
      if (auto product = symbols->lookup<KernelOp>(std::get<StringAttr>(from));
          product && SymbolTable::symbolKnownUseEmpty(product, getOperation()))
        symbols->erase(product);
  }

private:
  KernelOp kernelOf(LaunchOp launch) const { return symbols->lookup<KernelOp>(launch.getKernel()); }

  void match(LaunchOp launch) {
    GemmAttr product = getPlainProduct(kernelOf(launch), /*widens=*/false);
    if (!product || product.getTransposeB())
      return;
    LaunchOp softmax = getOnlyProducer(launch.getInputs()[0], launch->getBlock());
    if (!softmax || softmax.getInputs().size() != 1)
      return;
    LaunchOp scores = getOnlyProducer(softmax.getInputs()[0], launch->getBlock());
    GemmAttr of = scores ? getPlainProduct(kernelOf(scores), /*widens=*/true) : GemmAttr();
    if (!of || !of.getTransposeB() || !areAlike(of, product) ||
        getElementTypeOrSelf(scores.getInputs()[0]) != getElementTypeOrSelf(launch.getInputs()[1]))
      return;
    if (std::optional<RowSoftmax> found = matchRowSoftmax(kernelOf(softmax), of.getM(), of.getN()))
      replace(launch, scores, *found);
  }

  void replace(LaunchOp launch, LaunchOp scores, const RowSoftmax &found) {
    OpBuilder b(launch);
    auto attention = AttentionAttr::get(&getContext(), b.getF32FloatAttr(float(found.scale)), found.isCausal);
    SmallVector<Value> inputs(launch.getInputs());
    llvm::append_range(inputs, scores.getInputs().take_front(2));
    KernelOp kernel = getKernel(kernelOf(launch), attention, inputs);
    auto made = LaunchOp::create(b, launch.getLoc(), launch.getResultTypes(),
                                 FlatSymbolRefAttr::get(kernel.getSymNameAttr()), inputs);
    made->setDiscardableAttrs(launch->getDiscardableAttrDictionary());
    launch->replaceAllUsesWith(made);
    launch.erase();
  }

  /// The kernel of a product as the end of attention.
  KernelOp getKernel(KernelOp product, AttentionAttr attention, ValueRange inputs) {
    Type q = inputs.drop_back().back().getType(), k = inputs.back().getType();
    KernelOp &made = kernels[{product.getSymNameAttr(), attention, q, k}];
    if (!made) {
      made = product.clone();
      made.setSymName((product.getSymName() + "_attention").str());
      made.setAttentionAttr(attention);
      Block &body = made.getBody().front();
      for (Type type : {q, k})
        body.addArgument(type, product.getLoc());
      symbols->insert(made, Block::iterator(product));
    }
    return made;
  }

  std::optional<SymbolTable> symbols;
  llvm::MapVector<std::tuple<StringAttr, AttentionAttr, Type, Type>, KernelOp> kernels;
};

} // namespace
