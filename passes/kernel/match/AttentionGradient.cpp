//===- AttentionGradient.cpp - The gradient of attention ------------------===//
//
// Problem: the gradient of attention is seven launches of another task than the attention, among others: dv =
// p^T dO, dp = dO v^T, the gradient ds of the softmax (RowGradient.h), dq = ds k and dk = ds^T q, of which a
// launch may round each, and add up those of k and v over the heads of q that share these. A library makes
// dq, dk and dv at once. Method: who reads what the softmax makes is followed from task to task
// (TaskValues.h); the products must be of the same tensors, in the same places, as those of the attention.
// All of them depend on dO and what is there before, so they may stand together behind the last of that; one
// launch behind them stands for what the library does.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/match/AttentionGradient.h"

#include "passes/kernel/match/AttentionSteps.h"
#include "passes/kernel/match/TaskValues.h"

using namespace mlir;
using namespace mlir::epl;

static KernelOp kernelOf(LaunchOp launch, const SymbolTable &symbols) {
  return symbols.lookup<KernelOp>(launch.getKernel());
}

MaskOf mlir::epl::getMaskOf(LaunchOp launch, const SymbolTable &symbols, int64_t rows, int64_t columns) {
  return [=, &symbols](BlockArgument argument) mutable -> std::optional<bool> {
    auto made = dyn_cast<OpResult>(getOrigin(launch.getInputs()[argument.getArgNumber()]));
    auto maker = made ? dyn_cast<LaunchOp>(made.getOwner()) : LaunchOp();
    return maker ? matchCausalMask(kernelOf(maker, symbols), made.getResultNumber(), rows, columns)
                 : std::nullopt;
  };
}

/// The only launch that reads a value, or null.
static LaunchOp getOnlyReader(Value value) {
  std::optional<SmallVector<OpOperand *>> readers = getReaders(value);
  return readers && readers->size() == 1 ? cast<LaunchOp>(readers->front()->getOwner()) : LaunchOp();
}

//===----------------------------------------------------------------------===//
// Finding it
//===----------------------------------------------------------------------===//

std::optional<AttentionGradient> AttentionGradient::find(const FoundAttention &attention,
                                                         const SymbolTable &symbols) {
  AttentionGradient found(attention);
  bool isFound = found.findLayouts(symbols) && found.findParts(symbols) && found.findOutputs(symbols) &&
                 found.findSteps() && found.findPlace();
  return isFound ? std::optional(std::move(found)) : std::nullopt;
}

/// Of samples and heads, positions, and elements of each.
SmallVector<int64_t> AttentionGradient::getExtents(int64_t positions, int64_t width) const {
  SmallVector<int64_t> extents(attention.pairs.batch.begin(), attention.pairs.batch.end());
  extents.append({positions, width});
  return extents;
}

/// Whether a tensor of the gradient, which lies like that, is one of the attention, or a copy of it in
/// another order.
bool AttentionGradient::isSame(Value tensor, const AttentionLayout &layout, Value own,
                               const AttentionLayout &ownLayout, ArrayRef<int64_t> extents,
                               const SymbolTable &symbols) const {
  if (getOrigin(tensor) == getOrigin(own))
    return layout == ownLayout;
  auto copy = getOrigin(tensor).getDefiningOp<LaunchOp>();
  auto dims = copy && copy.getInputs().size() == 1 && getOrigin(copy.getInputs()[0]) == getOrigin(own)
                  ? matchReordering(kernelOf(copy, symbols))
                  : std::nullopt;
  if (!dims)
    return false;
  auto getSteps = [](const AttentionLayout &from) {
    SmallVector<int64_t> steps(from.batch.begin(), from.batch.end());
    steps.append({from.position, 1});
    return steps;
  };
  return llvm::all_of(llvm::zip_equal(getSteps(layout), getSteps(ownLayout), extents), [&](auto each) {
    auto [step, ownStep, extent] = each;
    bool isShared = step == 0 && ownStep == 0; // by the heads of a group
    return isShared || llvm::any_of(*dims, [&](const std::array<int64_t, 3> &dim) {
             auto [to, from, all] = dim; // of which the step may be through a part: heads of a group
             return step % to == 0 && ownStep == from * (step / to) && step / to * extent <= all;
           });
  });
}

/// Of the attention's own tensors.
bool AttentionGradient::findLayouts(const SymbolTable &symbols) {
  std::optional<PairsOf> scores = matchPairsOf(kernelOf(attention.scores, symbols), attention.pairs);
  std::optional<PairsProduct> values =
      matchPairsProduct(kernelOf(attention.product, symbols), 0, attention.pairs);
  if (!scores || !values || values->isTransposed)
    return false;
  ofScores = *scores, ofValues = *values;
  q = attention.scores.getInputs()[ofScores.x], k = attention.scores.getInputs()[ofScores.y];
  v = attention.product.getInputs()[ofValues.tensor];
  return true;
}

/// Who reads what the softmax makes: the product for the gradient of v, and its own gradient.
bool AttentionGradient::findParts(const SymbolTable &symbols) {
  OpOperand *weights = nullptr;
  for (OpResult result : attention.softmax->getResults()) {
    std::optional<SmallVector<OpOperand *>> readers = getReaders(result);
    if (!readers)
      return false;
    for (OpOperand *reader : *readers) {
      auto launch = cast<LaunchOp>(reader->getOwner());
      if (launch == attention.product)
        continue;
      bool isProduct = kernelOf(launch, symbols).getKind() == KernelKind::contraction;
      if (isProduct ? weights != nullptr : dScores && dScores != launch)
        return false;
      if (isProduct)
        weights = reader;
      else
        dScores = launch;
    }
  }
  if (!weights || !dScores || weights->getOwner()->getBlock() != dScores->getBlock())
    return false;
  auto from = dyn_cast<TaskOp>(attention.product->getParentOp()),
       to = dyn_cast<TaskOp>(dScores->getParentOp());
  return from && to && !from.getOwner() && !to.getOwner() &&
         from->getAttr(EplDialect::kGuardsAttr) == to->getAttr(EplDialect::kGuardsAttr) &&
         matchValues(*weights, symbols) && matchScores(dScores, symbols);
}

/// dv = p^T dO.
bool AttentionGradient::matchValues(OpOperand &weights, const SymbolTable &symbols) {
  auto launch = cast<LaunchOp>(weights.getOwner());
  auto made = dyn_cast<OpResult>(getOrigin(weights.get()));
  if (!made || attention.row.results[made.getResultNumber()] != getSoftmaxValue())
    return false;
  std::optional<PairsProduct> product =
      matchPairsProduct(kernelOf(launch, symbols), weights.getOperandNumber(), attention.pairs);
  if (!product || !product->isTransposed || product->width != ofValues.width)
    return false;
  dO = launch.getInputs()[product->tensor];
  doLayout = product->of, dvLayout = product->made;
  dv = finish(launch, dvLayout, ofValues.width, /*isOfQueries=*/false, symbols);
  return dv && getElementTypeOrSelf(dO) == getElementTypeOrSelf(weights.get());
}

/// ds of dp = dO v^T, and of what the softmax has made.
bool AttentionGradient::matchScores(LaunchOp launch, const SymbolTable &symbols) {
  RowGradientArguments arguments{0, {}, attention.row.isCausal};
  LaunchOp dWeights;
  for (auto [number, input] : llvm::enumerate(launch.getInputs())) {
    auto made = dyn_cast<OpResult>(getOrigin(input));
    auto maker = made ? dyn_cast<LaunchOp>(made.getOwner()) : LaunchOp();
    std::optional<RowValue> value;
    if (maker == attention.softmax)
      value = attention.row.results[made.getResultNumber()];
    arguments.values.push_back(value);
    if (value || getElementTypeOrSelf(input).isInteger(1))
      continue;
    if (!maker || dWeights || maker->getBlock() != launch->getBlock() || getOnlyReader(made) != launch)
      return false;
    dWeights = maker;
    arguments.gradient = number;
  }
  std::optional<PairsOf> product =
      dWeights ? matchPairsOf(kernelOf(dWeights, symbols), attention.pairs) : std::nullopt;
  if (!product || product->width != ofValues.width || product->ofX != doLayout ||
      getOrigin(dWeights.getInputs()[product->x]) != getOrigin(dO) ||
      !isSame(dWeights.getInputs()[product->y], product->ofY, v, ofValues.of,
              getExtents(attention.pairs.columns, ofValues.width), symbols))
    return false;
  parts.push_back(dWeights);
  parts.push_back(launch);
  std::optional<double> factor =
      matchRowGradient(kernelOf(launch, symbols), arguments, attention.pairs.rows, attention.pairs.columns,
                       getMaskOf(launch, symbols, attention.pairs.rows, attention.pairs.columns));
  return factor && float(*factor) == float(attention.row.scale);
}

/// dq = ds k, dk = ds^T q: all that reads ds.
bool AttentionGradient::findOutputs(const SymbolTable &symbols) {
  std::optional<SmallVector<OpOperand *>> readers = getReaders(dScores.getResult(0));
  if (!readers || readers->size() != 2)
    return false;
  for (OpOperand *reader : *readers) {
    auto launch = cast<LaunchOp>(reader->getOwner());
    std::optional<PairsProduct> product =
        launch->getBlock() == dScores->getBlock()
            ? matchPairsProduct(kernelOf(launch, symbols), reader->getOperandNumber(), attention.pairs)
            : std::nullopt;
    if (!product || product->width != ofScores.width)
      return false;
    bool isOfQueries = !product->isTransposed;
    if (!isSame(launch.getInputs()[product->tensor], product->of, isOfQueries ? k : q,
                isOfQueries ? ofScores.ofY : ofScores.ofX,
                getExtents(isOfQueries ? attention.pairs.columns : attention.pairs.rows, product->width),
                symbols))
      return false;
    AttentionLayout &layout = isOfQueries ? dqLayout : dkLayout;
    layout = product->made;
    (isOfQueries ? dq : dk) = finish(launch, layout, ofScores.width, isOfQueries, symbols);
  }
  return dq && dk;
}

/// A product as a part, and what alone reads it, if that rounds it, or adds up what it makes for each head of
/// a group: what makes the gradient; null if nothing makes it in the type of the tensors.
LaunchOp AttentionGradient::finish(LaunchOp product, AttentionLayout &layout, int64_t width, bool isOfQueries,
                                   const SymbolTable &symbols) {
  Type type = getElementTypeOrSelf(attention.product.getInputs()[1]);
  parts.push_back(product);
  auto isOfType = [&](LaunchOp launch) {
    return launch && launch->getBlock() == product->getBlock() &&
           getElementTypeOrSelf(launch->getResult(0)) == type;
  };
  if (!isOfType(product)) {
    LaunchOp rounding = getOnlyReader(product.getResult(0));
    if (!isOfType(rounding) || !isRounding(kernelOf(rounding, symbols)))
      return {};
    parts.push_back(rounding);
  }
  LaunchOp last = parts.back();
  const AttentionPairs &pairs = attention.pairs;
  if (isOfQueries || !pairs.group || layout.batch[*pairs.group] == 0)
    return last;
  LaunchOp sum = getOnlyReader(last.getResult(0));
  std::optional<AttentionLayout> summed =
      isOfType(sum) ? matchGroupSum(kernelOf(sum, symbols), layout, pairs, width) : std::nullopt;
  if (!summed)
    return {};
  layout = *summed;
  parts.push_back(sum);
  return sum;
}

/// How all tensors lie, as the library has them.
bool AttentionGradient::findSteps() {
  for (auto [layout, isOfQueries] :
       {std::pair(&dqLayout, true), std::pair(&dkLayout, false), std::pair(&dvLayout, false),
        std::pair(&ofScores.ofX, true), std::pair(&ofScores.ofY, false), std::pair(&ofValues.of, false),
        std::pair(&ofValues.made, true), std::pair(&doLayout, true)}) {
    std::optional<SmallVector<int64_t, 3>> each = attention.pairs.getSteps(*layout, isOfQueries);
    if (!each)
      return false;
    llvm::append_range(steps, *each);
  }
  return true;
}

/// Behind all that they read, before all that reads the gradients.
bool AttentionGradient::findPlace() {
  Block *block = dScores->getBlock();
  llvm::sort(parts, [](LaunchOp one, LaunchOp other) { return one->isBeforeInBlock(other); });
  auto isPart = [&](Operation *op) { return llvm::is_contained(parts, op); };
  auto take = [&](Operation *op) {
    if (op && op->getBlock() == block && !isPart(op) && (!place || place->isBeforeInBlock(op)))
      place = op;
  };
  take(attention.product);
  for (LaunchOp part : parts)
    for (Value input : part.getInputs()) {
      while (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(input.getDefiningOp()))
        input = input.getDefiningOp()->getOperand(0);
      take(input.getDefiningOp());
    }
  return llvm::all_of(ArrayRef<LaunchOp>{dq, dk, dv}, [&](LaunchOp made) {
    return llvm::all_of(made->getUsers(),
                        [&](Operation *user) { return !place || place->isBeforeInBlock(user); });
  });
}

//===----------------------------------------------------------------------===//
// Standing for it
//===----------------------------------------------------------------------===//

/// The kernel that gives its first three inputs on.
static KernelOp addKernel(ArrayRef<Value> inputs, AttentionGradientAttr attr, LaunchOp behind,
                          SymbolTable &symbols) {
  OpBuilder b(behind.getContext());
  auto kernel = KernelOp::create(b, behind.getLoc(), "attention_gradient", KernelKind::fusion);
  kernel.setAttentionGradientAttr(attr);
  Block &body = kernel.getBody().emplaceBlock();
  for (Value input : inputs)
    body.addArgument(input.getType(), behind.getLoc());
  b.setInsertionPointToEnd(&body);
  YieldOp::create(b, behind.getLoc(), ValueRange(body.getArguments().take_front(3)));
  symbols.insert(kernel, Block::iterator(symbols.lookup(behind.getKernel())));
  return kernel;
}

/// The type of what a task makes of the softmax: it says along which axes the ranks differ.
static DistType getDistType(LaunchOp softmax, TaskOp task) {
  for (auto [result, value] :
       llvm::zip_equal(task.getResults(), task.getBody().front().getTerminator()->getOperands()))
    if (getOrigin(value).getDefiningOp() == softmax)
      return cast<DistType>(result.getType());
  return {};
}

bool AttentionGradient::replace(LaunchOp end, SymbolTable &symbols) {
  auto to = cast<TaskOp>(dScores->getParentOp());
  SmallVector<Value> inputs = {dq.getResult(0), dk.getResult(0), dv.getResult(0)};
  for (Value made : {q, k, v, Value(end.getResult(0)), Value(end.getResult(1))}) {
    Value inside = findInside(to, getOrigin(made));
    if (!inside) {
      DistType like = getDistType(attention.softmax, cast<TaskOp>(end->getParentOp()));
      inside = like ? passTo(to, made, like) : Value();
    }
    if (!inside)
      return false;
    inputs.push_back(inside);
  }
  inputs.insert(inputs.end() - 1, dO);
  moveBehind(place == attention.product.getOperation() ? end.getOperation() : place,
             llvm::map_to_vector(parts, [](LaunchOp part) { return part.getOperation(); }));
  LaunchOp last = parts.back();
  auto attr = AttentionGradientAttr::get(last.getContext(), int64_t(parts.size()), steps);
  KernelOp kernel = addKernel(inputs, attr, last, symbols);
  OpBuilder b(last.getContext());
  b.setInsertionPointAfter(last);
  auto made = LaunchOp::create(b, dScores.getLoc(), TypeRange(ValueRange(inputs).take_front(3)),
                               FlatSymbolRefAttr::get(kernel.getSymNameAttr()), inputs);
  for (auto [input, result] : llvm::zip(inputs, made.getResults()))
    input.replaceAllUsesExcept(result, made);
  return true;
}
