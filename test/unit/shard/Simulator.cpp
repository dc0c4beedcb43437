//===- Simulator.cpp - Runs sharded global programs on members ------------===//

#include "Simulator.h"

#include "dialect/Sharding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mlir::epl;

static constexpr int64_t kPrime = 10007;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static Tensor makeTensor(ArrayRef<int64_t> shape, int64_t value) {
  return {SmallVector<int64_t>(shape), std::vector<int64_t>(ShapedType::getNumElements(shape), value)};
}

static int64_t &at(Tensor &tensor, ArrayRef<int64_t> index) {
  int64_t position = 0;
  for (auto [i, extent] : llvm::zip_equal(index, tensor.shape))
    position = position * extent + i;
  return tensor.data[position];
}

/// Calls `visit` with every index of `shape` in order.
static void forEachIndex(ArrayRef<int64_t> shape, function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t left = ShapedType::getNumElements(shape); left > 0; --left) {
    visit(index);
    for (int64_t dim = shape.size() - 1; dim >= 0 && ++index[dim] == shape[dim]; --dim)
      index[dim] = 0;
  }
}

/// The part of `tensor` that begins at `offset` in dimension `dim` and has `extent` elements there.
static Tensor slice(Tensor tensor, int64_t dim, int64_t offset, int64_t extent) {
  SmallVector<int64_t> shape = tensor.shape;
  shape[dim] = extent;
  Tensor part = makeTensor(shape, 0);
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source(index);
    source[dim] += offset;
    at(part, index) = at(tensor, source);
  });
  return part;
}

static Tensor concatenate(ArrayRef<Tensor> parts, int64_t dim) {
  SmallVector<int64_t> shape = parts.front().shape;
  shape[dim] = 0;
  for (const Tensor &part : parts)
    shape[dim] += part.shape[dim];
  Tensor whole = makeTensor(shape, 0);
  int64_t offset = 0;
  for (Tensor part : parts) {
    forEachIndex(part.shape, [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> target(index);
      target[dim] += offset;
      at(whole, target) = at(part, index);
    });
    offset += part.shape[dim];
  }
  return whole;
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

/// The global tensor that the members' parts make up.
static Tensor assemble(ArrayRef<Tensor> parts, ShardingAttr sharding) {
  if (int64_t dim = sharding.getDimOf("data"); dim >= 0)
    return concatenate(parts, dim);
  Tensor whole = parts.front();
  for (const Tensor &part : parts.drop_front()) {
    if (!sharding.isPartial())
      EXPECT_EQ(part, whole) << "members differ in a replicated value";
    else
      for (auto [a, b] : llvm::zip_equal(whole.data, part.data))
        a = sharding.getReduction() == ReductionKind::sum ? (a + b) % kPrime : std::max(a, b);
  }
  return whole;
}

static Tensor getPart(const Tensor &whole, ShardingAttr sharding, int64_t member, int64_t members) {
  int64_t dim = sharding.getDimOf("data");
  if (dim < 0)
    return whole;
  int64_t extent = whole.shape[dim] / members;
  return slice(whole, dim, member * extent, extent);
}

//===----------------------------------------------------------------------===//
// One member
//===----------------------------------------------------------------------===//

namespace {
/// Runs ops on the parts of one member.
class Member {
public:
  /// With `members` 1, the member holds everything and shardings mean nothing.
  Member(int64_t member, int64_t members) : member(member), members(members) {}

  void run(Operation &op) {
    TypeSwitch<Operation &>(op)
        .Case([&](arith::ConstantOp constant) { setUniform(constant, getConstant(constant)); })
        .Case([&](tensor::EmptyOp empty) { setUniform(empty, 77 + member); }) // Nobody may read it.
        .Case([&](linalg::LinalgOp linalg) { runLinalg(linalg); })
        .Case([&](tensor::ExtractSliceOp extract) { runSlice(extract); })
        .Case([&](ConcatenateOp concat) {
          auto parts = llvm::map_to_vector(concat.getOperands(), [&](Value v) { return tensors[v]; });
          tensors[concat] = concatenate(parts, concat.getDim());
        })
        .Default([](Operation &other) { FAIL() << "unknown op " << other.getName().getStringRef().str(); });
  }

  DenseMap<Value, Tensor> tensors;

private:
  int64_t getParts(Value value, int64_t dim) const {
    return members > 1 && getSharding(value).getDimOf("data") == dim ? members : 1;
  }

  static int64_t getConstant(arith::ConstantOp op) {
    return static_cast<int64_t>(
        cast<SplatElementsAttr>(op.getValue()).getSplatValue<APFloat>().convertToFloat());
  }

  void setUniform(Value value, int64_t number) {
    SmallVector<int64_t> shape(cast<RankedTensorType>(value.getType()).getShape());
    for (auto [dim, extent] : llvm::enumerate(shape))
      extent /= getParts(value, dim);
    tensors[value] = makeTensor(shape, number);
  }

  /// Every slice begins at 0; a dimension in full is full on every member.
  void runSlice(tensor::ExtractSliceOp op) {
    Tensor result = tensors[op.getSource()];
    for (auto [dim, size] : llvm::enumerate(op.getStaticSizes()))
      if (size != op.getSourceType().getDimSize(dim))
        result = slice(result, dim, 0, size);
    tensors[op] = result;
  }

  void runLinalg(linalg::LinalgOp op) {
    SmallVector<int64_t> extents(op.getNumLoops()), offsets(op.getNumLoops(), 0);
    SmallVector<Tensor> operands =
        llvm::map_to_vector(op->getOperands(), [&](Value v) { return tensors[v]; });
    for (OpOperand &operand : op->getOpOperands())
      for (auto [dim, expr] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
        unsigned loop = cast<AffineDimExpr>(expr).getPosition();
        extents[loop] = operands[operand.getOperandNumber()].shape[dim];
        if (getParts(operand.get(), dim) > 1)
          offsets[loop] = member * extents[loop];
      }
    MutableArrayRef<Tensor> results = MutableArrayRef(operands).take_back(op.getNumDpsInits());
    forEachIndex(extents, [&](ArrayRef<int64_t> point) { runPoint(op, operands, results, point, offsets); });
    for (auto [result, tensor] : llvm::zip_equal(op->getResults(), results))
      tensors[result] = tensor;
  }

  void runPoint(linalg::LinalgOp op, MutableArrayRef<Tensor> operands, MutableArrayRef<Tensor> results,
                ArrayRef<int64_t> point, ArrayRef<int64_t> offsets) {
    auto indexOf = [&](OpOperand &operand) { return op.getMatchingIndexingMap(&operand).compose(point); };
    DenseMap<Value, int64_t> scalars;
    for (OpOperand &operand : op->getOpOperands())
      scalars[op.getMatchingBlockArgument(&operand)] =
          at(operands[operand.getOperandNumber()], indexOf(operand));
    for (Operation &inner : op.getBlock()->without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner))
        scalars[index] = point[index.getDim()] + offsets[index.getDim()];
      else
        scalars[inner.getResult(0)] = runScalar(inner, scalars);
    }
    Operation *yield = op.getBlock()->getTerminator();
    for (auto [result, value, init] : llvm::zip_equal(results, yield->getOperands(), op.getDpsInitsMutable()))
      at(result, indexOf(init)) = scalars.lookup(value);
  }

  static int64_t runScalar(Operation &op, const DenseMap<Value, int64_t> &scalars) {
    auto get = [&](unsigned operand) { return scalars.lookup(op.getOperand(operand)); };
    return TypeSwitch<Operation &, int64_t>(op)
        .Case<arith::AddFOp>([&](auto) { return (get(0) + get(1)) % kPrime; })
        .Case<arith::MulFOp>([&](auto) { return get(0) * get(1) % kPrime; })
        .Case<arith::MaximumFOp>([&](auto) { return std::max(get(0), get(1)); })
        .Case<math::ExpOp>([&](auto) { return (get(0) * get(0) + 3) % kPrime; })
        .Case<math::AbsFOp>([&](auto) { return (get(0) + 5) * get(0) % kPrime; })
        .Default([&](auto &) { return get(0); }); // Casts.
  }

  int64_t member, members;
};
} // namespace

//===----------------------------------------------------------------------===//
// All members, in lock step
//===----------------------------------------------------------------------===//

static void runReshard(ReshardOp op, MutableArrayRef<Member> group) {
  auto parts = llvm::map_to_vector(group, [&](Member &m) { return m.tensors[op.getOperand()]; });
  Tensor whole = assemble(parts, getSharding(op.getOperand()));
  for (auto [index, member] : llvm::enumerate(group))
    member.tensors[op] = getPart(whole, op.getSharding(), index, group.size());
}

std::vector<Tensor> mlir::epl::makeArguments(func::FuncOp function, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> arguments;
  for (Type type : function.getArgumentTypes()) {
    arguments.push_back(makeTensor(cast<RankedTensorType>(type).getShape(), 0));
    for (int64_t &number : arguments.back().data)
      number = random() % kPrime;
  }
  return arguments;
}

std::vector<Tensor> mlir::epl::runGlobal(func::FuncOp function, ArrayRef<Tensor> arguments) {
  Member everything(0, 1);
  for (auto [value, tensor] : llvm::zip_equal(function.getArguments(), arguments))
    everything.tensors[value] = tensor;
  for (Operation &op : function.front().without_terminator()) {
    if (auto reshard = dyn_cast<ReshardOp>(op))
      everything.tensors[reshard] = Tensor(everything.tensors[reshard.getOperand()]);
    else
      everything.run(op);
  }
  std::vector<Tensor> results;
  for (Value result : function.front().getTerminator()->getOperands())
    results.push_back(everything.tensors[result]);
  return results;
}

std::vector<Tensor> mlir::epl::runSharded(func::FuncOp function, ArrayRef<Tensor> arguments,
                                          int64_t members) {
  SmallVector<Member, 0> group;
  for (int64_t member = 0; member < members; ++member) {
    group.emplace_back(member, members);
    for (auto [value, tensor] : llvm::zip_equal(function.getArguments(), arguments))
      group.back().tensors[value] = getPart(tensor, getSharding(value), member, members);
  }
  for (Operation &op : function.front().without_terminator()) {
    if (auto reshard = dyn_cast<ReshardOp>(op))
      runReshard(reshard, group);
    else
      for (Member &member : group)
        member.run(op);
  }
  std::vector<Tensor> results;
  for (Value result : function.front().getTerminator()->getOperands()) {
    auto parts = llvm::map_to_vector(group, [&](Member &m) { return m.tensors[result]; });
    results.push_back(assemble(parts, getSharding(result)));
  }
  return results;
}
