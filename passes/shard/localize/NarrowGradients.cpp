//===- NarrowGradients.cpp - Gradients are sent in 16 bits ----------------===//
//
// Problem: sums of gradients move more bytes than all else of data parallelism, and need few of their digits.
// Method: what completes a gradient of f32 (Gradients.h) takes addends that are rounded to 16 bits, and what
//   it makes is widened where it is read:
//
//     addend ─ all_reduce ─ update          addend ─ round ─ all_reduce ─ widen ─ update
//
//   bf16 has the range of f32. f16 has not: addends are multiplied by a scale before, and the sum is divided
//   by it. Collectives that follow one another, over one axis after the other, are one in between. Rounding
//   is not linear, so this is done where sums are collectives already. Who rounds is the work that makes the
//   addend, who widens the one that reads the sum, so that both join kernels which are there anyway.
//   Collectives add 16 bits up in f32 and round once, as far as they are the runtime's own.
//
// Invariant in and out: a local program, as `epl-localize` or `epl-assign-owners` leaves it.
// Reference: P. Micikevicius et al., Mixed Precision Training, 2018 (scales); Horovod, 2018 (compression);
//   EPL's `communication.fp16`.
//
//===----------------------------------------------------------------------===//

#include "dialect/Gradients.h"
#include "dialect/Sharding.h"
#include "passes/shard/Passes.h"
#include "passes/shard/localize/Localize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-narrow-gradients"

namespace mlir::epl {
#define GEN_PASS_DEF_NARROWGRADIENTSPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numNarrowed, "Gradients that are summed in 16 bits");
ALWAYS_ENABLED_STATISTIC(numKept, "Gradients that are not of f32, and stay what they are");

namespace {
/// Collectives one of which reads what the one before has made, and nothing else does.
struct Chain {
  FromLocalOp addend;
  SmallVector<Operation *> collectives;

  Value getResult() const { return collectives.back()->getResult(0); }
};

/// Narrows the gradients of a function.
class Narrower {
public:
  Narrower(Block &body, FloatType narrow, double scale) : body(body), narrow(narrow), scale(scale) {}

  void run();

private:
  /// A scalar op on each element.
  using ElementBody = function_ref<Value(OpBuilder &, Location, Value)>;

  void narrowChain(const Chain &chain);
  void setNarrow(Value value) const;
  Value createMap(OpBuilder &builder, Location loc, Value tensor, FloatType to, ShardingAttr sharding,
                  Attribute work, ElementBody element) const;
  Value round(OpBuilder &builder, Operation *collective, Value tensor, ShardingAttr sharding) const;
  Value widen(OpBuilder &builder, Value tensor, ShardingAttr sharding, Attribute work) const;
  Value createScale(OpBuilder &builder, Location loc, Type type) const {
    return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, scale));
  }
  Attribute getReadersWork(Value sum, Operation *collective) const;

  Block &body;
  FloatType narrow;
  double scale; ///< 1: none
};
} // namespace

static bool isCollective(Operation *op) {
  return isa<AllReduceOp, ReduceScatterOp, ReduceOp, AllGatherOp, AllToAllOp, PermuteOp>(op);
}

static Type getElement(Value dist) { return cast<DistType>(dist.getType()).getGlobal().getElementType(); }

static ShardingAttr getDistSharding(Value dist) { return cast<DistType>(dist.getType()).getSharding(); }

/// The collectives that begin with what is cast by `addend`; none if that is no gradient.
static Chain findChain(FromLocalOp addend) {
  Chain chain{addend, {}};
  Value value = addend.getResult();
  while (value.hasOneUse() && isCollective(*value.user_begin())) {
    chain.collectives.push_back(*value.user_begin());
    value = chain.getResult();
  }
  if (!chain.collectives.empty() && !completesGradient(chain.collectives.front()))
    chain.collectives.clear();
  if (!llvm::all_of(value.getUsers(), llvm::IsaPred<ToLocalOp>)) // those of owners that all members read
    chain.collectives.clear();
  return chain;
}

void Narrower::run() {
  for (auto addend : llvm::to_vector(body.getOps<FromLocalOp>())) {
    Chain chain = findChain(addend);
    if (chain.collectives.empty())
      continue;
    if (!getElement(addend.getResult()).isF32()) {
      ++numKept;
      continue;
    }
    ++numNarrowed;
    LDBG() << chain.collectives.front()->getName() << " of " << addend.getResult().getType();
    narrowChain(chain);
  }
}

void Narrower::setNarrow(Value value) const {
  auto dist = cast<DistType>(value.getType());
  auto global = cast<RankedTensorType>(dist.getGlobal().clone(narrow));
  value.setType(DistType::get(value.getContext(), global, dist.getSharding()));
}

/// `tensor` with elements of type `to`.
Value Narrower::createMap(OpBuilder &builder, Location loc, Value tensor, FloatType to, ShardingAttr sharding,
                          Attribute work, ElementBody element) const {
  auto type = cast<RankedTensorType>(cast<RankedTensorType>(tensor.getType()).clone(to));
  auto body = [&](OpBuilder &at, ValueRange elements) { return element(at, loc, elements.front()); };
  auto stamp = [&](Operation *op) {
    op->setAttr(EplDialect::kShardingAttr, builder.getArrayAttr(sharding));
    op->setAttr(EplDialect::kWorkAttr, work);
  };
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  return epl::createMap(builder, loc, type, tensor, identity, body, stamp)->getResult(0);
}

Value Narrower::round(OpBuilder &builder, Operation *collective, Value tensor, ShardingAttr sharding) const {
  Operation *maker = tensor.getDefiningOp();
  Attribute own = maker ? maker->getAttr(EplDialect::kWorkAttr) : Attribute();
  Attribute work = own ? own : collective->getAttr(EplDialect::kWorkAttr);
  return createMap(builder, collective->getLoc(), tensor, narrow, sharding, work,
                   [&](OpBuilder &at, Location loc, Value element) -> Value {
                     if (scale != 1)
                       element =
                           arith::MulFOp::create(at, loc, element, createScale(at, loc, element.getType()));
                     return arith::TruncFOp::create(at, loc, narrow, element);
                   });
}

Value Narrower::widen(OpBuilder &builder, Value tensor, ShardingAttr sharding, Attribute work) const {
  FloatType wide = builder.getF32Type();
  return createMap(builder, tensor.getLoc(), tensor, wide, sharding, work,
                   [&](OpBuilder &at, Location loc, Value element) -> Value {
                     Value value = arith::ExtFOp::create(at, loc, wide, element);
                     if (scale != 1)
                       value = arith::DivFOp::create(at, loc, value, createScale(at, loc, wide));
                     return value;
                   });
}

/// The work that reads a sum, if there is one such; else that of the collective.
Attribute Narrower::getReadersWork(Value sum, Operation *collective) const {
  SetVector<Attribute> works;
  for (Operation *user : sum.getUsers())
    if (Attribute work = body.findAncestorOpInBlock(*user)->getAttr(EplDialect::kWorkAttr))
      works.insert(work);
  return works.size() == 1 ? works.front() : collective->getAttr(EplDialect::kWorkAttr);
}

void Narrower::narrowChain(const Chain &chain) {
  FromLocalOp addend = chain.addend;
  Operation *first = chain.collectives.front();
  OpBuilder builder(addend);
  Value rounded = round(builder, first, addend.getOperand(), getDistSharding(addend.getResult()));
  addend.getOperandMutable().set(rounded);
  setNarrow(addend.getResult());
  for (Operation *collective : chain.collectives)
    setNarrow(collective->getResult(0));
  for (Operation *user : chain.getResult().getUsers()) {
    auto sum = cast<ToLocalOp>(user);
    Attribute work = getReadersWork(sum.getResult(), chain.collectives.back());
    sum.getResult().setType(cast<RankedTensorType>(cast<RankedTensorType>(sum.getType()).clone(narrow)));
    builder.setInsertionPointAfter(sum);
    Value wide = widen(builder, sum.getResult(), getDistSharding(chain.getResult()), work);
    sum.getResult().replaceAllUsesExcept(wide, wide.getDefiningOp());
  }
}

namespace {
struct NarrowGradientsPass : epl::impl::NarrowGradientsPassBase<NarrowGradientsPass> {
  using NarrowGradientsPassBase::NarrowGradientsPassBase;

  void runOnOperation() override {
    if (type == GradientType::f32)
      return;
    bool isF16 = type == GradientType::f16;
    FloatType narrow = isF16 ? FloatType(Float16Type::get(&getContext())) : BFloat16Type::get(&getContext());
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        Narrower(function.front(), narrow, isF16 ? double(scale) : 1.0).run();
  }
};
} // namespace
