//===- MatchContractions.cpp - Contractions that a library runs -----------===//
//
// Problem: a library multiplies strided matrices; a contraction is a loop nest over any number of dimensions.
// Method: each loop has a stride in each operand. Loops are m (in a and c), n (in b and c), k (in a and b) or
// batch (the rest); neighbours of one kind merge when all strides agree. One m, one n and the only k make
// the matrix, with strides that the library allows; whatever else is left counts as batch.
//
// In: kernels of kind contraction. Out: `gemm` on those that the library takes, `in_place` if it accumulates.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Passes.h"
#include "passes/kernel/cluster/NarrowFloats.h"
#include "passes/kernel/match/ContractionLoops.h"

namespace mlir::epl {
#define GEN_PASS_DEF_MATCHCONTRACTIONS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

namespace {

/// How a library reads a matrix: transposed or not, with which leading dimension.
struct Layout {
  bool transposed;
  int64_t leading;
};

/// The layout of a matrix of `rows` by `cols` whose elements are so far apart, if a library has it.
std::optional<Layout> getLayout(int64_t rows, int64_t cols, int64_t rowStride, int64_t colStride) {
  int64_t leading = rows == 1 ? cols : rowStride;
  if ((colStride == 1 || cols == 1) && leading >= cols)
    return Layout{false, leading};
  leading = cols == 1 ? rows : colStride;
  if ((rowStride == 1 || rows == 1) && leading >= rows)
    return Layout{true, leading};
  return std::nullopt;
}

/// The product over `m`, `n` and `k` for each combination of the other `loops`, if a library takes it.
GemmAttr matchMatrix(MLIRContext *context, const ContractionLoop &m, const ContractionLoop &n,
                     const ContractionLoop &k, bool accumulate, ArrayRef<ContractionLoop> batch) {
  std::optional<Layout> a = getLayout(m.extent, k.extent, m.a, k.a);
  std::optional<Layout> b = getLayout(k.extent, n.extent, k.b, n.b);
  std::optional<Layout> c = getLayout(m.extent, n.extent, m.c, n.c);
  if (!a || !b || !c || c->transposed)
    return {};
  SmallVector<int64_t> strides;
  for (const ContractionLoop &loop : batch)
    strides.append({loop.extent, loop.a, loop.b, loop.c});
  return GemmAttr::get(context, m.extent, n.extent, k.extent, a->leading, b->leading, c->leading,
                       a->transposed, b->transposed, accumulate, strides);
}

/// The largest product that `loops` hold, the others as its batch. Absent loops have one iteration.
GemmAttr matchLoops(MLIRContext *context, ArrayRef<ContractionLoop> loops, bool accumulate) {
  const ContractionLoop once{1, 0, 0, 0};
  SmallVector<ContractionLoop> ms{once}, ns{once}, ks;
  for (const ContractionLoop &loop : loops) {
    if (loop.isM())
      ms.push_back(loop);
    else if (loop.isN())
      ns.push_back(loop);
    else if (loop.isReduction())
      ks.push_back(loop);
  }
  if (ks.size() > 1 || (ks.size() == 1 && (!ks[0].a || !ks[0].b)))
    return {};
  const ContractionLoop k = ks.empty() ? once : ks[0];
  GemmAttr best;
  for (const ContractionLoop &m : ms) {
    for (const ContractionLoop &n : ns) {
      SmallVector<ContractionLoop> batch;
      llvm::copy_if(loops, std::back_inserter(batch), [&](const ContractionLoop &loop) {
        return !loop.isReduction() && !(loop.isM() && loop.c == m.c) && !(loop.isN() && loop.c == n.c);
      });
      // Many products of a few rows are slower than tiles of our own, which take the longer loop.
      if (llvm::any_of(batch, [&](const ContractionLoop &loop) {
            return (loop.isM() && loop.extent > m.extent) || (loop.isN() && loop.extent > n.extent);
          }))
        continue;
      GemmAttr gemm = matchMatrix(context, m, n, k, accumulate, batch);
      if (gemm && (!best || gemm.getM() * gemm.getN() > best.getM() * best.getN()))
        best = gemm;
    }
  }
  return best;
}

/// Whether the runtime multiplies the types: floats of one type, or narrow ones whose result is f32.
bool hasKnownTypes(const StridedContraction &contraction) {
  Type input = contraction.elementA, result = contraction.element;
  if (input != contraction.elementB)
    return false;
  if (isNarrowFloat(input))
    return result == input || result.isF32();
  return result == input && (result.isF32() || result.isF64());
}

/// Whether a product starts from there: nothing but its own c, or zero.
bool hasKnownStart(const StridedContraction &contraction) {
  auto fill = dyn_cast_or_null<FloatAttr>(contraction.fill);
  return contraction.init || (fill && fill.getValue().isZero());
}

/// Whether all strides are those of a library: from the first elements on.
bool goesForward(const StridedContraction &contraction) {
  return contraction.offsetA == 0 && contraction.offsetB == 0 && contraction.offsetC == 0 &&
         llvm::all_of(contraction.loops,
                      [](const ContractionLoop &loop) { return loop.a >= 0 && loop.b >= 0; });
}

void matchKernel(KernelOp kernel) {
  std::optional<ContractionParts> matched = matchContraction(kernel);
  if (!matched || matched->parts.size() != 1 || !matched->coversResult)
    return;
  const StridedContraction &contraction = matched->parts.front();
  if (contraction.a != 0 || contraction.b != 1 || !hasKnownTypes(contraction) ||
      !hasKnownStart(contraction) || !goesForward(contraction))
    return;
  GemmAttr gemm = matchLoops(kernel.getContext(), contraction.loops, contraction.init.has_value());
  if (!gemm)
    return;
  kernel.setGemmAttr(gemm);
  kernel.setFlops(2 * getVolume(contraction.loops));
  if (contraction.init)
    kernel.setInPlace(ArrayRef<int32_t>{int32_t(*contraction.init)});
}

struct MatchContractionsPass : epl::impl::MatchContractionsBase<MatchContractionsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (kernel.getKind() == KernelKind::contraction)
        matchKernel(kernel);
  }
};

} // namespace
