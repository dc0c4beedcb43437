//===- AttentionProducts.cpp - The products of attention and its gradient ------------===//
//
// Problem: the products around a softmax and its gradient are contractions of any order of dimensions, some
// of which no library of products takes, as they multiply f32 by 16 bits. Method: their loops
// (ContractionLoops.h) are told apart by the matrices of pairs of positions, which lie one behind the other:
// the loop over columns has stride 1 there, that over rows the extent of a row, and those over samples and
// heads larger ones. Where heads of q share one of k and v, the loop over these does not move the latter.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/match/AttentionProducts.h"

#include "passes/kernel/match/ContractionLoops.h"

using namespace mlir;
using namespace mlir::epl;

int64_t AttentionPairs::getNumElements() const {
  return std::accumulate(batch.begin(), batch.end(), rows * columns, std::multiplies<>());
}

/// Whether strides lead from one place to another and never back: 0 stands for the loop over a group alone,
/// if there is one and the tensor is of keys.
static bool goesForward(const AttentionLayout &layout, std::optional<unsigned> group) {
  auto isForward = [&](auto each) { return each.index() == group ? each.value() == 0 : each.value() > 0; };
  return layout.position > 0 && llvm::all_of(llvm::enumerate(layout.batch), isForward);
}

bool AttentionPairs::findHeads(ArrayRef<AttentionLayout> ofQueries, ArrayRef<AttentionLayout> ofKeys) {
  SmallVector<unsigned> others;
  for (unsigned loop = 0; loop < batch.size(); ++loop) {
    if (ofKeys.front().batch[loop] != 0)
      others.push_back(loop);
    else if (group)
      return false;
    else
      group = loop;
  }
  if (others.size() > 2 ||
      !llvm::all_of(ofQueries, [](const AttentionLayout &each) { return goesForward(each, std::nullopt); }) ||
      !llvm::all_of(ofKeys, [&](const AttentionLayout &each) { return goesForward(each, group); }))
    return false;
  // Where q and o have all heads along one stride, the heads of a group end where the next group begins. With
  // one loop beside that over a group each sample has one head of k and v.
  for (unsigned loop : llvm::reverse(others)) {
    bool isHead = !group || (others.size() == 2 && llvm::all_of(ofQueries, [&](const AttentionLayout &each) {
                               return each.batch[loop] == batch[*group] * each.batch[*group];
                             }));
    (isHead && !head ? head : sample) = loop;
  }
  return !group || others.size() < 2 || head;
}

std::optional<SmallVector<int64_t, 3>> AttentionPairs::getSteps(const AttentionLayout &layout,
                                                                bool isOfQueries) const {
  int64_t dense = (isOfQueries ? rows : columns) * layout.position;
  auto getStep = [&](std::optional<unsigned> loop) { return loop ? layout.batch[*loop] : dense; };
  if (isOfQueries && group && head && layout.batch[*head] != batch[*group] * layout.batch[*group])
    return std::nullopt;
  return SmallVector<int64_t, 3>{getStep(sample), getStep(isOfQueries && group ? group : head),
                                 layout.position};
}

namespace {

/// A loop by its strides in the matrices of pairs and in two other tensors.
struct PairsLoop {
  int64_t extent, pairs, x, y;
};

/// Loops over the matrices, rows, columns, and elements of positions.
struct PairsLoops {
  SmallVector<PairsLoop, 3> batch;
  PairsLoop row, column, element;
};

/// Loops over matrices, and their rows, as these have them, where a product has some as one.
SmallVector<PairsLoop> splitLoops(ArrayRef<PairsLoop> loops, const AttentionPairs &pairs) {
  SmallVector<int64_t> extents(pairs.batch.begin(), pairs.batch.end());
  extents.push_back(pairs.rows);
  SmallVector<PairsLoop> made;
  for (PairsLoop loop : loops) {
    int64_t stride = pairs.columns;
    for (int64_t extent : llvm::reverse(extents)) {
      if (loop.pairs == stride && loop.extent > extent && loop.extent % extent == 0) {
        made.push_back({extent, loop.pairs, loop.x, loop.y});
        loop = {loop.extent / extent, loop.pairs * extent, loop.x * extent, loop.y * extent};
      }
      stride *= extent;
    }
    made.push_back(loop);
  }
  return made;
}

/// Needs more than one row, column and element: others have no loops. Which tensor has the rows and which the
/// columns is for the caller to say, and which strides may be 0.
std::optional<PairsLoops> sortLoops(ArrayRef<PairsLoop> merged, const AttentionPairs &pairs) {
  PairsLoops found{};
  SmallVector<PairsLoop> loops = splitLoops(merged, pairs);
  llvm::sort(loops, [](const PairsLoop &l, const PairsLoop &r) { return l.pairs > r.pairs; });
  int64_t next = pairs.getNumElements();
  auto isBatch = [&](const PairsLoop &loop) { return loop.pairs >= pairs.rows * pairs.columns; };
  for (const PairsLoop &loop : llvm::make_filter_range(loops, isBatch)) {
    size_t number = found.batch.size();
    if (number >= pairs.batch.size() || loop.extent != pairs.batch[number] ||
        loop.pairs * loop.extent != next)
      return std::nullopt;
    next = loop.pairs;
    found.batch.push_back(loop);
  }
  ArrayRef<PairsLoop> rest = ArrayRef(loops).drop_front(found.batch.size());
  if (found.batch.size() != pairs.batch.size() || rest.size() != 3)
    return std::nullopt;
  found.row = rest[0], found.column = rest[1], found.element = rest[2];
  bool fits = found.row.pairs == pairs.columns && found.row.extent == pairs.rows && found.column.pairs == 1 &&
              found.column.extent == pairs.columns && found.element.pairs == 0 && found.element.x == 1 &&
              found.element.y == 1;
  return fits ? std::optional(found) : std::nullopt;
}

/// What a kernel multiplies, if it does only that, from zero on and from the first elements on.
std::optional<StridedContraction> matchProduct(KernelOp kernel) {
  std::optional<ContractionParts> matched = matchContraction(kernel);
  if (!matched || matched->parts.size() != 1 || !matched->coversResult || kernel.getEpilogue() ||
      kernel.getAttention())
    return std::nullopt;
  const StridedContraction &found = matched->parts.front();
  auto fill = dyn_cast_or_null<FloatAttr>(found.fill);
  bool isPlain = !found.init && fill && fill.getValue().isZero() && !found.isLogical && found.offsetA == 0 &&
                 found.offsetB == 0 && found.offsetC == 0 && found.a != found.b &&
                 kernel.getBody().front().getNumArguments() == 2;
  return isPlain ? std::optional(found) : std::nullopt;
}

AttentionLayout getLayout(const PairsLoops &loops, int64_t PairsLoop::*stride, const PairsLoop &position) {
  AttentionLayout layout{{}, position.*stride};
  for (const PairsLoop &loop : loops.batch)
    layout.batch.push_back(loop.*stride);
  return layout;
}

} // namespace

std::optional<PairsProduct> mlir::epl::matchPairsProduct(KernelOp kernel, unsigned matrices,
                                                         const AttentionPairs &pairs) {
  std::optional<StridedContraction> product = matchProduct(kernel);
  if (!product)
    return std::nullopt;
  bool isFirst = product->a == matrices;
  SmallVector<PairsLoop> own;
  for (const ContractionLoop &loop : product->loops)
    own.push_back({loop.extent, isFirst ? loop.a : loop.b, isFirst ? loop.b : loop.a, loop.c});
  std::optional<PairsLoops> loops = sortLoops(own, pairs);
  if (!loops)
    return std::nullopt;
  // x is the tensor, y the result: one has rows, the other one columns.
  bool isTransposed = loops->row.x != 0;
  const PairsLoop &summed = isTransposed ? loops->row : loops->column,
                  &kept = isTransposed ? loops->column : loops->row;
  PairsProduct found{isFirst ? product->b : product->a, isTransposed, loops->element.extent,
                     getLayout(*loops, &PairsLoop::x, summed), getLayout(*loops, &PairsLoop::y, kept)};
  auto getGroup = [&](bool isOfQueries) { return isOfQueries ? std::nullopt : pairs.group; };
  bool fits = !summed.y && !kept.x && goesForward(found.of, getGroup(isTransposed)) &&
              (goesForward(found.made, getGroup(!isTransposed)) ||
               (isTransposed && goesForward(found.made, std::nullopt))); // for each head of a group
  return fits ? std::optional(found) : std::nullopt;
}

std::optional<PairsOf> mlir::epl::matchPairsOf(KernelOp kernel, const AttentionPairs &pairs) {
  std::optional<StridedContraction> product = matchProduct(kernel);
  if (!product)
    return std::nullopt;
  SmallVector<PairsLoop> own;
  for (const ContractionLoop &loop : product->loops)
    own.push_back({loop.extent, loop.c, loop.a, loop.b});
  std::optional<PairsLoops> loops = sortLoops(own, pairs);
  if (!loops)
    return std::nullopt;
  bool isSwapped = !loops->row.x;
  auto first = &PairsLoop::x, second = &PairsLoop::y;
  if (isSwapped)
    std::swap(first, second);
  PairsOf found{isSwapped ? product->b : product->a, isSwapped ? product->a : product->b,
                loops->element.extent, getLayout(*loops, first, loops->row),
                getLayout(*loops, second, loops->column)};
  bool fits = !(loops->row.*second) && !(loops->column.*first) && goesForward(found.ofX, std::nullopt) &&
              goesForward(found.ofY, pairs.group);
  return fits ? std::optional(found) : std::nullopt;
}
