//===- Checkpoints.cpp - Which values are kept where the rest is computed again --===//
//
// Problem: cut the forward work of a task graph where little crosses, into parts whose gradients read little.
// Method: ops that depend on the batch have a place in a line, that of the program; one that only gradients
//   read (a factor of a derivative) has the place of what it is made of, since it is computed again with
//   that. For a bound on what the gradient of a part reads, dynamic programming finds the cuts that keep
//   least. The total of both is least for one of several bounds, each a tenth less than the one before.
// Reference: Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016; the search of EPL's "auto".
//
//===----------------------------------------------------------------------===//

#include "passes/shard/prepare/Checkpoints.h"

#include "dialect/Bytes.h"
#include "passes/shard/analysis/Rules.h"

#include <numeric>

using namespace mlir;
using namespace mlir::epl;

/// How many cuts are looked at, at most: the search takes time by their product with the ops.
static constexpr size_t kMaxCandidates = 1000;

namespace {
/// A value of a place that ops of later places read.
struct Crossing {
  Value value;
  int64_t bytes;
  int64_t lastRead; ///< the place of its last reader
};

/// What is kept for the cuts before a place, at least, and the cut before that.
struct Best {
  int64_t bytes = std::numeric_limits<int64_t>::max();
  int64_t before = -1;
  bool isPossible() const { return bytes != std::numeric_limits<int64_t>::max(); }
};

/// The ops of a forward work in a line.
class Chain {
public:
  explicit Chain(const ForwardWork &work);
  Checkpoints choose() const;

private:
  void findTrunk();
  void findPlaces();
  void measure();
  void findCandidates();
  bool isExit(Operation *op) const;
  bool isOwn(Value value) const { return index.contains(value.getDefiningOp()); }
  SmallVector<Value> getOwnOperands(Operation *op) const;
  int64_t findPlace(Operation *op) const;
  int64_t getSaved(int64_t before, int64_t last) const { return savedUpTo[last + 1] - savedUpTo[before + 1]; }
  SmallVector<int64_t> findCuts(int64_t bound, int64_t &total) const;
  Best findBest(int64_t cut, int64_t bound, ArrayRef<Best> bests) const;

  const ForwardWork &work;
  SmallVector<Operation *> ops; ///< that depend on the batch
  DenseMap<Operation *, int64_t> index;
  DenseSet<Operation *> trunk; ///< ops that the results of the forward work are made of
  DenseMap<Operation *, int64_t> place;
  SmallVector<SmallVector<Crossing>> crossings; ///< by place
  SmallVector<int64_t> savedUpTo;               ///< bytes that the backward work reads, of all places before
  SmallVector<bool> isCandidate; ///< whether a cut behind a place is at one of the narrowest places
};
} // namespace

Chain::Chain(const ForwardWork &work) : work(work) {
  for (Operation *op : work.getOps())
    if (llvm::any_of(op->getResults(), [&](Value result) { return work.isOfBatch(result); })) {
      index[op] = ops.size();
      ops.push_back(op);
    }
  findTrunk();
  findPlaces();
  measure();
  findCandidates();
}

SmallVector<Value> Chain::getOwnOperands(Operation *op) const {
  return llvm::filter_to_vector(getUsedValues(op), [&](Value value) { return isOwn(value); });
}

/// Whether something reads the op that is neither part of the work nor of its gradient.
bool Chain::isExit(Operation *op) const {
  return llvm::any_of(op->getUses(), [&](OpOperand &use) {
    Operation *user = getBlockUser(use);
    std::optional<WorkKind> kind = getWorkKind(user);
    return !kind || kind == WorkKind::apply || (kind == WorkKind::forward && !work.contains(user));
  });
}

/// A step need not return its loss: the deepest op is one of the results in any case.
void Chain::findTrunk() {
  SmallVector<int64_t> depths;
  for (Operation *op : ops) {
    int64_t depth = 0;
    for (Value value : getOwnOperands(op))
      depth = std::max(depth, depths[index.lookup(value.getDefiningOp())] + 1);
    depths.push_back(depth);
  }
  int64_t deepest = depths.empty() ? 0 : *llvm::max_element(depths);
  for (auto [op, depth] : llvm::reverse(llvm::zip_equal(ops, depths))) {
    bool isRead =
        llvm::any_of(op->getUses(), [&](OpOperand &use) { return trunk.contains(getBlockUser(use)); });
    if (isRead || depth == deepest || isExit(op))
      trunk.insert(op);
  }
}

/// The place of an op whose operands have theirs.
int64_t Chain::findPlace(Operation *op) const {
  SmallVector<Value> operands = getOwnOperands(op);
  if (trunk.contains(op) || operands.empty())
    return index.lookup(op);
  int64_t last = 0;
  for (Value value : operands)
    last = std::max(last, place.lookup(value.getDefiningOp()));
  return last;
}

/// What depends on no batch (a random mask) is made where it is read first.
void Chain::findPlaces() {
  for (Operation *op : ops)
    place[op] = findPlace(op);
  for (Operation *op : llvm::reverse(work.getOps())) {
    if (index.contains(op))
      continue;
    int64_t first = ops.size();
    for (OpOperand &use : op->getUses())
      if (auto user = place.find(getBlockUser(use)); user != place.end())
        first = std::min(first, user->second);
    place[op] = std::min<int64_t>(first, int64_t(ops.size()) - 1);
  }
}

void Chain::measure() {
  crossings.resize(ops.size());
  SmallVector<int64_t> saved(ops.size(), 0);
  for (Operation *op : work.getOps())
    for (Value value : op->getResults()) {
      if (ops.empty() || work.isKept(value) || !isa<RankedTensorType>(value.getType()))
        continue;
      int64_t own = place.lookup(op), last = own;
      for (OpOperand &use : value.getUses())
        if (auto user = place.find(getBlockUser(use)); user != place.end())
          last = std::max(last, user->second);
      if (work.isOfBatch(value) && last > own)
        crossings[own].push_back({value, getBytes(value), last});
      if (!work.getReaders(value).empty())
        saved[own] += getBytes(value);
    }
  savedUpTo.push_back(0);
  for (int64_t bytes : saved)
    savedUpTo.push_back(savedUpTo.back() + bytes);
}

/// A cut is worth a look where no neighbour is narrower. Of a long line the narrowest in each of
/// kMaxCandidates stretches are looked at.
void Chain::findCandidates() {
  SmallVector<int64_t> widths(ops.size() + 1, 0);
  for (auto [own, values] : llvm::enumerate(crossings))
    for (const Crossing &crossing : values) {
      widths[own] += crossing.bytes;
      widths[crossing.lastRead] -= crossing.bytes;
    }
  std::partial_sum(widths.begin(), widths.end(), widths.begin());
  auto isNarrow = [&](size_t i) {
    return widths[i] > 0 && (i == 0 || widths[i] <= widths[i - 1]) && widths[i] <= widths[i + 1];
  };
  isCandidate.assign(ops.size(), false);
  size_t stretch = ops.size() / kMaxCandidates + 1;
  for (size_t begin = 0; begin + 1 < ops.size(); begin += stretch) {
    std::optional<size_t> narrowest;
    for (size_t i = begin; i < std::min(begin + stretch, ops.size() - 1); ++i)
      if (isNarrow(i) && (!narrowest || widths[i] < widths[*narrowest]))
        narrowest = i;
    if (narrowest)
      isCandidate[*narrowest] = true;
  }
}

/// The least that is kept for a cut behind place `cut` and those before it. A value that crosses the cut
/// before as well is kept for that.
Best Chain::findBest(int64_t cut, int64_t bound, ArrayRef<Best> bests) const {
  Best best;
  int64_t bytes = 0;
  for (int64_t before = cut - 1; before >= -1 && getSaved(before, cut) <= bound; --before) {
    for (const Crossing &crossing : crossings[before + 1])
      bytes += crossing.lastRead > cut ? crossing.bytes : 0;
    if (before >= 0 && !bests[before].isPossible())
      continue;
    int64_t sum = bytes + (before >= 0 ? bests[before].bytes : 0);
    if (sum <= best.bytes) // of equal ones that with the longest last part, which is not done again
      best = {sum, before};
  }
  return best;
}

/// The cuts that keep least, where no part's gradient reads more than `bound`, and what is there at a time.
SmallVector<int64_t> Chain::findCuts(int64_t bound, int64_t &total) const {
  int64_t end = int64_t(ops.size()) - 1;
  SmallVector<Best> bests(ops.size());
  for (int64_t cut = 0; cut < end; ++cut)
    if (isCandidate[cut])
      bests[cut] = findBest(cut, bound, bests);
  Best best = findBest(end, bound, bests);
  total = std::numeric_limits<int64_t>::max();
  SmallVector<int64_t> cuts;
  if (!best.isPossible())
    return cuts;
  int64_t largest = 0, last = end;
  for (int64_t cut = best.before;; cut = bests[cut].before) {
    largest = std::max(largest, getSaved(cut, last));
    last = cut;
    if (cut < 0)
      break;
    cuts.push_back(cut);
  }
  std::reverse(cuts.begin(), cuts.end());
  total = best.bytes + largest;
  return cuts;
}

Checkpoints Chain::choose() const {
  Checkpoints chosen;
  if (ops.empty())
    return chosen;
  int64_t all = savedUpTo.back(), least = all;
  SmallVector<int64_t> cuts;
  for (int64_t bound = all - all / 10; bound > 0 && bound >= all / int64_t(ops.size());
       bound -= (bound + 9) / 10) {
    int64_t total;
    SmallVector<int64_t> found = findCuts(bound, total);
    if (total >= least)
      continue;
    least = total;
    cuts = std::move(found);
  }
  for (auto [number, cut] : llvm::enumerate(cuts))
    for (int64_t own = 0; own <= cut; ++own)
      for (const Crossing &crossing : crossings[own])
        if (crossing.lastRead > cut)
          chosen.try_emplace(crossing.value, number);
  return chosen;
}

Checkpoints mlir::epl::chooseCheckpoints(const ForwardWork &work) { return Chain(work).choose(); }
