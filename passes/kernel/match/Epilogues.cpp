//===- Epilogues.cpp - What a library does behind a product ---------------------===//

#include "passes/kernel/match/Epilogues.h"

#include "passes/kernel/cluster/NarrowFloats.h"
#include "passes/kernel/cluster/OpRoles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::epl;

namespace {

/// A tensor, or the constant that each of its elements is.
struct Term {
  Value tensor;
  std::optional<double> constant;
};

/// A tensor whose elements are each one op on the elements of others at the same place.
struct Elementwise {
  Operation *op = nullptr;
  SmallVector<Term> terms;
};

} // namespace

static std::optional<double> getNumber(Attribute constant) {
  auto number = dyn_cast_or_null<FloatAttr>(constant);
  return number ? std::optional<double>(number.getValueAsDouble()) : std::nullopt;
}

/// What an operand of the one op of a generic is; nothing if it is made of other elements.
static std::optional<Term> getTerm(linalg::GenericOp generic, Value operand) {
  if (auto constant = operand.getDefiningOp<arith::ConstantOp>())
    return Term{{}, getNumber(constant.getValue())};
  auto argument = dyn_cast<BlockArgument>(operand);
  if (!argument || argument.getOwner() != generic.getBody() ||
      argument.getArgNumber() >= generic.getNumDpsInputs())
    return std::nullopt;
  OpOperand &input = generic->getOpOperand(argument.getArgNumber());
  std::optional<double> constant = getNumber(getFillValue(input.get()));
  if (!constant && !generic.getMatchingIndexingMap(&input).isIdentity())
    return std::nullopt;
  return Term{input.get(), constant};
}

static std::optional<Elementwise> getElementwise(Value tensor) {
  auto generic = tensor ? tensor.getDefiningOp<linalg::GenericOp>() : linalg::GenericOp();
  if (!generic || generic.getNumResults() != 1 || generic.getNumReductionLoops() != 0 ||
      !llvm::hasNItems(*generic.getBody(), 2) ||
      !generic.getMatchingIndexingMap(generic.getDpsInitOperand(0)).isIdentity())
    return std::nullopt;
  Operation *op = &generic.getBody()->front();
  if (op->getNumResults() != 1 || generic.getBody()->getTerminator()->getOperand(0) != op->getResult(0))
    return std::nullopt;
  Elementwise found{op, {}};
  for (Value operand : op->getOperands()) {
    std::optional<Term> term = getTerm(generic, operand);
    if (!term)
      return std::nullopt;
    found.terms.push_back(*term);
  }
  return found;
}

/// The tensors that an `Op` combines; none if it is another op.
template <typename Op> static std::optional<std::pair<Term, Term>> match(const Term &term) {
  std::optional<Elementwise> found = getElementwise(term.tensor);
  if (term.constant || !found || !isa<Op>(found->op) || found->terms.size() != 2)
    return std::nullopt;
  return std::pair(found->terms[0], found->terms[1]);
}

/// The other operand of an `Op`, which commutes, if one is a constant, as far as the type has it.
template <typename Op> static std::optional<Term> matchConstant(const Term &term, double constant) {
  auto operands = match<Op>(term);
  if (!operands)
    return std::nullopt;
  double error = isNarrowFloat(getElementTypeOrSelf(term.tensor)) ? 0x1p-8 : 0x1p-22;
  auto isIt = [&](const Term &each) {
    return each.constant && std::abs(*each.constant - constant) <= error * std::abs(constant);
  };
  if (isIt(operands->second))
    return operands->first;
  return isIt(operands->first) ? std::optional(operands->second) : std::nullopt;
}

/// The other operand of an `Op`, which commutes, if one is `tensor`.
template <typename Op> static std::optional<Term> matchTensor(const Term &term, Value tensor) {
  auto operands = match<Op>(term);
  auto isIt = [&](const Term &each) { return !each.constant && each.tensor == tensor; };
  if (!operands)
    return std::nullopt;
  if (isIt(operands->first))
    return operands->second;
  return isIt(operands->second) ? std::optional(operands->first) : std::nullopt;
}

static bool isCube(const Term &term, Value x) {
  std::optional<Term> square = matchTensor<arith::MulFOp>(term, x);
  std::optional<Term> last = square ? matchTensor<arith::MulFOp>(*square, x) : std::nullopt;
  return last && !last->constant && last->tensor == x;
}

/// 1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))
static bool isGate(const Term &term, Value x) {
  std::optional<Term> tanh = matchConstant<arith::AddFOp>(term, 1);
  std::optional<Elementwise> of = tanh ? getElementwise(tanh->tensor) : std::nullopt;
  if (!of || !isa<math::TanhOp>(of->op))
    return false;
  std::optional<Term> sum = matchConstant<arith::MulFOp>(of->terms[0], 0.7978845608028654);
  std::optional<Term> scaled = sum ? matchTensor<arith::AddFOp>(*sum, x) : std::nullopt;
  std::optional<Term> cube = scaled ? matchConstant<arith::MulFOp>(*scaled, 0.044715) : std::nullopt;
  return cube && isCube(*cube, x);
}

/// What a GELU is of; null if the value is none: x (gate / 2) or (x / 2) gate.
static Value matchGelu(Value value) {
  auto factors = match<arith::MulFOp>({value, {}});
  if (!factors)
    return {};
  for (auto [one, other] : {*factors, std::pair(factors->second, factors->first)}) {
    if (std::optional<Term> gate = matchConstant<arith::MulFOp>(other, 0.5);
        gate && isGate(*gate, one.tensor))
      return one.tensor;
    std::optional<Term> x = matchConstant<arith::MulFOp>(one, 0.5);
    if (x && isGate(other, x->tensor))
      return x->tensor;
  }
  return {};
}

/// The bias that `value` is along its last dimensions, an argument with as many elements; null if it is none.
static BlockArgument getBias(Value value) {
  auto generic = value.getDefiningOp<linalg::GenericOp>();
  AffineMap map = generic ? getCopyMap(generic) : AffineMap();
  auto bias = map ? dyn_cast<BlockArgument>(generic.getDpsInputOperand(0)->get()) : BlockArgument();
  auto type = bias ? dyn_cast<RankedTensorType>(bias.getType()) : RankedTensorType();
  if (!type || bias.getOwner() != generic->getBlock())
    return {};
  // From the last dimension on, each of more than one element is the next loop.
  auto loop = int64_t(map.getNumDims()) - 1;
  ArrayRef<int64_t> extents = cast<RankedTensorType>(value.getType()).getShape();
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    if (type.getDimSize(dim) == 1)
      continue;
    while (loop >= 0 && extents[loop] == 1)
      --loop;
    auto expr = dyn_cast<AffineDimExpr>(map.getResult(dim));
    if (loop < 0 || !expr || int64_t(expr.getPosition()) != loop || type.getDimSize(dim) != extents[loop])
      return {};
    --loop;
  }
  return bias;
}

std::optional<Epilogue> mlir::epl::matchEpilogue(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  if (kernel.getKind() != KernelKind::fusion || body.getTerminator()->getNumOperands() != 1)
    return std::nullopt;
  Epilogue epilogue{0, std::nullopt, Activation::none, 1};
  Term rest{body.getTerminator()->getOperand(0), {}};
  if (std::optional<Term> x = matchConstant<arith::MaximumFOp>(rest, 0)) {
    rest = *x;
    epilogue.activation = Activation::relu;
  } else if (Value of = matchGelu(rest.tensor)) {
    rest = {of, {}};
    epilogue.activation = Activation::gelu;
  }
  if (auto summands = match<arith::AddFOp>(rest)) {
    for (auto [one, other] : {*summands, std::pair(summands->second, summands->first)})
      if (BlockArgument bias = other.constant ? BlockArgument() : getBias(other.tensor)) {
        epilogue.bias = bias.getArgNumber();
        epilogue.columns = cast<RankedTensorType>(bias.getType()).getNumElements();
        rest = one;
        break;
      }
  }
  auto product = rest.constant ? BlockArgument() : dyn_cast<BlockArgument>(rest.tensor);
  bool isOne = epilogue.bias || epilogue.activation != Activation::none;
  if (!isOne || !product || body.getNumArguments() != (epilogue.bias ? 2u : 1u) ||
      product.getType() != body.getTerminator()->getOperand(0).getType())
    return std::nullopt;
  epilogue.product = product.getArgNumber();
  return epilogue;
}

bool mlir::epl::suits(const Epilogue &epilogue, KernelOp product) {
  std::optional<GemmAttr> gemm = product.getGemm();
  if (!gemm || product.getEpilogue() || gemm->getAccumulate())
    return false;
  Block &body = product.getBody().front();
  Type operand = getElementTypeOrSelf(body.getArgument(0).getType());
  Type result = getElementTypeOrSelf(body.getTerminator()->getOperand(0).getType());
  if (operand != result || !(result.isF32() || isNarrowFloat(result)))
    return false;
  if (!epilogue.bias)
    return true;
  // Column j of the product is element j of the bias: rows begin at multiples of their length.
  bool isAligned = epilogue.columns == gemm->getN() && gemm->getLdc() % gemm->getN() == 0;
  ArrayRef<int64_t> batch = gemm->getBatch();
  for (size_t i = 0; i + 3 < batch.size(); i += 4)
    isAligned &= batch[i + 3] % gemm->getN() == 0;
  return isAligned;
}
