//===- Phases.cpp - Loops over what has zeros between its elements ---------------===//
//
// Problem: the gradients of a convolution with stride s are convolutions that read a tensor with s - 1 zeros
// between its elements: s times the products that are needed, for each dimension.
//
// Method: where the position `p` of the result and the tap `k` read `a * p + b * k + c`, and zero unless that
// is a multiple of s, each phase `p = r, r + s, r + 2s, ...` meets elements at its own taps only: the first
// one that solves the congruence, then every s / gcd(b, s)-th. Neighbouring phases of equal extents whose
// first taps are evenly spaced become one more loop: if no windows overlap, there is one such run of phases
// in all.
//
// Invariant in: multiples of the modulus that the nest meets are elements. Invariant out: no gaps.
// Reference: Dumoulin, Visin, "A guide to convolution arithmetic for deep learning", 2016, section 4.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/match/Phases.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::epl;

using Gap = StridedNest::Gap;

// What compile time is worth: nests of one kernel, and phases that are looked at.
static constexpr size_t kMostNests = 64;
static constexpr int64_t kMostModulus = 4096;

namespace {

// `count` neighbouring phases. Of the first one the first position, how many it has, the first of its taps
// and how many; each phase's first tap is `tapShift` behind the one of the phase before.
struct PhaseRun {
  int64_t count, position, positions, tap, taps, tapShift;
};

// The two loops that a gap depends on: along positions of the result, and along taps.
struct GapLoops {
  size_t position, tap;
};

} // namespace

//===----------------------------------------------------------------------===//
// Phases of one gap
//===----------------------------------------------------------------------===//

// Taps that one phase meets are that far from each other.
static int64_t getTapStep(const Gap &gap, GapLoops loops) {
  return gap.modulus / std::gcd(gap.position.strides[loops.tap], gap.modulus);
}

// The phase of which `position` is the first one.
static PhaseRun getPhase(const StridedNest &nest, const Gap &gap, GapLoops loops, int64_t position) {
  const StridedAccess &at = gap.position;
  int64_t step = getTapStep(gap, loops), taps = nest.extents[loops.tap];
  PhaseRun phase{1, position, 0, 0, 0, 0};
  phase.positions = llvm::divideCeil(nest.extents[loops.position] - position, gap.modulus);
  int64_t first = at.offset + position * at.strides[loops.position];
  for (int64_t tap = 0; tap < std::min(step, taps); ++tap)
    if ((first + tap * at.strides[loops.tap]) % gap.modulus == 0) {
      phase.tap = tap;
      phase.taps = llvm::divideCeil(taps - tap, step);
      break;
    }
  return phase;
}

static SmallVector<PhaseRun> getPhases(const StridedNest &nest, const Gap &gap, GapLoops loops) {
  SmallVector<PhaseRun> runs;
  for (int64_t r = 0; r < std::min(gap.modulus, nest.extents[loops.position]); ++r) {
    PhaseRun phase = getPhase(nest, gap, loops, r);
    PhaseRun *last = runs.empty() ? nullptr : &runs.back();
    int64_t shift = last ? phase.tap - last->tap - (last->count - 1) * last->tapShift : 0;
    bool continues = last && last->positions == phase.positions && last->taps == phase.taps &&
                     (last->count == 1 || last->tapShift == shift);
    if (continues)
      *last = {last->count + 1, last->position, last->positions, last->tap, last->taps, shift};
    else
      runs.push_back(phase);
  }
  return runs;
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

// What `access` is if each of its loops is `loops[d]` of others.
static StridedAccess compose(const StridedAccess &access, ArrayRef<StridedAccess> loops) {
  StridedAccess composed = StridedAccess::constant(access.offset, loops.front().strides.size());
  for (auto [stride, loop] : llvm::zip_equal(access.strides, loops))
    composed = composed + loop * stride;
  return composed;
}

// A loop that nothing depends on.
static size_t addLoop(StridedNest &nest) {
  nest.extents.push_back(1);
  for (StridedAccess &access : nest.accesses)
    access.strides.push_back(0);
  for (Gap &gap : nest.gaps)
    gap.position.strides.push_back(0);
  return nest.extents.size() - 1;
}

// The loops that the last gap depends on; those that it lacks are added.
static std::optional<GapLoops> findLoops(StridedNest &nest) {
  std::optional<size_t> position, tap;
  for (size_t loop = 0; loop < nest.extents.size(); ++loop) {
    if (nest.gaps.back().position.strides[loop] == 0)
      continue;
    std::optional<size_t> &found = nest.accesses.back().strides[loop] != 0 ? position : tap;
    if (found)
      return std::nullopt;
    found = loop;
  }
  size_t added = position && tap ? 0 : addLoop(nest);
  return GapLoops{position.value_or(added), tap.value_or(added)};
}

// The nest of a run of phases, without the gap.
static StridedNest enterPhases(const StridedNest &nest, const Gap &gap, GapLoops loops, const PhaseRun &run) {
  size_t rank = nest.extents.size() + 1;
  SmallVector<StridedAccess> old;
  for (size_t loop = 0; loop + 1 < rank; ++loop)
    old.push_back(StridedAccess::along(loop, rank));
  StridedAccess phase =
      run.count > 1 ? StridedAccess::along(rank - 1, rank) : StridedAccess::constant(0, rank);
  int64_t step = getTapStep(gap, loops);
  old[loops.tap] = old[loops.tap] * step + phase * run.tapShift + StridedAccess::constant(run.tap, rank);
  old[loops.position] =
      old[loops.position] * gap.modulus + phase + StridedAccess::constant(run.position, rank);

  StridedNest entered;
  entered.extents = nest.extents;
  entered.extents.push_back(run.count);
  entered.extents[loops.position] = run.positions;
  entered.extents[loops.tap] = run.taps;
  for (const StridedAccess &access : nest.accesses)
    entered.accesses.push_back(compose(access, old));
  for (const Gap &other : nest.gaps)
    entered.gaps.push_back({other.access, compose(other.position, old), other.modulus, other.stride});
  StridedAccess element = compose(gap.position, old);
  element.offset /= gap.modulus;
  for (int64_t &stride : element.strides)
    stride /= gap.modulus;
  entered.accesses[gap.access] = entered.accesses[gap.access] + element * gap.stride;
  return entered;
}

// Adds the nests of `nest` without gaps; false if that cannot be.
static bool addNests(StridedNest nest, PhasedNests &phased) {
  if (nest.gaps.empty()) {
    phased.nests.push_back(std::move(nest));
    return phased.nests.size() <= kMostNests;
  }
  std::optional<GapLoops> loops = findLoops(nest);
  Gap gap = nest.gaps.pop_back_val();
  if (!loops || gap.modulus > kMostModulus)
    return false;
  for (const PhaseRun &run : getPhases(nest, gap, *loops)) {
    if (run.taps == 0)
      phased.coversResult = false;
    else if (!addNests(enterPhases(nest, gap, *loops, run), phased))
      return false;
  }
  return true;
}

std::optional<PhasedNests> mlir::epl::skipGaps(const StridedNest &nest) {
  PhasedNests phased;
  if (!addNests(nest, phased))
    return std::nullopt;
  return phased;
}
