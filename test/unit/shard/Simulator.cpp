//===- Simulator.cpp - Runs sharded global programs on members ------------===//

#include "Simulator.h"

#include "dialect/Sharding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

#include <gtest/gtest.h>
#include <numeric>
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

static SmallVector<int64_t> add(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  return llvm::map_to_vector(llvm::zip_equal(a, b),
                             [](auto pair) { return std::get<0>(pair) + std::get<1>(pair); });
}

/// The part of `tensor` that begins at `offsets`.
static Tensor slice(Tensor tensor, ArrayRef<int64_t> offsets, ArrayRef<int64_t> shape) {
  Tensor part = makeTensor(shape, 0);
  forEachIndex(shape, [&](ArrayRef<int64_t> index) { at(part, index) = at(tensor, add(index, offsets)); });
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
// Meshes and shardings
//===----------------------------------------------------------------------===//

namespace {
using Coordinates = SmallVector<int64_t>; ///< of a member, one for each axis

/// A mesh, what part of a tensor each of its members has, and what the parts make up.
class Members {
public:
  explicit Members(MeshOp mesh) : axes(llvm::to_vector(mesh.getAxes().getAsRange<AxisAttr>())) {
    auto sizes = llvm::map_to_vector(axes, [](AxisAttr axis) { return axis.getSize(); });
    forEachIndex(sizes, [&](ArrayRef<int64_t> at) { members.emplace_back(at); });
  }

  ArrayRef<Coordinates> getAll() const { return members; }

  SmallVector<int64_t> getPartShape(ArrayRef<int64_t> whole, ShardingAttr sharding) const {
    SmallVector<int64_t> shape(whole);
    for (auto [dim, extent] : llvm::enumerate(shape))
      for (StringRef axis : sharding.getDimAxes(dim))
        extent /= axes[getAxis(axis)].getSize();
    return shape;
  }

  /// Where the part of a member begins; `shape` is that of a part.
  SmallVector<int64_t> getOffsets(ArrayRef<int64_t> shape, ShardingAttr sharding,
                                  const Coordinates &at) const {
    SmallVector<int64_t> offsets;
    for (auto [dim, extent] : llvm::enumerate(shape)) {
      int64_t part = 0;
      for (StringRef axis : sharding.getDimAxes(dim))
        part = part * axes[getAxis(axis)].getSize() + at[getAxis(axis)];
      offsets.push_back(part * extent);
    }
    return offsets;
  }

  Tensor getPart(const Tensor &whole, ShardingAttr sharding, const Coordinates &at) const {
    SmallVector<int64_t> shape = getPartShape(whole.shape, sharding);
    return slice(whole, getOffsets(shape, sharding, at), shape);
  }

  /// What member `at` has of a value of sharding `from` whose parts are `parts`, as `to` says it: addends
  /// that are pending in both stay, others are combined; what becomes pending is the first member's.
  Tensor reshard(ArrayRef<Tensor> parts, ShardingAttr from, ShardingAttr to, const Coordinates &at) const {
    Tensor whole =
        assemble(parts, from, [&](StringRef axis) { return isPending(to, axis) ? at[getAxis(axis)] : -1; });
    Tensor part = getPart(whole, to, at);
    for (StringRef axis : to.getPartialAxes())
      if (!isPending(from, axis) && at[getAxis(axis)] > 0)
        part = makeTensor(part.shape, 0);
    return part;
  }

  /// The tensor that parts make up, all addends combined.
  Tensor assemble(ArrayRef<Tensor> parts, ShardingAttr sharding) const {
    return assemble(parts, sharding, [](StringRef) { return -1; });
  }

private:
  /// Likewise, of the addends of those members that are at `getChosen(axis)` along each pending axis, of all
  /// if that is -1. Members along axes that mean nothing to the value must have it alike.
  Tensor assemble(ArrayRef<Tensor> parts, ShardingAttr sharding,
                  function_ref<int64_t(StringRef)> getChosen) const {
    Tensor whole = makeTensor(getWholeShape(parts.front().shape, sharding), 0); // 0: neutral
    for (auto [at, part] : llvm::zip_equal(members, parts)) {
      Coordinates first = at;
      bool chosen = true;
      for (auto [axis, coordinate] : llvm::zip_equal(axes, first)) {
        int64_t wanted = isPending(sharding, axis.getName()) ? getChosen(axis.getName()) : -1;
        chosen &= wanted < 0 || wanted == coordinate;
        if (!isPending(sharding, axis.getName()) && sharding.getDimOf(axis.getName()) < 0)
          coordinate = 0;
      }
      if (first != at)
        EXPECT_EQ(part, parts[llvm::find(members, first) - members.begin()])
            << "members differ in a replicated value";
      else if (chosen)
        combine(whole, part, getOffsets(part.shape, sharding, at), sharding);
    }
    return whole;
  }

  static void combine(Tensor &whole, Tensor part, ArrayRef<int64_t> offsets, ShardingAttr sharding) {
    bool isMax = sharding.isPartial() && sharding.getReduction() == ReductionKind::max;
    forEachIndex(part.shape, [&](ArrayRef<int64_t> index) {
      int64_t &old = at(whole, add(index, offsets)), addend = at(part, index);
      old = isMax ? std::max(old, addend) : (old + addend) % kPrime;
    });
  }

  SmallVector<int64_t> getWholeShape(ArrayRef<int64_t> part, ShardingAttr sharding) const {
    SmallVector<int64_t> shape(part);
    for (auto [dim, extent] : llvm::enumerate(shape))
      for (StringRef axis : sharding.getDimAxes(dim))
        extent *= axes[getAxis(axis)].getSize();
    return shape;
  }

  static bool isPending(ShardingAttr sharding, StringRef axis) {
    return llvm::is_contained(sharding.getPartialAxes(), axis);
  }
  size_t getAxis(StringRef name) const {
    return llvm::find_if(axes, [&](AxisAttr axis) { return axis.getName() == name; }) - axes.begin();
  }

  SmallVector<AxisAttr> axes;
  SmallVector<Coordinates> members;
};
} // namespace

//===----------------------------------------------------------------------===//
// One member
//===----------------------------------------------------------------------===//

namespace {
/// Runs ops on the parts of one member.
class Member {
public:
  /// Without a mesh, the member holds everything and shardings mean nothing.
  Member() = default;
  Member(const Members &mesh, Coordinates at) : mesh(&mesh), at(std::move(at)) {}

  void run(Operation &op) {
    TypeSwitch<Operation &>(op)
        .Case([&](arith::ConstantOp constant) { setUniform(constant, getConstant(constant)); })
        .Case([&](tensor::EmptyOp empty) {
          setUniform(empty, std::accumulate(at.begin(), at.end(), int64_t(77)));
        }) // Nobody may read it.
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
  static int64_t getConstant(arith::ConstantOp op) {
    return static_cast<int64_t>(
        cast<SplatElementsAttr>(op.getValue()).getSplatValue<APFloat>().convertToFloat());
  }

  void setUniform(Value value, int64_t number) {
    ArrayRef<int64_t> whole = cast<RankedTensorType>(value.getType()).getShape();
    tensors[value] = makeTensor(
        mesh ? mesh->getPartShape(whole, getSharding(value)) : SmallVector<int64_t>(whole), number);
  }

  /// Every slice begins at 0; a dimension in full is full on every member.
  void runSlice(tensor::ExtractSliceOp op) {
    const Tensor &source = tensors[op.getSource()];
    SmallVector<int64_t> shape = source.shape, offsets(shape.size(), 0);
    for (auto [dim, size] : llvm::enumerate(op.getStaticSizes()))
      if (size != op.getSourceType().getDimSize(dim))
        shape[dim] = size;
    tensors[op] = slice(source, offsets, shape);
  }

  void runLinalg(linalg::LinalgOp op) {
    SmallVector<int64_t> extents(op.getNumLoops()), offsets(op.getNumLoops(), 0);
    SmallVector<Tensor> operands =
        llvm::map_to_vector(op->getOperands(), [&](Value v) { return tensors[v]; });
    for (OpOperand &operand : op->getOpOperands()) {
      ArrayRef<int64_t> shape = operands[operand.getOperandNumber()].shape;
      SmallVector<int64_t> begin(shape.size(), 0);
      if (mesh)
        begin = mesh->getOffsets(shape, getSharding(operand.get()), at);
      for (auto [dim, expr] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
        unsigned loop = cast<AffineDimExpr>(expr).getPosition();
        extents[loop] = shape[dim];
        offsets[loop] = begin[dim];
      }
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
          ::at(operands[operand.getOperandNumber()], indexOf(operand));
    for (Operation &inner : op.getBlock()->without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner))
        scalars[index] = point[index.getDim()] + offsets[index.getDim()];
      else
        scalars[inner.getResult(0)] = runScalar(inner, scalars);
    }
    Operation *yield = op.getBlock()->getTerminator();
    for (auto [result, value, init] : llvm::zip_equal(results, yield->getOperands(), op.getDpsInitsMutable()))
      ::at(result, indexOf(init)) = scalars.lookup(value);
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

  const Members *mesh = nullptr;
  Coordinates at;
};
} // namespace

//===----------------------------------------------------------------------===//
// All members, in lock step
//===----------------------------------------------------------------------===//

static void runReshard(ReshardOp op, const Members &mesh, MutableArrayRef<Member> group) {
  auto parts = llvm::map_to_vector(group, [&](Member &m) { return m.tensors[op.getOperand()]; });
  for (auto [at, member] : llvm::zip_equal(mesh.getAll(), group))
    member.tensors[op] = mesh.reshard(parts, getSharding(op.getOperand()), op.getSharding(), at);
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
  Member everything;
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

std::vector<Tensor> mlir::epl::runSharded(func::FuncOp function, ArrayRef<Tensor> arguments) {
  Members mesh(*function->getParentOfType<ModuleOp>().getOps<MeshOp>().begin());
  SmallVector<Member, 0> group;
  for (const Coordinates &at : mesh.getAll()) {
    group.emplace_back(mesh, at);
    for (auto [value, tensor] : llvm::zip_equal(function.getArguments(), arguments))
      group.back().tensors[value] = mesh.getPart(tensor, getSharding(value), at);
  }
  for (Operation &op : function.front().without_terminator()) {
    if (auto reshard = dyn_cast<ReshardOp>(op))
      runReshard(reshard, mesh, group);
    else
      for (Member &member : group)
        member.run(op);
  }
  std::vector<Tensor> results;
  for (Value result : function.front().getTerminator()->getOperands()) {
    auto parts = llvm::map_to_vector(group, [&](Member &m) { return m.tensors[result]; });
    results.push_back(mesh.assemble(parts, getSharding(result)));
  }
  return results;
}
