//===- ContractionTiling.cpp - How a contraction is cut into tiles ---------------===//
//
// Problem: a contraction reads each element many times; speed is how many multiplications a load serves, and
// how near what is loaded lies.
//
// Method: one parallel loop runs along the lanes of vectors. The operand that it walks, and the result, are
// copied first if they are not contiguous along it, which is cheap where the copy serves many products.
// Another parallel loop, which that operand does not have, makes the rows of a tile of registers. Innermost
// run as many reductions as keep the vectors of a tile in the second-level cache; other reductions add to
// sums in memory, of a part of the result that stays in that cache too.
//
// Reference: Goto, van de Geijn, "Anatomy of high-performance matrix multiplication", 2008; Georganas et al.,
// "Anatomy of high-performance deep learning convolutions on SIMD architectures", 2018.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/ContractionTiling.h"

#include <functional>

using namespace mlir;
using namespace mlir::epl;

// Elements that the vectors of a tile and a part of the result may take of a second-level cache.
static constexpr int64_t kCachedElements = int64_t(1) << 15;
static constexpr int64_t kMaxRows = 14;
// What copying an element costs, and a step of vectors that serve one row only, in steps of vectors.
static constexpr double kCopyCost = 4, kLoneRowCost = 2;

//===----------------------------------------------------------------------===//
// The loop along the lanes
//===----------------------------------------------------------------------===//

namespace {

// A loop along the lanes, and whether a and b change places first.
struct VectorChoice {
  size_t loop;
  bool swap;
};

} // namespace

static void swapOperands(StridedContraction &contraction) {
  std::swap(contraction.a, contraction.b);
  std::swap(contraction.elementA, contraction.elementB);
  std::swap(contraction.offsetA, contraction.offsetB);
  for (ContractionLoop &loop : contraction.loops)
    std::swap(loop.a, loop.b);
}

// Steps of vectors, about, with loop `v` along their lanes; nothing if it cannot be.
static std::optional<double> getCost(const StridedContraction &contraction, size_t v, int64_t lanes) {
  ArrayRef<ContractionLoop> loops = contraction.loops;
  const ContractionLoop &vector = loops[v];
  bool walksOther = vector.a != 0 && vector.a != 1;
  if (vector.isReduction() || !vector.b || walksOther || (vector.c != 1 && contraction.init))
    return std::nullopt;
  double steps = double(getVolume(loops)) / vector.extent * llvm::divideCeil(vector.extent, lanes);
  if (llvm::none_of(loops, std::mem_fn(&ContractionLoop::isM)))
    steps *= kLoneRowCost;
  if (vector.b != 1)
    steps += kCopyCost * getVolume(loops, &ContractionLoop::b);
  if (vector.c != 1)
    steps += kCopyCost * getVolume(loops, &ContractionLoop::c);
  return steps;
}

// The cheapest loop along the lanes. Nothing if plain loops would be about as good.
static std::optional<VectorChoice> chooseVector(StridedContraction contraction, int64_t lanes) {
  std::optional<VectorChoice> best;
  double least = double(getVolume(contraction.loops)) / 2;
  for (bool swap : {false, true}) {
    for (size_t v = 0; v < contraction.loops.size(); ++v)
      if (std::optional<double> cost = getCost(contraction, v, lanes); cost && *cost < least) {
        best = VectorChoice{v, swap};
        least = *cost;
      }
    swapOperands(contraction);
  }
  return best;
}

// Copies the operand with strides `stride` to where loop `v` is contiguous.
static Packing pack(SmallVector<ContractionLoop> &loops, size_t v, int64_t ContractionLoop::*stride) {
  Packing packing{{}, 1};
  auto add = [&](ContractionLoop &loop) {
    if (loop.*stride == 0)
      return;
    packing.dims.push_back({loop.extent, loop.*stride, packing.size});
    loop.*stride = packing.size;
    packing.size *= loop.extent;
  };
  add(loops[v]);
  for (size_t l = loops.size(); l-- > 0;)
    if (l != v)
      add(loops[l]);
  std::reverse(packing.dims.begin(), packing.dims.end());
  return packing;
}

//===----------------------------------------------------------------------===//
// Rows, registers, caches
//===----------------------------------------------------------------------===//

// Takes the element out of `loops` that `best` prefers among those that `fits`.
static std::optional<ContractionLoop>
takeLoop(SmallVector<ContractionLoop> &loops, function_ref<bool(const ContractionLoop &)> fits,
         function_ref<bool(const ContractionLoop &, const ContractionLoop &)> isBetter) {
  const ContractionLoop *best = nullptr;
  for (const ContractionLoop &loop : loops)
    if (fits(loop) && (!best || isBetter(loop, *best)))
      best = &loop;
  if (!best)
    return std::nullopt;
  ContractionLoop taken = *best;
  loops.erase(loops.begin() + (best - loops.begin()));
  return taken;
}

// The rows of a tile of `vectors` vectors: accumulators, the vectors of b and one of a fill the registers.
static int64_t getMostRows(int64_t vectors, int64_t registers) {
  return std::min(kMaxRows, (registers - vectors - 1) / vectors);
}

// As many vectors a tile as give the most products for a load, rows being cut evenly.
static int64_t chooseVectors(int64_t rows, int64_t allVectors, int64_t registers) {
  int64_t best = 1;
  double most = 0;
  for (int64_t vectors = 1; vectors <= std::min<int64_t>(allVectors, 4); ++vectors) {
    int64_t height = llvm::divideCeil(rows, llvm::divideCeil(rows, getMostRows(vectors, registers)));
    // The last tile of a row may be narrower.
    double width = double(allVectors) / llvm::divideCeil(allVectors, vectors);
    double gain = height * width / (height + 2 * width);
    if (gain > most) {
      most = gain;
      best = vectors;
    }
  }
  return best;
}

static void chooseRows(ContractionTiling &tiling, SmallVector<ContractionLoop> &loops, int64_t registers) {
  auto isBetter = [](const ContractionLoop &l, const ContractionLoop &r) {
    int64_t rowsL = std::min(l.extent, kMaxRows), rowsR = std::min(r.extent, kMaxRows);
    return rowsL != rowsR ? rowsL > rowsR : std::abs(l.a) < std::abs(r.a);
  };
  tiling.rows =
      takeLoop(loops, std::mem_fn(&ContractionLoop::isM), isBetter).value_or(ContractionLoop{1, 0, 0, 0});
  int64_t allVectors = llvm::divideCeil(tiling.vector.extent, tiling.lanes);
  tiling.vectors = chooseVectors(tiling.rows.extent, allVectors, registers);
  int64_t most = getMostRows(tiling.vectors, registers);
  tiling.rowsPerTile = llvm::divideCeil(tiling.rows.extent, llvm::divideCeil(tiling.rows.extent, most));
  int64_t rows = tiling.rowsPerTile;
  auto fits = [&](const ContractionLoop &loop) { return loop.isM() && rows * loop.extent <= most; };
  while (std::optional<ContractionLoop> whole = takeLoop(loops, fits, isBetter)) {
    tiling.wholeRows.push_back(*whole);
    rows *= whole->extent;
  }
}

// Reductions from the innermost on stay in registers while the vectors of a tile that they read stay cached.
static void chooseSums(ContractionTiling &tiling, ArrayRef<ContractionLoop> loops) {
  int64_t elements = tiling.vectors * tiling.lanes;
  for (const ContractionLoop &loop : llvm::reverse(loops)) {
    if (!loop.isReduction())
      continue;
    elements *= loop.b ? loop.extent : 1;
    bool cached = tiling.sums.empty() && (tiling.registerSums.empty() || elements <= kCachedElements);
    auto &sums = cached ? tiling.registerSums : tiling.sums;
    sums.insert(sums.begin(), loop);
  }
}

// Parallel loops that the vectors do not depend on go outside of sums in memory until these stay cached.
static void orderParallel(ContractionTiling &tiling, ArrayRef<ContractionLoop> loops) {
  SmallVector<ContractionLoop> parallel;
  llvm::copy_if(loops, std::back_inserter(parallel), [](auto &loop) { return !loop.isReduction(); });
  llvm::sort(parallel, [](auto &l, auto &r) { return l.c > r.c; });
  int64_t part =
      getVolume(parallel) * getVolume(tiling.wholeRows) * tiling.rows.extent * tiling.vectors * tiling.lanes;
  for (const ContractionLoop &loop : parallel) {
    bool outside = !tiling.sums.empty() && !loop.b && part > kCachedElements;
    (outside ? tiling.outer : tiling.inner).push_back(loop);
    part /= outside ? loop.extent : 1;
  }
}

static bool isVectorType(const StridedContraction &contraction) {
  Type type = contraction.getSumType();
  bool isWhole = type.isInteger() && type.getIntOrFloatBitWidth() >= 8 && !contraction.isLogical;
  return type.isF32() || type.isF64() || isWhole;
}

std::optional<ContractionTiling> mlir::epl::tileContraction(StridedContraction contraction,
                                                            unsigned vectorBits) {
  if (!isVectorType(contraction))
    return std::nullopt;
  int64_t lanes = vectorBits / contraction.getSumType().getIntOrFloatBitWidth(),
          registers = vectorBits == 512 ? 32 : 16;
  std::optional<VectorChoice> choice = chooseVector(contraction, lanes);
  if (!choice)
    return std::nullopt;
  if (choice->swap)
    swapOperands(contraction);
  size_t v = choice->loop;
  SmallVector<ContractionLoop> loops = contraction.loops;
  ContractionTiling tiling{contraction, {}, {}, lanes, 1, {}, {}, 1, {}, {}, {}, {}, {}};
  if (loops[v].b != 1)
    tiling.packB = pack(loops, v, &ContractionLoop::b);
  if (loops[v].c != 1)
    tiling.packC = pack(loops, v, &ContractionLoop::c);
  tiling.vector = loops[v];
  loops.erase(loops.begin() + v);
  loops = mergeLoops(std::move(loops));
  chooseRows(tiling, loops, registers);
  chooseSums(tiling, loops);
  orderParallel(tiling, loops);
  return tiling;
}

std::optional<TiledContraction> mlir::epl::tileParts(const ContractionParts &contraction,
                                                     unsigned vectorBits) {
  TiledContraction tiled{{}, contraction.coversResult};
  for (const StridedContraction &part : contraction.parts) {
    std::optional<ContractionTiling> tiling = tileContraction(part, vectorBits);
    if (!tiling)
      return std::nullopt;
    tiled.parts.push_back(*std::move(tiling));
  }
  return tiled;
}
