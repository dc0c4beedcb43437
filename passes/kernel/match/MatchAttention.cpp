//===- MatchAttention.cpp - Products and a softmax that a library runs as attention ---===//
//
// Problem: attention is two products with a softmax between them. What these hand to one another has an
// element for each pair of positions, which a library of GPUs never puts into memory. Method: a product
// p v whose p is made by a launch that is a softmax along rows (RowSoftmax.h) of a product q k^T. Of
// both products each step through the batch is one through the same matrices of p, so that the library has
// them as batches and heads; heads of q may share one of k and v. Where one of the products has two of these
// steps as one loop, its loops are split as those of the other one. Only where nobody else reads p and the
// scores, or nobody but the gradient of the attention, which the library has, too (AttentionGradient.h).
//
// In: kernels that the library of products takes have `gemm`. Out: the kernel of such a product p v has
// `attention` and, as its last inputs, q and k; the launches before it stay as they are, for devices whose
// library does not take it. Behind those of a gradient, which stand together, is a launch that gives the
// gradients on.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Passes.h"
#include "passes/kernel/cluster/NarrowFloats.h"
#include "passes/kernel/match/AttentionGradient.h"
#include "passes/kernel/match/TaskValues.h"

#include <set>

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

/// What `gemm` is of a kernel that does nothing else, on bf16 or f16; null if there is none. `mayWiden`: its
/// result may be f32.
GemmAttr getPlainProduct(KernelOp kernel, bool mayWiden) {
  GemmAttr gemm = kernel.getGemmAttr();
  if (!gemm || gemm.getAccumulate() || gemm.getTransposeA() || kernel.getEpilogue() || kernel.getAttention())
    return {};
  Type operand = getElementTypeOrSelf(kernel.getBody().front().getArgument(0).getType());
  Type result = getElementTypeOrSelf(kernel.getBody().front().getTerminator()->getOperand(0).getType());
  return isNarrowFloat(operand) && (result == operand || (mayWiden && result.isF32())) ? gemm : GemmAttr();
}

/// How a tensor of a product lies.
AttentionLayout getLayout(ArrayRef<BatchLoop> batch, int64_t BatchLoop::*stride, int64_t position) {
  AttentionLayout layout{{}, position};
  for (const BatchLoop &loop : batch)
    layout.batch.push_back(loop.*stride);
  return layout;
}

/// The matrices that `scores` makes, if they lie as `product` reads its first operand: of rows without gaps,
/// one behind the other, and steps that lead through all four tensors.
std::optional<AttentionPairs> getPairs(GemmAttr scores, GemmAttr product) {
  SmallVector<BatchLoop> ofScores = getBatch(scores, &BatchLoop::c),
                         ofProduct = getBatch(product, &BatchLoop::a);
  if (scores.getM() != product.getM() || scores.getN() != product.getK() ||
      scores.getLdc() != scores.getN() || product.getLda() != product.getK() ||
      ofScores.size() != ofProduct.size())
    return std::nullopt;
  AttentionPairs pairs{scores.getM(), scores.getN(), {}, {}, {}, {}};
  int64_t next = scores.getM() * scores.getN();
  for (auto [one, other] : llvm::reverse(llvm::zip_equal(ofScores, ofProduct))) {
    if (one.extent != other.extent || one.c != next || other.a != next)
      return std::nullopt;
    next *= one.extent;
  }
  for (const BatchLoop &loop : ofScores)
    pairs.batch.push_back(loop.extent);
  bool hasHeads = pairs.findHeads({getLayout(ofScores, &BatchLoop::a, scores.getLda()),
                                   getLayout(ofProduct, &BatchLoop::c, product.getLdc())},
                                  {getLayout(ofScores, &BatchLoop::b, scores.getLdb()),
                                   getLayout(ofProduct, &BatchLoop::b, product.getLdb())});
  return hasHeads ? std::optional(pairs) : std::nullopt;
}

/// The products q k^T and p v.
struct AttentionGemms {
  GemmAttr scores, product;
};

/// The loop over rows of a product, beside those of its batch.
BatchLoop getRows(GemmAttr gemm) { return {gemm.getM(), gemm.getLda(), 0, gemm.getLdc()}; }

/// A product whose loops over matrices and rows end at some steps of these, so that each has `rows`; `stride`
/// says which operand the matrices are.
GemmAttr splitLoops(GemmAttr gemm, int64_t BatchLoop::*stride, const std::set<int64_t> &ends, int64_t rows) {
  SmallVector<BatchLoop> loops = getBatch(gemm, stride);
  loops.push_back(getRows(gemm));
  SmallVector<int64_t> batch;
  std::optional<BatchLoop> row;
  auto add = [&](BatchLoop loop) {
    if (!row && loop.*stride == getRows(gemm).*stride)
      row = loop;
    else
      batch.append({loop.extent, loop.a, loop.b, loop.c});
  };
  for (BatchLoop loop : loops) {
    for (int64_t end : ends) {
      int64_t step = loop.*stride, inner = step > 0 && end % step == 0 ? end / step : 1;
      if (inner <= 1 || inner >= loop.extent || loop.extent % inner != 0)
        continue;
      add({inner, loop.a, loop.b, loop.c});
      loop = {loop.extent / inner, loop.a * inner, loop.b * inner, loop.c * inner};
    }
    add(loop);
  }
  return row && row->extent == rows
             ? GemmAttr::get(gemm.getContext(), rows, gemm.getN(), gemm.getK(), gemm.getLda(), gemm.getLdb(),
                             gemm.getLdc(), gemm.getTransposeA(), gemm.getTransposeB(), gemm.getAccumulate(),
                             batch)
             : gemm;
}

/// How many rows matrices have whose tensor has some shape.
int64_t getRowExtent(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> outer(shape.drop_back(shape.empty() ? 0 : 1));
  llvm::erase(outer, 1);
  return outer.empty() ? 1 : outer.back();
}

/// The products with the same loops: where one has several as one, as positions and heads of a group that lie
/// side by side, it gets what the other one has, and rows of their own.
AttentionGemms splitAlike(AttentionGemms gemms, int64_t rows) {
  std::set<int64_t> ends{rows * gemms.scores.getN()};
  for (const BatchLoop &loop : getBatch(gemms.scores, &BatchLoop::c))
    ends.insert(loop.c);
  for (const BatchLoop &loop : getBatch(gemms.product, &BatchLoop::a))
    ends.insert(loop.a);
  return {splitLoops(gemms.scores, &BatchLoop::c, ends, rows),
          splitLoops(gemms.product, &BatchLoop::a, ends, rows)};
}

struct MatchAttentionPass : epl::impl::MatchAttentionBase<MatchAttentionPass> {
  void runOnOperation() override {
    symbols.emplace(getOperation());
    SmallVector<LaunchOp> launches;
    getOperation().walk([&](LaunchOp launch) { launches.push_back(launch); });
    for (LaunchOp launch : launches)
      match(launch);
    for (auto &[from, made] : kernels)
      for (KernelOp each : {symbols->lookup<KernelOp>(std::get<StringAttr>(from)), made})
        if (each && SymbolTable::symbolKnownUseEmpty(each, getOperation()))
          symbols->erase(each);
  }

private:
  KernelOp kernelOf(LaunchOp launch) const { return symbols->lookup<KernelOp>(launch.getKernel()); }

  void match(LaunchOp launch) {
    GemmAttr product = getPlainProduct(kernelOf(launch), /*mayWiden=*/false);
    auto made = product && !product.getTransposeB() ? dyn_cast<OpResult>(getOrigin(launch.getInputs()[0]))
                                                    : OpResult();
    auto softmax = made ? dyn_cast<LaunchOp>(made.getOwner()) : LaunchOp();
    if (!softmax || softmax->getBlock() != launch->getBlock())
      return;
    for (auto [number, input] : llvm::enumerate(softmax.getInputs())) {
      LaunchOp scores = getMaker(input, softmax);
      GemmAttr of = scores ? getPlainProduct(kernelOf(scores), /*mayWiden=*/true) : GemmAttr();
      if (!of || !of.getTransposeB() ||
          getElementTypeOrSelf(scores.getInputs()[0]) != getElementTypeOrSelf(launch.getInputs()[1]))
        continue;
      int64_t rows = getRowExtent(cast<RankedTensorType>(made.getType()).getShape());
      for (AttentionGemms gemms : {AttentionGemms{of, product}, splitAlike({of, product}, rows)}) {
        std::optional<AttentionPairs> pairs = getPairs(gemms.scores, gemms.product);
        std::optional<RowSoftmax> row =
            pairs ? matchRowSoftmax(kernelOf(softmax), number, made.getResultNumber(), pairs->rows,
                                    pairs->columns, getMaskOf(softmax, *symbols, pairs->rows, pairs->columns))
                  : std::nullopt;
        if (row)
          return replace({scores, softmax, launch, *row, *pairs}, gemms);
      }
    }
  }

  /// The launch before another one in its task that makes what this alone reads, or null.
  static LaunchOp getMaker(Value value, LaunchOp reader) {
    auto launch = getOrigin(value).getDefiningOp<LaunchOp>();
    std::optional<SmallVector<OpOperand *>> readers =
        launch && launch->getBlock() == reader->getBlock() ? getReaders(launch.getResult(0)) : std::nullopt;
    return readers && readers->size() == 1 ? launch : LaunchOp();
  }

  /// With its gradient, if something else reads the softmax; then that must be all.
  void replace(FoundAttention found, AttentionGemms gemms) {
    bool isAlone = llvm::all_of(found.softmax->getResults(), [&](Value result) {
      return llvm::all_of(getReaders(result).value_or(SmallVector<OpOperand *>{nullptr}),
                          [&](OpOperand *reader) { return reader && reader->getOwner() == found.product; });
    });
    std::optional<AttentionGradient> gradient =
        isAlone ? std::nullopt : AttentionGradient::find(found, *symbols);
    if (!isAlone && !gradient)
      return;
    LaunchOp end = addEnd(found, gemms.product, gradient.has_value()), left = found.product;
    left.getResult(0).replaceAllUsesWith(end.getResult(0));
    if (gradient && !gradient->replace(end, *symbols)) {
      end.getResult(0).replaceAllUsesWith(left.getResult(0));
      std::swap(end, left);
    } else {
      setGemm(found.scores, gemms.scores);
    }
    left.erase();
  }

  /// Has a launch multiply by a product that has the same loops, or parts of these.
  void setGemm(LaunchOp launch, GemmAttr gemm) {
    KernelOp kernel = kernelOf(launch);
    if (kernel.getGemmAttr() == gemm)
      return;
    KernelOp &made = kernels[{kernel.getSymNameAttr(), gemm, {}, {}, {}, 1}];
    if (!made) {
      made = kernel.clone();
      made.setGemmAttr(gemm);
      symbols->insert(made, Block::iterator(kernel));
    }
    launch.setKernelAttr(FlatSymbolRefAttr::get(made.getSymNameAttr()));
  }

  /// The product as the end of attention, behind the product.
  LaunchOp addEnd(const FoundAttention &found, GemmAttr gemm, bool hasGradient) {
    LaunchOp launch = found.product, scores = found.scores;
    OpBuilder b(launch->getBlock(), std::next(Block::iterator(launch)));
    auto attention =
        AttentionAttr::get(&getContext(), b.getF32FloatAttr(float(found.row.scale)), found.row.isCausal);
    SmallVector<Value> inputs(launch.getInputs());
    llvm::append_range(inputs, scores.getInputs().take_front(2));
    SmallVector<Type> results(launch.getResultTypes());
    if (hasGradient) {
      SmallVector<int64_t> rows(found.pairs.batch.begin(), found.pairs.batch.end());
      rows.push_back(found.pairs.rows);
      results.push_back(RankedTensorType::get(rows, b.getF32Type()));
    }
    KernelOp kernel = getKernel(kernelOf(launch), gemm, attention, inputs, results);
    auto made = LaunchOp::create(b, launch.getLoc(), results, FlatSymbolRefAttr::get(kernel.getSymNameAttr()),
                                 inputs);
    made->setDiscardableAttrs(launch->getDiscardableAttrDictionary());
    return made;
  }

  /// The kernel of a product as the end of attention. What only a library makes is anything.
  KernelOp getKernel(KernelOp product, GemmAttr gemm, AttentionAttr attention, ValueRange inputs,
                     TypeRange results) {
    Type q = inputs.drop_back().back().getType(), k = inputs.back().getType();
    KernelOp &made = kernels[{product.getSymNameAttr(), gemm, attention, q, k, results.size()}];
    if (!made) {
      made = product.clone();
      made.setSymName((product.getSymName() + "_attention").str());
      made.setAttentionAttr(attention);
      made.setGemmAttr(gemm);
      Block &body = made.getBody().front();
      for (Type type : {q, k})
        body.addArgument(type, product.getLoc());
      Operation *yield = body.getTerminator();
      OpBuilder b(yield);
      for (Type type : results.drop_front()) {
        auto rows = cast<RankedTensorType>(type);
        Value anything = tensor::EmptyOp::create(b, product.getLoc(), rows.getShape(), rows.getElementType());
        yield->insertOperands(yield->getNumOperands(), anything);
      }
      symbols->insert(made, Block::iterator(product));
    }
    return made;
  }

  std::optional<SymbolTable> symbols;
  llvm::MapVector<std::tuple<StringAttr, GemmAttr, AttentionAttr, Type, Type, size_t>, KernelOp> kernels;
};

} // namespace
