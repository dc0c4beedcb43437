//===- FactorChoice.cpp - Which factor of an op is sharded ----------------===//

#include "passes/shard/analysis/FactorChoice.h"

#include "dialect/Channels.h"
#include "passes/shard/analysis/Enlarging.h"

#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/InterleavedRange.h"

#define DEBUG_TYPE "epl-factor-choice"

using namespace mlir;
using namespace mlir::epl;

FunctionRules::FunctionRules(func::FuncOp function, MeshOp mesh)
    : function(function), mesh(mesh), loops(function.getBody().front()), zeros(function), taskgraphs(mesh),
      workMeshes(function->getParentOfType<ModuleOp>()) {
  Block &body = function.getBody().front();
  numValues = body.getNumArguments();
  for (Operation &op : body.without_terminator()) {
    places[&op] = {static_cast<unsigned>(ops.size()), numValues};
    ops.push_back(&op);
    firstResults.push_back(numValues);
    numValues += op.getNumResults();
    if (auto last = dyn_cast<LoopLastOp>(op); last && loops.getCarry(last))
      lasts.push_back(last);
  }
  collectReaders();
  movedBytes.assign(numValues, -1);
  returnRule = addRule(body.getTerminator());
  for (Operation &op : body) {
    if (hasPosition(&op))
      rules.push_back(addRule(&op));
    if (SmallVector<OpOperand *> captured = mlir::epl::getCapturedTensors(&op); !captured.empty())
      captures[&op] = captured;
  }
  for (auto [result, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
    updatedArguments.push_back(mlir::epl::getUpdatedArgument(function, result));
    if (updatedArguments.back())
      updates[updatedArguments.back()] = value;
  }
  if (taskgraphs.isAnyMixed())
    batch.emplace(function, loops, [&](Operation *op) -> const FactorRule & { return getRule(op); });
}

bool FunctionRules::crossesMeshes(OpOperand &use) const {
  Operation *maker = use.get().getDefiningOp();
  if (!workMeshes.areSeveral() || !maker)
    return false;
  Operation *reader = maker->getBlock()->findAncestorOpInBlock(*use.getOwner());
  if (isa<LoopStackOp>(reader) && isSent(reader->getResult(0)))
    return true;
  StringAttr from = workMeshes.get(maker), to = workMeshes.get(reader);
  return from && to && from != to;
}

void FunctionRules::collectReaders() {
  Block &body = function.getBody().front();
  auto collect = [&](Value value) {
    firstReaders.push_back(readers.size());
    for (Operation *user : value.getUsers())
      if (Operation *op = body.findAncestorOpInBlock(*user); op && hasPosition(op))
        readers.push_back(getPosition(op));
  };
  llvm::for_each(body.getArguments(), collect);
  for (Operation *op : ops)
    llvm::for_each(op->getResults(), collect);
  firstReaders.push_back(readers.size());
}

std::optional<unsigned> FunctionRules::getNumber(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner() == &getFunction().getBody().front() ? std::optional(argument.getArgNumber())
                                                                   : std::nullopt;
  auto place = places.find(value.getDefiningOp());
  return place == places.end()
             ? std::nullopt
             : std::optional(place->second.firstResult + cast<OpResult>(value).getResultNumber());
}

ArrayRef<OpOperand *> FunctionRules::getCapturedTensors(Operation *op) const {
  auto captured = captures.find(op);
  return captured == captures.end() ? ArrayRef<OpOperand *>() : captured->second;
}

Value FunctionRules::getCarried(Operation *op) const {
  auto carry = dyn_cast<LoopCarryOp>(op);
  if (auto last = dyn_cast<LoopLastOp>(op))
    carry = loops.getCarry(last);
  return carry ? carry.getResult() : Value();
}

bool FunctionRules::isAccumulator(LoopCarryOp carry) const {
  if (!carry.getResult().hasOneUse() || !zeros.isZero(carry.getInit()))
    return false;
  Operation *user = *carry.getResult().user_begin();
  return user->getNumResults() == 1 && user->getResult(0).hasOneUse() &&
         loops.getLast(carry).getOperand() == user->getResult(0);
}

/// The number of parts that axes other than `axis` split dimension `dim` into.
static int64_t getOtherParts(MeshOp mesh, Value value, int64_t dim, StringRef axis) {
  ShardingAttr sharding = mesh.getAxes().size() > 1 ? getSharding(value) : ShardingAttr();
  if (!sharding)
    return 1;
  SmallVector<StringRef> axes = sharding.getDimAxes(dim);
  llvm::erase(axes, axis);
  return getAxesSize(mesh, axes);
}

bool FunctionRules::divides(Value value, int64_t dim, AxisAttr axis) const {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t parts = axis.getSize() * getOtherParts(mesh, value, dim, axis.getName());
  return !type.isDynamicDim(dim) && type.getDimSize(dim) % parts == 0;
}

bool FunctionRules::divides(ValueRange values, ArrayRef<SmallVector<int64_t>> dimFactors, int64_t factor,
                            AxisAttr axis) const {
  for (auto [value, factors] : llvm::zip_equal(values, dimFactors))
    for (auto [dim, each] : llvm::enumerate(factors))
      if (each == factor && !divides(value, dim, axis))
        return false;
  return true;
}

/// Whether the operands' dimensions of a factor divide by the axis and those that shard the factor in
/// results: of a reshape that joins two dimensions, the result's is larger than the operand's.
bool FunctionRules::dividesWithResults(Operation *op, int64_t factor, AxisAttr axis) const {
  const FactorRule &rule = getRule(op);
  int64_t parts = 1;
  for (auto [result, factors] : llvm::zip_equal(op->getResults(), rule.results))
    for (auto [dim, each] : llvm::enumerate(factors))
      if (each == factor)
        parts = std::max(parts, getOtherParts(mesh, result, dim, axis.getName()));
  for (auto [operand, factors] : llvm::zip_equal(op->getOperands(), rule.operands))
    for (auto [dim, each] : llvm::enumerate(factors))
      if (each == factor &&
          cast<RankedTensorType>(operand.getType()).getDimSize(dim) % (parts * axis.getSize()) != 0)
        return false;
  return true;
}

bool FunctionRules::canShard(Operation *op, int64_t factor, AxisAttr axis) const {
  const FactorRule &rule = getRule(op);
  if (factor == FactorRule::kBlocked || !divides(op->getOperands(), rule.operands, factor, axis) ||
      !divides(op->getResults(), rule.results, factor, axis) || !dividesWithResults(op, factor, axis))
    return false;
  return !rule.isReduction(factor) || startsNeutral(op);
}

bool FunctionRules::startsNeutral(Operation *op) const {
  auto accumulating = dyn_cast<DestinationStyleOpInterface>(op);
  if (!accumulating)
    return true;
  return llvm::all_of(llvm::zip_equal(getRule(op).reductions, accumulating.getDpsInits()), [&](auto pair) {
    auto [kind, init] = pair;
    return zeros.isNeutral(kind, init);
  });
}

bool mlir::epl::isPending(Value value, StateOf getState) {
  return isa<RankedTensorType>(value.getType()) && getState(value).partial.has_value();
}

bool mlir::epl::isPending(OpOperand &use, StateOf getState, const AssumedConstraints &assumed) {
  return isa<RankedTensorType>(use.get().getType()) && assumed.getRead(use, getState).partial.has_value();
}

/// Votes for `lookups` count only if there are no others.
static void dropLookups(MutableArrayRef<int64_t> votes, ArrayRef<int64_t> lookups) {
  auto isOther = [&](auto vote) { return vote.value() > 0 && !llvm::is_contained(lookups, vote.index()); };
  if (llvm::any_of(llvm::enumerate(votes), isOther))
    for (int64_t lookup : lookups)
      votes[lookup] = 0;
}

/// Dimension `i` of these ops is factor `i`; none is -1, that is, blocked.
std::optional<int64_t> FunctionRules::getSaidFactor(Operation *op, AxisAttr axis) {
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return reshard.getSharding().getDimOf(axis.getName());
  if (auto constrain = dyn_cast<ConstrainOp>(op))
    return constrain.getConstraint().getDimOf(axis.getName());
  return std::nullopt;
}

int64_t mlir::epl::getChosenFactor(Operation *op, AxisAttr axis) {
  if (std::optional<int64_t> said = FunctionRules::getSaidFactor(op, axis))
    return *said;
  auto factors = op->getAttrOfType<DictionaryAttr>(EplDialect::kFactorsAttr);
  auto factor = factors ? factors.getAs<IntegerAttr>(axis.getName()) : IntegerAttr();
  return factor ? factor.getInt() : FactorRule::kBlocked;
}

void mlir::epl::setChosenFactor(Operation *op, AxisAttr axis, int64_t factor) {
  if (FunctionRules::getSaidFactor(op, axis))
    return;
  NamedAttrList factors(op->getAttrOfType<DictionaryAttr>(EplDialect::kFactorsAttr));
  if (factor == FactorRule::kBlocked)
    factors.erase(axis.getName());
  else
    factors.set(axis.getName(), Builder(op).getI64IntegerAttr(factor));
  if (factors.empty())
    op->removeAttr(EplDialect::kFactorsAttr);
  else
    op->setAttr(EplDialect::kFactorsAttr, factors.getDictionary(op->getContext()));
}

int64_t FunctionRules::chooseFactor(Operation *op, AxisAttr axis, StateOf getState,
                                    const AssumedConstraints &assumed) const {
  const FactorRule &rule = getRule(op);
  if (std::optional<int64_t> said = getSaidFactor(op, axis))
    return *said;
  if (Value carried = getCarried(op)) {
    AxisState state = getState(carried);
    return state.isSharded() ? rule.results[0][state.dim] : FactorRule::kBlocked;
  }
  for (auto [result, factors] : llvm::zip_equal(op->getResults(), rule.results))
    if (AxisState state = factors.empty() ? AxisState() : getState(result); state.isSharded())
      return factors[state.dim];
  if (getUse(op, axis) == AxisUse::batch && canShard(op, batch->getFactor(op), axis))
    return batch->getFactor(op);
  return vote(op, axis, getState, assumed);
}

int64_t FunctionRules::getMovedBytes(OpOperand &use, const AssumedConstraints &assumed) const {
  std::optional<unsigned> number = assumed.isEmpty() ? getNumber(use.get()) : std::nullopt;
  if (!number)
    return mlir::epl::getMovedBytes(use, assumed);
  int64_t &known = movedBytes[*number];
  if (known < 0)
    known = mlir::epl::getMovedBytes(use.get());
  return known;
}

int64_t FunctionRules::vote(Operation *op, AxisAttr axis, StateOf getState,
                            const AssumedConstraints &assumed) const {
  const FactorRule &rule = getRule(op);
  bool splits = getUse(op, axis) == AxisUse::split;
  SmallVector<int64_t> votes(rule.factors.size(), 0), samples = votes;
  for (auto [operand, factors] : llvm::zip_equal(op->getOpOperands(), rule.operands)) {
    AxisState state = factors.empty() ? AxisState() : assumed.getRead(operand, getState);
    int64_t factor = state.isSharded() ? factors[state.dim] : FactorRule::kBlocked;
    if (canShard(op, factor, axis))
      (splits && state.dim == batch->getDim(operand.get()) ? samples : votes)[factor] +=
          getMovedBytes(operand, assumed);
  }
  if (llvm::all_of(votes, [](int64_t bytes) { return bytes == 0; }))
    votes = samples;
  dropLookups(votes, rule.lookups);
  auto winner = llvm::max_element(votes);
  if (winner == votes.end() || *winner == 0)
    return FactorRule::kBlocked;
  LDBG() << op->getName() << " over " << axis.getName() << ": factor " << winner - votes.begin()
         << " of bytes " << llvm::interleaved_array(votes);
  return winner - votes.begin();
}

std::optional<AxisState> mlir::epl::getSlicedState(Value value, UseStateOf getUseState) {
  std::optional<AxisState> sliced;
  for (OpOperand &use : value.getUses()) {
    std::optional<AxisState> state = getUseState(use);
    if (!state || !state->isSharded() || (sliced && *sliced != *state))
      return std::nullopt;
    sliced = state;
  }
  return sliced;
}

int64_t FunctionRules::chooseSlicedFactor(Operation *op, AxisAttr axis, UseStateOf getUseState) const {
  int64_t wanted = FactorRule::kBlocked;
  for (auto [result, factors] : llvm::zip_equal(op->getResults(), getRule(op).results)) {
    if (result.use_empty())
      continue;
    std::optional<AxisState> sliced = getSlicedState(result, getUseState);
    int64_t factor = sliced ? factors[sliced->dim] : FactorRule::kBlocked;
    if (factor == FactorRule::kBlocked || (wanted != FactorRule::kBlocked && wanted != factor))
      return FactorRule::kBlocked;
    wanted = factor;
  }
  return wanted != FactorRule::kBlocked && canShard(op, wanted, axis) ? wanted : FactorRule::kBlocked;
}

AxisState FunctionRules::getOperandState(Operation *op, unsigned operand, int64_t factor) const {
  if (factor == FactorRule::kBlocked)
    return {};
  ArrayRef<int64_t> factors = getRule(op).operands[operand];
  auto dim = llvm::find(factors, factor);
  return dim == factors.end() ? AxisState() : AxisState::sharded(dim - factors.begin());
}

/// The states of the results of an op that shards `factor`.
static SmallVector<AxisState> shardResults(const FactorRule &rule, int64_t factor) {
  SmallVector<AxisState> states;
  for (auto [factors, reduction] : llvm::zip_equal(rule.results, rule.reductions)) {
    auto dim = llvm::find(factors, factor);
    if (dim != factors.end())
      states.push_back(AxisState::sharded(dim - factors.begin()));
    else
      states.push_back(rule.isReduction(factor) ? AxisState::pending(reduction) : AxisState());
  }
  return states;
}

FailureOr<SmallVector<AxisState>> FunctionRules::getResultStates(Operation *op, int64_t factor, AxisAttr axis,
                                                                 StateOf getState,
                                                                 const AssumedConstraints &assumed,
                                                                 SmallVectorImpl<OpOperand *> *masked) const {
  auto isPendingUse = [&](OpOperand &use) { return isPending(use, getState, assumed); };
  if (llvm::any_of(llvm::make_pointee_range(getCapturedTensors(op)), isPendingUse))
    return failure();
  bool pending = llvm::any_of(op->getOpOperands(), isPendingUse);
  Value carried = getCarried(op);
  if (carried && getState(carried).partial) {
    bool fits = isa<LoopLastOp>(op) ? pending : isAccumulator(cast<LoopCarryOp>(op));
    if (!fits)
      return failure();
    return SmallVector<AxisState>{getState(carried)};
  }
  if (pending && (carried || getSaidFactor(op, axis)))
    return failure();
  if (factor == FactorRule::kBlocked)
    return pending ? flowPartial(op, getState, assumed, masked)
                   : FailureOr(SmallVector<AxisState>(op->getNumResults()));
  if (pending)
    return failure();
  return shardResults(getRule(op), factor);
}

/// Only sums flow; other reductions are completed where they are made.
FailureOr<SmallVector<Status>> FunctionRules::getStatuses(Operation *op, StateOf getState,
                                                          const AssumedConstraints &assumed) const {
  SmallVector<Status> statuses;
  for (OpOperand &operand : op->getOpOperands()) {
    bool isTensor = isa<RankedTensorType>(operand.get().getType());
    AxisState state = isTensor ? assumed.getRead(operand, getState) : AxisState();
    if (state.partial && *state.partial != ReductionKind::sum)
      return failure();
    statuses.push_back(state.partial ? Status::partial : zeros.getStatus(operand.get()));
  }
  return statuses;
}

/// Whether the results of an op on operands of these statuses are all sums, or all complete; then sets their
/// states. One that has both could be done in iterations over micro-batches and behind them, but not in one
/// place.
bool FunctionRules::isLinear(Operation *op, ArrayRef<Status> operands,
                             SmallVectorImpl<AxisState> &results) const {
  results.clear();
  for (Status status : evaluate(op, operands, [&](Value value) { return zeros.getStatus(value); })) {
    if (status == Status::illegal)
      return false;
    results.push_back(status == Status::partial ? AxisState::pending(ReductionKind::sum) : AxisState());
  }
  return llvm::all_equal(results);
}

/// Whether a complete value is made of one of which each member has a part or an addend.
bool FunctionRules::isMadeOfMembers(Value value, StateOf getState) const {
  llvm::SetVector<Value> open;
  open.insert(value);
  for (size_t i = 0; i < open.size(); ++i)
    if (isa<RankedTensorType>(open[i].getType()) && !getState(open[i]).isReplicated())
      return true;
    else if (Operation *maker = open[i].getDefiningOp())
      open.insert_range(getUsedValues(maker));
  return false;
}

/// Takes all complete inputs for sums of which one member has all. What an op starts from is not masked.
SmallVector<OpOperand *> FunctionRules::findMasked(Operation *op, StateOf getState,
                                                   const AssumedConstraints &assumed,
                                                   MutableArrayRef<Status> statuses) const {
  SmallVector<OpOperand *> masked;
  auto accumulating = dyn_cast<DestinationStyleOpInterface>(op);
  for (auto [use, status] : llvm::zip_equal(op->getOpOperands(), statuses)) {
    bool isInput =
        isa<RankedTensorType>(use.get().getType()) && !(accumulating && accumulating.isDpsInit(&use));
    if (isUnmasked || !isInput || status != Status::normal ||
        !assumed.getRead(use, getState).isReplicated() || (isInTime && isMadeOfMembers(use.get(), getState)))
      continue;
    status = Status::partial;
    masked.push_back(&use);
  }
  return masked;
}

FailureOr<SmallVector<AxisState>> FunctionRules::flowPartial(Operation *op, StateOf getState,
                                                             const AssumedConstraints &assumed,
                                                             SmallVectorImpl<OpOperand *> *masked) const {
  FailureOr<SmallVector<Status>> statuses = getStatuses(op, getState, assumed);
  SmallVector<AxisState> results;
  if (failed(statuses))
    return failure();
  if (isLinear(op, *statuses, results))
    return results;
  if (op->hasAttr(EplDialect::kPerMicroBatchAttr)) // what iterations add to statistics each adds to its own
    return failure();
  SmallVector<OpOperand *> once = findMasked(op, getState, assumed, *statuses);
  if (once.empty() || !isLinear(op, *statuses, results))
    return failure();
  if (masked)
    llvm::append_range(*masked, once);
  return results;
}
