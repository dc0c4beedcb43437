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

#include "passes/kernel/OpRoles.h"
#include "passes/kernel/Passes.h"

namespace mlir::epl {
#define GEN_PASS_DEF_MATCHCONTRACTIONS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;
using linalg::GenericOp;

namespace {

/// A loop and the distance, in elements, between its iterations in each operand; 0 where it is absent.
struct Loop {
  int64_t extent, a, b, c;

  bool isM() const { return a && !b && c; }
  bool isN() const { return !a && b && c; }
  bool isK() const { return !c; }
  bool isSameKind(const Loop &other) const { return !a == !other.a && !b == !other.b && !c == !other.c; }
  /// Whether `inner` continues this loop in every operand, so that both are one loop.
  bool isContinuedBy(const Loop &inner) const {
    return isSameKind(inner) && a == inner.a * inner.extent && b == inner.b * inner.extent &&
           c == inner.c * inner.extent;
  }
};

/// The stride of each loop in a contiguous row-major operand read by `map`.
SmallVector<int64_t> getStrides(AffineMap map, ArrayRef<int64_t> ranges) {
  SmallVector<int64_t> strides(map.getNumDims(), 0);
  int64_t stride = 1;
  for (AffineExpr expr : llvm::reverse(map.getResults())) {
    unsigned dim = cast<AffineDimExpr>(expr).getPosition();
    strides[dim] = stride;
    stride *= ranges[dim];
  }
  return strides;
}

/// The loops, those of extent 1 left out, neighbours merged.
SmallVector<Loop> getLoops(GenericOp op) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<int64_t> a = getStrides(maps[0], ranges), b = getStrides(maps[1], ranges),
                       c = getStrides(maps[2], ranges);
  SmallVector<Loop> loops;
  for (auto [i, extent] : llvm::enumerate(ranges))
    if (extent != 1)
      loops.push_back({extent, a[i], b[i], c[i]});
  // Outer loops first, so that those which continue each other stand side by side.
  llvm::sort(loops, [](const Loop &l, const Loop &r) {
    return std::max({l.a, l.b, l.c}) > std::max({r.a, r.b, r.c});
  });
  SmallVector<Loop> merged;
  for (const Loop &loop : loops) {
    auto outer = llvm::find_if(merged, [&](const Loop &outer) { return outer.isContinuedBy(loop); });
    if (outer == merged.end())
      merged.push_back(loop);
    else
      *outer = {outer->extent * loop.extent, loop.a, loop.b, loop.c};
  }
  return merged;
}

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
GemmAttr matchMatrix(MLIRContext *context, const Loop &m, const Loop &n, const Loop &k, bool accumulate,
                     ArrayRef<Loop> batch) {
  std::optional<Layout> a = getLayout(m.extent, k.extent, m.a, k.a);
  std::optional<Layout> b = getLayout(k.extent, n.extent, k.b, n.b);
  std::optional<Layout> c = getLayout(m.extent, n.extent, m.c, n.c);
  if (!a || !b || !c || c->transposed)
    return {};
  SmallVector<int64_t> strides;
  for (const Loop &loop : batch)
    strides.append({loop.extent, loop.a, loop.b, loop.c});
  return GemmAttr::get(context, m.extent, n.extent, k.extent, a->leading, b->leading, c->leading,
                       a->transposed, b->transposed, accumulate, strides);
}

/// The largest product that `loops` hold, the others as its batch. Absent loops have one iteration.
GemmAttr matchLoops(MLIRContext *context, ArrayRef<Loop> loops, bool accumulate) {
  const Loop once{1, 0, 0, 0};
  SmallVector<Loop> ms{once}, ns{once}, ks;
  for (const Loop &loop : loops) {
    if (loop.isM())
      ms.push_back(loop);
    else if (loop.isN())
      ns.push_back(loop);
    else if (loop.isK())
      ks.push_back(loop);
  }
  if (ks.size() > 1 || (ks.size() == 1 && (!ks[0].a || !ks[0].b)))
    return {};
  const Loop k = ks.empty() ? once : ks[0];
  GemmAttr best;
  for (const Loop &m : ms) {
    for (const Loop &n : ns) {
      SmallVector<Loop> batch;
      llvm::copy_if(loops, std::back_inserter(batch), [&](const Loop &loop) {
        return !loop.isK() && !(loop.isM() && loop.c == m.c) && !(loop.isN() && loop.c == n.c);
      });
      GemmAttr gemm = matchMatrix(context, m, n, k, accumulate, batch);
      if (gemm && (!best || gemm.getM() * gemm.getN() > best.getM() * best.getN()))
        best = gemm;
    }
  }
  return best;
}

/// Whether the op only multiplies and adds, in a type that the library knows, elements that its loops choose.
bool isPlainProduct(GenericOp op) {
  Type type = getElementTypeOrSelf(op.getResult(0));
  return op.getNumDpsInputs() == 2 && (type.isF32() || type.isF64()) &&
         op.getBody()->getOperations().size() == 3 && !llvm::is_contained(op.getStaticLoopRanges(), 0) &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) { return map.isProjectedPermutation(); });
}

void matchKernel(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto op = body.getTerminator()->getOperand(0).getDefiningOp<GenericOp>();
  if (!op || !isPlainProduct(op) || op.getInputs() != ValueRange(body.getArguments()).take_front(2))
    return;
  Value init = op.getDpsInits()[0];
  auto argument = dyn_cast<BlockArgument>(init);
  auto fill = dyn_cast_or_null<FloatAttr>(getFillValue(init));
  if (!argument && !(fill && fill.getValue().isZero()))
    return;
  GemmAttr gemm = matchLoops(kernel.getContext(), getLoops(op), /*accumulate=*/bool(argument));
  if (!gemm)
    return;
  kernel.setGemmAttr(gemm);
  int64_t products = 1;
  for (int64_t range : op.getStaticLoopRanges())
    products *= range;
  kernel.setFlops(2 * products);
  if (argument)
    kernel.setInPlace(ArrayRef<int32_t>{int32_t(argument.getArgNumber())});
}

struct MatchContractionsPass : epl::impl::MatchContractionsBase<MatchContractionsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (kernel.getKind() == KernelKind::contraction)
        matchKernel(kernel);
  }
};

} // namespace
