//===- ElementContraction.cpp - Contractions element by element ------------------===//
//
// Problem: a contraction that no library takes is to run on as many threads as its result has elements.
//
// Method: each element of the result is computed by itself. Which iterations of the parallel loops it is of
// follows from its linear index, by the strides of these loops in the result, largest first: a loop's
// iteration is the quotient, and the remainder is for the loops inside. Where a part of a contraction does
// not have the element, a quotient is beyond its loop, or something remains. Sums of narrow floats are
// rounded once.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/ElementContraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::epl;

namespace {

// A linear index in each operand.
struct Place {
  Value a, b;
};

class SumEmitter {
public:
  SumEmitter(const StridedContraction &contraction, KernelFunction &function)
      : contraction(contraction), function(function), b(function.getBuilder()),
        sumType(contraction.getSumType()) {}

  Value emitStart(Value element);
  // `sum` and what the contraction adds to the element, which it has unless `mayMiss`.
  Value emit(Value element, Value sum, bool mayMiss);
  void store(Value sum, Value element);

private:
  Place findPlace(Value element, Value &isHere);
  Value emitSums(ArrayRef<ContractionLoop> loops, Place at, Value sum);
  Value emitProduct(Place at, Value sum);
  Value load(unsigned argument, Value index, Type type);
  Value advance(Value index, Value iteration, int64_t stride);

  const StridedContraction &contraction;
  KernelFunction &function;
  ImplicitLocOpBuilder &b;
  Type sumType;
};

} // namespace

Value SumEmitter::load(unsigned argument, Value index, Type type) {
  Value loaded = loadElement(b, function.getInput(argument), index, type);
  return type == sumType ? loaded : arith::ExtFOp::create(b, sumType, loaded);
}

Value SumEmitter::advance(Value index, Value iteration, int64_t stride) {
  if (stride == 0)
    return index;
  Value distance = arith::MulIOp::create(b, iteration, function.getIndex(stride));
  return arith::AddIOp::create(b, index, distance);
}

Value SumEmitter::emitStart(Value element) {
  if (contraction.init)
    return load(*contraction.init, element, contraction.element);
  Value fill = arith::ConstantOp::create(b, contraction.fill);
  return contraction.element == sumType ? fill : arith::ExtFOp::create(b, sumType, fill);
}

// Where the element's sum begins in the operands; `isHere` becomes whether the contraction has the element.
Place SumEmitter::findPlace(Value element, Value &isHere) {
  SmallVector<ContractionLoop> parallel = llvm::filter_to_vector(
      contraction.loops, [](const ContractionLoop &loop) { return !loop.isReduction(); });
  llvm::sort(parallel,
             [](const ContractionLoop &left, const ContractionLoop &right) { return left.c > right.c; });
  Place at{function.getIndex(contraction.offsetA), function.getIndex(contraction.offsetB)};
  Value offset = function.getIndex(contraction.offsetC);
  isHere = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, element, offset);
  auto demand = [&](arith::CmpIPredicate predicate, Value value, int64_t bound) {
    Value holds = arith::CmpIOp::create(b, predicate, value, function.getIndex(bound));
    isHere = arith::AndIOp::create(b, isHere, holds);
  };
  Value rest = arith::SubIOp::create(b, element, offset);
  for (const ContractionLoop &loop : parallel) {
    Value iteration = arith::DivUIOp::create(b, rest, function.getIndex(loop.c));
    rest = arith::RemUIOp::create(b, rest, function.getIndex(loop.c));
    demand(arith::CmpIPredicate::ult, iteration, loop.extent);
    at = {advance(at.a, iteration, loop.a), advance(at.b, iteration, loop.b)};
  }
  demand(arith::CmpIPredicate::eq, rest, 0);
  return at;
}

Value SumEmitter::emitProduct(Place at, Value sum) {
  Value x = load(contraction.a, at.a, contraction.elementA);
  Value y = load(contraction.b, at.b, contraction.elementB);
  if (contraction.isLogical)
    return arith::OrIOp::create(b, sum, arith::AndIOp::create(b, x, y));
  if (isa<FloatType>(sumType))
    return arith::AddFOp::create(b, sum, arith::MulFOp::create(b, x, y));
  return arith::AddIOp::create(b, sum, arith::MulIOp::create(b, x, y));
}

Value SumEmitter::emitSums(ArrayRef<ContractionLoop> loops, Place at, Value sum) {
  if (loops.empty())
    return emitProduct(at, sum);
  const ContractionLoop &loop = loops.front();
  if (!loop.isReduction())
    return emitSums(loops.drop_front(), at, sum);
  OpBuilder::InsertionGuard guard(b);
  auto nest =
      scf::ForOp::create(b, function.getIndex(0), function.getIndex(loop.extent), function.getIndex(1), sum);
  b.setInsertionPointToStart(nest.getBody());
  Value iteration = nest.getInductionVar();
  Place inside{advance(at.a, iteration, loop.a), advance(at.b, iteration, loop.b)};
  scf::YieldOp::create(b, emitSums(loops.drop_front(), inside, nest.getRegionIterArg(0)));
  return nest.getResult(0);
}

Value SumEmitter::emit(Value element, Value sum, bool mayMiss) {
  Value isHere;
  Place at = findPlace(element, isHere);
  if (!mayMiss)
    return emitSums(contraction.loops, at, sum);
  OpBuilder::InsertionGuard guard(b);
  auto choice = scf::IfOp::create(b, sumType, isHere, /*withElseRegion=*/true);
  b.setInsertionPointToStart(choice.thenBlock());
  scf::YieldOp::create(b, emitSums(contraction.loops, at, sum));
  b.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(b, sum);
  return choice.getResult(0);
}

void SumEmitter::store(Value sum, Value element) {
  if (contraction.element != sumType)
    sum = arith::TruncFOp::create(b, contraction.element, sum);
  storeElement(b, sum, function.getOutput(0), element);
}

void mlir::epl::emitElementContraction(const ContractionParts &contraction, KernelFunction &function) {
  bool mayMiss = contraction.parts.size() > 1 || !contraction.coversResult;
  emitLoop(function.getBuilder(), function.getBegin(), function.getEnd(), function.getIndex(1),
           [&](Value element) {
             SumEmitter first(contraction.parts.front(), function);
             Value sum = first.emitStart(element);
             for (const StridedContraction &part : contraction.parts)
               sum = SumEmitter(part, function).emit(element, sum, mayMiss);
             first.store(sum, element);
           });
}
