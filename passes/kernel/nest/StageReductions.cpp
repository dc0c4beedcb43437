//===- StageReductions.cpp - Reductions of a stage's innermost loop --------------===//
//
// Problem: a sum or a maximum along the innermost dimension must not wait for one lane after another.
//
// Method: a vector of accumulators, one for each lane of a step, carried by the loop; the lanes are combined
// once, behind the loop, with the init or with what memory holds. A maximum that must let NaN pass is two
// accumulators: select(new > old), one instruction but blind to NaN, and a sum that becomes NaN when it sees
// one. arith.maximumf itself is a chain of six instructions; of a GPU it is one.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/StageEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::epl;

Value mlir::epl::applyCombiner(ImplicitLocOpBuilder &b, Operation *combiner, Value lhs, Value rhs) {
  IRMapping mapping;
  mapping.map(combiner->getOperand(0), lhs);
  mapping.map(combiner->getOperand(1), rhs);
  Value combined = b.clone(*combiner, mapping)->getResult(0);
  combined.setType(lhs.getType());
  return combined;
}

// Whether the operation is a maximum in two parts, one of which is blind to NaN.
bool StageEmitter::isSplit(Operation *combiner) const {
  return !target.threads && isa<arith::MaximumFOp, arith::MinimumFOp>(combiner);
}

void StageEmitter::collectAccumulators() {
  if (!hasLanes())
    return;
  for (Root &root : stage.roots) {
    if (!root.reduction || !root.reduced.back() || !matchCombiner(root.reduction, 0) || isRowSum(root))
      continue;
    for (unsigned result = 0; result < root.values.size(); ++result) {
      Operation *combiner = matchCombiner(root.reduction, result);
      accumulators.push_back({&root, result, combiner, /*isNan=*/false});
      if (isSplit(combiner))
        accumulators.push_back({&root, result, combiner, /*isNan=*/true});
    }
  }
}

SmallVector<Value> StageEmitter::getIdentities() {
  return llvm::map_to_vector(accumulators, [&](auto &accumulator) { return getIdentity(accumulator); });
}

Value StageEmitter::getIdentity(const Accumulator &accumulator) {
  Type element = accumulator.combiner->getResult(0).getType();
  TypedAttr identity =
      accumulator.isNan ? b.getZeroAttr(element) : *arith::getNeutralElement(accumulator.combiner);
  return broadcast(getConstant(identity));
}

// Lane by lane; the order of additions is free.
Value StageEmitter::combine(Operation *combiner, Value lhs, Value rhs) {
  if (isSplit(combiner)) {
    bool isMax = isa<arith::MaximumFOp>(combiner);
    auto predicate = isMax ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
    Value better = arith::CmpFOp::create(b, predicate, rhs, lhs);
    return arith::SelectOp::create(b, better, rhs, lhs);
  }
  Value combined = applyCombiner(b, combiner, lhs, rhs);
  if (auto add = combined.getDefiningOp<arith::AddFOp>())
    add.setFastmath(arith::FastMathFlags::reassoc | arith::FastMathFlags::contract);
  return combined;
}

Value StageEmitter::accumulate(const Accumulator &accumulator, Value old, Value term) {
  term = broadcast(term);
  Value next;
  if (accumulator.isNan) {
    Value isNan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, term, term);
    next = arith::SelectOp::create(b, isNan, term, old);
  } else {
    next = combine(accumulator.combiner, old, term);
  }
  return mask ? arith::SelectOp::create(b, mask, next, old).getResult() : next;
}

// Combines the registers of an accumulator until it has `narrowed` lanes.
Value StageEmitter::narrow(const Accumulator &accumulator, Value wide, int64_t narrowed) {
  SmallVector<Value> pieces;
  for (int64_t lane = 0; lane < lanes; lane += narrowed) {
    int64_t offset[] = {lane}, size[] = {narrowed}, stride[] = {1};
    pieces.push_back(vector::ExtractStridedSliceOp::create(b, wide, offset, size, stride));
  }
  while (pieces.size() > 1) {
    SmallVector<Value> halves;
    for (size_t i = 0; i < pieces.size(); i += 2)
      halves.push_back(accumulator.isNan ? arith::AddFOp::create(b, pieces[i], pieces[i + 1]).getResult()
                                         : combine(accumulator.combiner, pieces[i], pieces[i + 1]));
    pieces = halves;
  }
  return pieces[0];
}

static vector::CombiningKind getCombiningKind(Operation *combiner) {
  using vector::CombiningKind;
  return llvm::TypeSwitch<Operation *, CombiningKind>(combiner)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return CombiningKind::ADD; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return CombiningKind::MUL; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>([](auto) { return CombiningKind::MAXNUMF; })
      .Case<arith::MinimumFOp, arith::MinNumFOp>([](auto) { return CombiningKind::MINNUMF; })
      .Case([](arith::MaxSIOp) { return CombiningKind::MAXSI; })
      .Case([](arith::MaxUIOp) { return CombiningKind::MAXUI; })
      .Case([](arith::MinSIOp) { return CombiningKind::MINSI; })
      .Case([](arith::MinUIOp) { return CombiningKind::MINUI; })
      .Case([](arith::AndIOp) { return CombiningKind::AND; })
      .Case([](arith::OrIOp) { return CombiningKind::OR; })
      .Case([](arith::XOrIOp) { return CombiningKind::XOR; });
}

// One value of the lanes of an accumulator.
Value StageEmitter::combineLanes(const Accumulator &accumulator, Value value) {
  if (target.threads)
    return combineThreads(accumulator.combiner, value);
  if (!isa<VectorType>(value.getType()))
    return value;
  auto kind = accumulator.isNan ? vector::CombiningKind::ADD : getCombiningKind(accumulator.combiner);
  auto flags =
      kind == vector::CombiningKind::ADD ? arith::FastMathFlags::reassoc : arith::FastMathFlags::none;
  if (isSplit(accumulator.combiner) && !accumulator.isNan)
    flags = arith::FastMathFlags::nnan | arith::FastMathFlags::nsz;
  return vector::ReductionOp::create(b, kind, value, flags);
}

void StageEmitter::finishReductions(ArrayRef<Value> accumulated) {
  Value result;
  for (auto [accumulator, last] : llvm::zip_equal(accumulators, accumulated)) {
    Root &root = *accumulator.root;
    b.setLoc(root.reduction.getLoc());
    Value value = combineLanes(accumulator, last);
    if (isSplit(accumulator.combiner) && !accumulator.isNan) {
      result = value; // its NaN follows
      continue;
    }
    if (accumulator.isNan)
      value = arith::AddFOp::create(b, result, value);
    const StridedAccess &access = root.stores[accumulator.result];
    int64_t savedLanes = std::exchange(lanes, 1);
    Value init = isReducedInRegisters(stage, root)
                     ? evaluate(root.inits[accumulator.result])
                     : load(root.values[accumulator.result], access, /*varies=*/false);
    store(applyCombiner(b, accumulator.combiner, init, value), root.values[accumulator.result], access);
    lanes = savedLanes;
  }
}

// What a reduction adds: its payload without the combiners, or all of it for accumulators in memory.
void StageEmitter::evaluateTerms(Root &root, SmallVector<Value> &terms, ArrayRef<Value> old) {
  IRMapping mapping = values.scalars;
  linalg::LinalgOp reduction = root.reduction;
  Block &payload = *reduction.getBlock();
  unsigned numInputs = reduction.getNumDpsInputs();
  for (auto [argument, ref] : llvm::zip_equal(payload.getArguments().take_front(numInputs), root.nodes))
    if (ref.node)
      mapping.map(argument, evaluate(ref));
  for (auto [argument, value] : llvm::zip(payload.getArguments().drop_front(numInputs), old))
    mapping.map(argument, value);
  auto isCombiner = [&](Operation &op) {
    return old.empty() && llvm::is_contained(op.getUsers(), payload.getTerminator());
  };
  for (Operation &op : payload.without_terminator())
    if (!isCombiner(op))
      evaluateOp(&op, mapping, root.loops);
  for (auto [result, yielded] : llvm::enumerate(payload.getTerminator()->getOperands())) {
    if (!old.empty()) {
      terms.push_back(mapping.lookupOrDefault(yielded));
      continue;
    }
    Operation *combiner = yielded.getDefiningOp();
    bool first = combiner->getOperand(0) == payload.getArgument(numInputs + result);
    terms.push_back(mapping.lookupOrDefault(combiner->getOperand(first ? 1 : 0)));
  }
}
