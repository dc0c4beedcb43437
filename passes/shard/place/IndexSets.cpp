//===- IndexSets.cpp - Members hold what they read ------------------------===//
//
// Problem: the shardings of an op's operands and results follow from its factor rule. With a wrong rule they
//   still agree with each other, and the program computes wrong numbers.
// Method: use what the op computes (Accesses.h) and nothing else. A member of the axis can do a step of the
//   op if its parts of the operands have the elements that the step reads. Then
//
//     the result is    every step for an element of it can be done by
//     ---------------  ---------------------------------------------------------------------------------
//     replicated       all members
//     sharded          the member that has the element
//     pending          exactly one member, and not one member for all steps of an element;
//                      if an operand of the op is pending, too: all members, each on its addends, to which
//                      what is not pending adds zeros
//
//   Only loops that walk a sharded dimension matter. Parts are ranges, and positions do not decrease along a
//   loop, so it is enough to look at the ends of ranges; of loops with few iterations all are looked at.
// Not checked here: which reductions members can combine, whether they start from a neutral value, and which
//   ops are linear. These are questions about bodies, not about indices.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/place/IndexSets.h"

#include "passes/shard/analysis/ShardableOp.h"

#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::epl;

/// Loops of at most so many iterations are walked in full.
static constexpr int64_t kFewIterations = 8;

namespace {
/// A tensor that the steps touch.
struct Touched {
  std::string name; ///< "operand 1"
  AxisState state;
  AffineMap map;            ///< where a step touches it
  AffineExpr position = {}; ///< in the dimension that is sharded; null if none is
  int64_t extent = 0;       ///< of that
};

/// The members of an axis that can do a step: those that have the one part that it reads of whatever is
/// sharded, all if it reads of no such tensor, none if it reads of the parts of several.
struct Doers {
  enum { all, one, none } kind = all;
  int64_t member = 0; ///< if it is one
};

/// The steps of an op on one axis.
class StepVerifier {
public:
  StepVerifier(Operation *op, AxisAttr axis, StateOf getState, const Steps &steps);
  LogicalResult verify() { return verifyFrom(0); }

private:
  std::optional<Touched> describe(const Twine &name, Value value, AffineMap map, StateOf getState) const;
  SmallVector<int64_t> getSamples(unsigned loop) const;
  bool isWalked(unsigned loop) const;
  int64_t getOwner(const Touched &tensor) const;
  Doers findDoers() const;
  LogicalResult verifyFrom(unsigned loop);
  bool isAddedInParts(const Touched &result) const;
  LogicalResult verifyResult(const Touched &result, Doers doers);
  LogicalResult emitMissing(const Touched &result);

  Operation *op;
  AxisAttr axis;
  const Steps &steps;
  SmallVector<Touched> operands, results;
  bool readsInputs = false;   ///< and not just what a reduction starts from
  bool passes = false;        ///< whether an operand of the op, which steps may do without, is pending
  SmallVector<int64_t> point; ///< the step that is looked at
};
} // namespace

StepVerifier::StepVerifier(Operation *op, AxisAttr axis, StateOf getState, const Steps &steps)
    : op(op), axis(axis), steps(steps), point(steps.loops.size()) {
  auto accumulating = dyn_cast<DestinationStyleOpInterface>(op);
  for (auto [index, map] : llvm::enumerate(steps.operands))
    if (auto operand = describe("operand " + Twine(index), op->getOperand(index), map, getState)) {
      operands.push_back(*operand);
      readsInputs |= !accumulating || !accumulating.isDpsInit(&op->getOpOperand(index));
    }
  for (auto [index, map] : llvm::enumerate(steps.results))
    if (auto result = describe("result " + Twine(index), op->getResult(index), map, getState))
      results.push_back(*result);
  passes = llvm::any_of(op->getOperands(), [&](Value value) {
    return isa<RankedTensorType>(value.getType()) && getState(value).partial;
  });
}

std::optional<Touched> StepVerifier::describe(const Twine &name, Value value, AffineMap map,
                                              StateOf getState) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !map)
    return std::nullopt;
  Touched tensor = {name.str(), getState(value), map};
  if (tensor.state.isSharded()) {
    tensor.position = map.getResult(tensor.state.dim);
    tensor.extent = type.getDimSize(tensor.state.dim);
  }
  return tensor;
}

bool StepVerifier::isWalked(unsigned loop) const {
  auto isWalkedBy = [&](const Touched &tensor) {
    return tensor.position && tensor.position.isFunctionOfDim(loop);
  };
  return llvm::any_of(operands, isWalkedBy) || llvm::any_of(results, isWalkedBy);
}

/// The first and the last iteration of each part, if it is parts.
SmallVector<int64_t> StepVerifier::getSamples(unsigned loop) const {
  int64_t extent = steps.loops[loop], part = extent / axis.getSize();
  if (!isWalked(loop) || ShapedType::isDynamic(extent))
    return {0};
  if (extent <= kFewIterations || part == 0)
    return llvm::to_vector(llvm::seq<int64_t>(0, extent));
  SmallVector<int64_t> samples;
  for (int64_t member = 0; member < axis.getSize(); ++member)
    samples.append({member * part, (member + 1) * part - 1});
  samples.push_back(extent - 1);
  return samples;
}

/// Positions are sums of loops times constants; of other expressions none is sharded.
static int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> point) {
  if (auto loop = dyn_cast<AffineDimExpr>(expr))
    return point[loop.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t left = evaluate(binary.getLHS(), point), right = evaluate(binary.getRHS(), point);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return left + right;
  case AffineExprKind::Mul:
    return left * right;
  case AffineExprKind::Mod:
    return ((left % right) + right) % right;
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(left, right);
  default:
    return llvm::divideCeilSigned(left, right);
  }
}

int64_t StepVerifier::getOwner(const Touched &tensor) const {
  return evaluate(tensor.position, point) * axis.getSize() / tensor.extent;
}

Doers StepVerifier::findDoers() const {
  Doers doers;
  for (const Touched &operand : operands) {
    if (!operand.position)
      continue;
    int64_t owner = getOwner(operand);
    if (doers.kind == Doers::one && doers.member != owner)
      return {Doers::none};
    doers = {Doers::one, owner};
  }
  return doers;
}

LogicalResult StepVerifier::emitMissing(const Touched &result) {
  auto error = op->emitOpError() << "makes an element of " << result.name << ", which is ";
  if (result.position)
    error << "on member " << getOwner(result) << " of axis \"" << axis.getName() << "\"";
  else
    error << "on all members of axis \"" << axis.getName() << "\"";
  StringRef separator = ", from one of ";
  for (const Touched &operand : operands)
    if (operand.position) {
      error << separator << operand.name << ", which is on member " << getOwner(operand);
      separator = " and one of ";
    }
  return error;
}

/// Whether the steps for one element of the result are those of several members: what they read in parts is
/// walked by loops, and by others than the result.
bool StepVerifier::isAddedInParts(const Touched &result) const {
  auto loops = llvm::seq<unsigned>(0, point.size());
  return llvm::all_of(operands, [&](const Touched &operand) {
    auto walks = [&](unsigned loop) { return operand.position.isFunctionOfDim(loop); };
    return !operand.position || (llvm::any_of(loops, walks) && llvm::none_of(loops, [&](unsigned loop) {
                                   return walks(loop) && result.map.isFunctionOfDim(loop);
                                 }));
  });
}

LogicalResult StepVerifier::verifyResult(const Touched &result, Doers doers) {
  if (!result.state.partial || passes) {
    bool fits = doers.kind == Doers::all ||
                (result.position && doers.kind == Doers::one && doers.member == getOwner(result));
    return fits ? success() : emitMissing(result);
  }
  // What a reduction starts from is neutral, and a carried sum starts at zero, on each member.
  bool isStart = (!readsInputs && !operands.empty()) || isa<LoopCarryOp>(op);
  if (isStart ? doers.kind == Doers::all : doers.kind == Doers::one && isAddedInParts(result))
    return success();
  StringRef where = doers.kind == Doers::all   ? "on all members"
                    : doers.kind == Doers::one ? "as a whole on one member"
                                               : "on no member";
  return op->emitOpError() << "adds up an element of " << result.name << ", which is pending, " << where
                           << " of axis \"" << axis.getName() << "\", expected a part of it on each";
}

LogicalResult StepVerifier::verifyFrom(unsigned loop) {
  if (loop == point.size()) {
    Doers doers = findDoers();
    return success(
        llvm::all_of(results, [&](const Touched &result) { return succeeded(verifyResult(result, doers)); }));
  }
  for (int64_t at : getSamples(loop)) {
    point[loop] = at;
    if (failed(verifyFrom(loop + 1)))
      return failure();
  }
  return success();
}

LogicalResult mlir::epl::verifyIndexSets(Operation *op, AxisAttr axis, StateOf getState) {
  auto isWhole = [&](Value value) {
    return !isa<RankedTensorType>(value.getType()) || getState(value).isReplicated();
  };
  if (axis.getSize() == 1 ||
      (llvm::all_of(op->getOperands(), isWhole) && llvm::all_of(op->getResults(), isWhole)))
    return success();
  auto model = dyn_cast<ShardableOp>(op);
  for (const Steps &each : model ? model.getSteps() : deriveSteps(op))
    if (failed(StepVerifier(op, axis, getState, each).verify()))
      return failure();
  return success();
}
