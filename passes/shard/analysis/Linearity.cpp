//===- Linearity.cpp - Which ops let a pending sum pass -------------------===//

#include "passes/shard/analysis/Linearity.h"

#include "passes/shard/analysis/ShardableOp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::epl;

Status mlir::epl::join(Status a, Status b) {
  if (a == b || b == Status::zero)
    return a;
  return a == Status::zero ? b : Status::illegal;
}

Status mlir::epl::joinAll(ArrayRef<Status> statuses) {
  return std::accumulate(statuses.begin(), statuses.end(), Status::zero, join);
}

Status mlir::epl::evaluateOpaque(ArrayRef<Status> operands) {
  bool bad = llvm::any_of(operands, [](Status s) { return s == Status::partial || s == Status::illegal; });
  return bad ? Status::illegal : Status::normal;
}

/// Parts times zero stay partial: where a part is infinite the product is not zero on every member.
static Status evaluateProduct(Status a, Status b) {
  if (a == Status::partial || b == Status::partial)
    return a == b ? Status::illegal : Status::partial;
  return a == Status::zero || b == Status::zero ? Status::zero : Status::normal;
}

Status mlir::epl::evaluateQuotient(Status numerator, Status denominator) {
  return denominator == Status::partial ? Status::illegal : numerator;
}

/// A choice between zeros is zero. Between partial values it would be linear, but is taken for opaque: the
/// sum behind it moves as many bytes as the one before it, and what a selection drops (dropout, the gradient
/// of a maximum) would be computed on the addends by all members.
static Status evaluateSelect(ArrayRef<Status> operands) {
  bool zero = operands[1] == Status::zero && operands[2] == Status::zero;
  return zero && operands[0] != Status::partial ? Status::zero : evaluateOpaque(operands);
}

static bool isZeroConstant(arith::ConstantOp op) {
  return matchPattern(op.getResult(), m_Zero()) || matchPattern(op.getResult(), m_AnyZeroFloat());
}

/// One op on scalars, or element by element on tensors.
static Status evaluateScalar(Operation *op, ArrayRef<Status> operands) {
  if (llvm::is_contained(operands, Status::illegal))
    return Status::illegal;
  return TypeSwitch<Operation *, Status>(op)
      .Case<arith::AddFOp, arith::AddIOp, arith::SubFOp, arith::SubIOp>(
          [&](auto) { return join(operands[0], operands[1]); })
      .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return evaluateProduct(operands[0], operands[1]); })
      .Case<arith::DivFOp>([&](auto) { return evaluateQuotient(operands[0], operands[1]); })
      .Case<arith::NegFOp, arith::ExtFOp>([&](auto) { return operands[0]; })
      .Case<arith::SelectOp>([&](auto) { return evaluateSelect(operands); })
      .Case(
          [](arith::ConstantOp constant) { return isZeroConstant(constant) ? Status::zero : Status::normal; })
      .Default([&](auto) { return evaluateOpaque(operands); });
}

namespace {
/// Interprets the body of a linalg op.
class BodyInterpreter {
public:
  BodyInterpreter(Block &body, function_ref<Status(Value)> getCaptured)
      : body(body), getCaptured(getCaptured) {}

  /// The statuses of what the body yields when its arguments have `arguments`.
  SmallVector<Status> run(ArrayRef<Status> arguments) {
    statuses.clear();
    for (auto [argument, status] : llvm::zip_equal(body.getArguments(), arguments))
      statuses[argument] = status;
    for (Operation &op : body.without_terminator())
      for (Value result : op.getResults())
        statuses[result] = evaluateOp(op);
    return get(body.getTerminator()->getOperands());
  }

private:
  Status get(Value value) {
    auto known = statuses.find(value);
    return known == statuses.end() ? getCaptured(value) : known->second;
  }
  SmallVector<Status> get(ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return get(value); });
  }

  /// Ops with regions are opaque in their operands and in all that they capture.
  Status evaluateOp(Operation &op) {
    if (op.getNumRegions() == 0)
      return evaluateScalar(&op, get(op.getOperands()));
    SmallVector<Status> used;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (auto known = statuses.find(operand); known != statuses.end())
          used.push_back(known->second);
    });
    return evaluateOpaque(used);
  }

  Block &body;
  function_ref<Status(Value)> getCaptured;
  DenseMap<Value, Status> statuses;
};
} // namespace

/// The body runs once for each point: what it yields flows back into the accumulators until nothing changes.
static SmallVector<Status> evaluateLinalg(linalg::LinalgOp op, ArrayRef<Status> operands,
                                          function_ref<Status(Value)> getCaptured) {
  BodyInterpreter interpreter(*op.getBlock(), getCaptured);
  SmallVector<Status> arguments(operands);
  SmallVector<Status> results = interpreter.run(arguments);
  MutableArrayRef<Status> accumulators = MutableArrayRef(arguments).take_back(results.size());
  while (op.getNumReductionLoops() > 0) {
    SmallVector<Status> before(accumulators);
    for (auto [accumulator, result] : llvm::zip_equal(accumulators, results))
      accumulator = join(accumulator, result);
    if (ArrayRef<Status>(before) == ArrayRef<Status>(accumulators))
      break;
    results = interpreter.run(arguments);
  }
  return results;
}

SmallVector<Status> mlir::epl::deriveStatuses(Operation *op, ArrayRef<Status> operands,
                                              function_ref<Status(Value)> getCaptured) {
  if (auto linalg = dyn_cast<linalg::LinalgOp>(op); linalg && linalg.hasPureTensorSemantics())
    return evaluateLinalg(linalg, operands, getCaptured);
  bool isScalar = isa<arith::ConstantOp>(op) || OpTrait::hasElementwiseMappableTraits(op);
  return SmallVector<Status>(op->getNumResults(),
                             isScalar ? evaluateScalar(op, operands) : evaluateOpaque(operands));
}

SmallVector<Status> mlir::epl::evaluate(Operation *op, ArrayRef<Status> operands,
                                        function_ref<Status(Value)> getCaptured) {
  auto model = dyn_cast<ShardableOp>(op);
  return model ? model.getStatuses(operands, getCaptured) : deriveStatuses(op, operands, getCaptured);
}
