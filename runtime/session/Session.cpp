#include "runtime/session/Session.h"

#include "runtime/Error.h"
#include "runtime/plan/model/Outside.h"
#include "runtime/session/OpenDevices.h"

#include <algorithm>
#include <ranges>

namespace epl::runtime {

/// How a call uses an argument.
struct Session::Use {
  std::shared_ptr<Storage> storage; // of a state value that has this slot's layout; else null
  bool donated = false;             // its value is consumed
  bool inPlace = false;             // its storage becomes the result's
};

/// The coordinates of a member on the axes of its communicator, the first of which is major.
static std::vector<std::pair<std::string, uint32_t>> coordinatesOf(const plan::PlanT &plan,
                                                                   const plan::Owner &owner) {
  std::vector<std::pair<std::string, uint32_t>> coordinates;
  uint32_t member = owner.member();
  for (const std::string &name : std::views::reverse(plan.communicators[owner.communicator()]->axes)) {
    uint32_t size = plan.axes[axisIndex(plan, name)]->size;
    coordinates.emplace(coordinates.begin(), name, member % size);
    member /= size;
  }
  return coordinates;
}

static std::optional<StateBuffer::Sharding> shardingOf(const plan::PlanT &plan, const plan::SlotT &slot) {
  if (!plan.parts.empty())
    return std::nullopt;
  StateBuffer::Sharding sharding;
  sharding.shape = slot.shape;
  for (const auto &axis : plan.axes)
    sharding.axes.emplace_back(axis->name, axis->size);
  for (const auto &dim : slot.sharding)
    sharding.dims.push_back(dim->axes);
  if (slot.owner)
    sharding.owner = coordinatesOf(plan, *slot.owner);
  return sharding;
}

Session::Session(const std::shared_ptr<const plan::PlanT> &plan, const std::string &devices,
                 Executor &executor, std::shared_ptr<ProcessGroup> processes, bool keepsResults,
                 uint32_t maxThreads)
    : Session(plan, openDevices(*plan, devices, std::move(processes)), executor, keepsResults, maxThreads) {}

static uint32_t countThreads(const LoadedPlan &plan, const Executor &executor, uint32_t maxThreads) {
  if (plan.step())
    return 1; // who waits for the devices
  uint32_t most = std::min(plan.ranks().numDevices(), executor.maxWorkers());
  return maxThreads == 0 ? most : std::min(most, maxThreads);
}

Session::Session(const std::shared_ptr<const plan::PlanT> &plan, Backend backend, Executor &executor,
                 bool keepsResults, uint32_t maxThreads)
    : loaded(plan, backend, LocalRanks(*plan, backend.divide(*plan).ownDevices())),
      slots(loaded, keepsResults), executor(executor),
      frame(loaded, countThreads(loaded, executor, maxThreads)), outsideSlots(loaded) {
  if (outsideSlots.any() && backend.processes && backend.processes->numProcesses() > 1)
    throw Error("the plan pulls or pushes values, expected devices of one process, found " +
                std::to_string(backend.processes->numProcesses()) + " processes");
  for (uint32_t part = 0; part < loaded.numPrograms(); ++part)
    slotMemory.emplace_back(loaded, part, slots);
  std::optional<Processes> processes;
  if (backend.processes)
    processes = backend.divide(*plan);
  for (const auto &slot : loaded.plan().slots)
    kinds.push_back(std::make_shared<StateBuffer::Kind>(slot->name, TensorType::of(*slot),
                                                        shardingOf(loaded.plan(), *slot), processes));
  if (!backend.processes)
    return;
  std::shared_ptr<Transport> transport = backend.processes->open();
  resultMessages = std::make_unique<ResultMessages>(loaded, slots, *backend.processes, transport);
  if (backend.processes->numProcesses() > 1)
    agreement = std::make_unique<Agreement>(loaded, slots, *backend.processes, std::move(transport),
                                            uint32_t(slots.size()));
}

Session::~Session() {
  if (!executor.isForked())
    synchronize();
}

/// What keeps the caller's tensors alive, and what is outside.
static std::vector<std::shared_ptr<const void>> ownersOf(const std::vector<Argument> &arguments,
                                                         const std::shared_ptr<Outside> &outside) {
  std::vector<std::shared_ptr<const void>> owners{outside};
  for (const Argument &argument : arguments)
    if (const auto *tensor = std::get_if<HostTensor>(&argument))
      owners.push_back(tensor->owner);
    else if (const auto *part = std::get_if<LocalTensor>(&argument))
      owners.push_back(part->tensor.owner);
  return owners;
}

Outcome Session::call(const std::vector<Argument> &arguments, const std::vector<bool> &donate,
                      const std::string &name, bool waits, std::shared_ptr<Outside> outside) {
  releaseDone();
  if (!stopped.empty())
    throw Error(stopped);
  if (outside && !outsideSlots.any())
    throw Error(name + " pulls and pushes nothing, but was given what is outside");
  if (!outside && outsideSlots.any())
    throw Error(name + " pulls or pushes values, and was not given where: it is the step of a worker of "
                       "parameter servers");
  std::vector<Use> uses = examine(arguments, donate);
  frame.allocate(loaded);
  auto call = std::make_shared<Call>(executor, callCount + 1, name);
  std::vector<Binding> bindings;
  bindings.reserve(slots.size());
  for (size_t i = 0; i < arguments.size(); ++i)
    bindings.push_back(bind(i, arguments[i], uses[i], call));
  std::vector<Result> results = bindResults(bindings, call);
  call->hold(ownersOf(arguments, outside));
  CallStep::Setup setup{loaded, slots, slotMemory, resultMessages.get(), agreement.get()};
  executor.submit(std::make_shared<CallStep>(setup, frame, executor, call, std::move(bindings),
                                             describe(arguments), makeTransfers(std::move(outside), call)),
                  waits);
  calls.push_back(call);
  ++callCount;
  newest = call;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (uses[i].donated)
      std::get<std::shared_ptr<StateBuffer>>(arguments[i])->donate(call);
  return {std::move(results), std::move(call)};
}

void Session::expect(Outside &outside) {
  synchronize();
  outside.expect(outsideSlots.wanted());
}

/// Null if nothing is pulled or pushed.
std::unique_ptr<OutsideTransfers> Session::makeTransfers(std::shared_ptr<Outside> outside,
                                                         const std::shared_ptr<Call> &call) {
  if (!outside)
    return nullptr;
  OutsideTransfers::Setup setup{loaded, slots, slotMemory, outsideSlots, executor};
  return std::make_unique<OutsideTransfers>(setup, std::move(outside), call);
}

/// What is pulled is given by nobody else.
void Session::checkPulled(size_t index, const Argument &argument) const {
  bool isPulled = slot(index).role == plan::SlotRole::pulled;
  if (isPulled == std::holds_alternative<Pulled>(argument))
    return;
  if (isPulled)
    throw Error("argument \"" + slot(index).name + "\" is pulled, expected no value for it");
  throw Error("argument \"" + slot(index).name + "\" is not pulled, expected a value");
}

/// Checks all arguments and decides who is written in place: nothing is consumed before all are well.
std::vector<Session::Use> Session::examine(const std::vector<Argument> &arguments,
                                           const std::vector<bool> &donate) {
  if (arguments.size() != numArguments() || donate.size() != arguments.size())
    throw Error("found " + std::to_string(arguments.size()) + " arguments and " +
                std::to_string(donate.size()) + " donation flags, expected " +
                std::to_string(numArguments()) + " of each");
  std::vector<Use> uses(arguments.size());
  std::vector<const Storage *> memories; // of all states; one that stands twice is not consumed
  for (size_t i = 0; i < arguments.size(); ++i) {
    checkPulled(i, arguments[i]);
    if (std::holds_alternative<Pulled>(arguments[i]))
      continue;
    if (const auto *part = std::get_if<LocalTensor>(&arguments[i])) {
      localPart(i, part->tensor.type);
      continue;
    }
    const auto *value = std::get_if<std::shared_ptr<StateBuffer>>(&arguments[i]);
    checkType(i, value ? (*value)->type() : std::get<HostTensor>(arguments[i]).type);
    if (!value)
      continue;
    const std::shared_ptr<Storage> &storage = (*value)->use();
    memories.push_back(storage.get());
    uses[i].donated = donate[i] && slots.updateOf(i) >= 0;
    if (takes(i, **value))
      uses[i].storage = storage;
  }
  std::sort(memories.begin(), memories.end());
  for (size_t i = 0; i < arguments.size(); ++i) {
    Use &use = uses[i];
    if (!use.donated)
      continue;
    const Storage *memory = std::get<std::shared_ptr<StateBuffer>>(arguments[i])->use().get();
    auto [first, last] = std::equal_range(memories.begin(), memories.end(), memory);
    use.donated = last - first == 1;
    use.inPlace = use.donated && use.storage && use.storage->numViews == 0 && fits(i, *use.storage);
  }
  return uses;
}

/// Whether a step may write in memory of a value as it is laid out.
bool Session::fits(size_t index, const Storage &storage) const {
  return !storage.isShared() || slots.isShared(index);
}

bool Session::takes(size_t index, StateBuffer &value) const {
  return slots.isHeldOnce(index) && value.use()->is(slots.kind(index)) &&
         (!value.producer() || value.producer()->runsOn(executor));
}

void Session::checkType(size_t index, const TensorType &type) const {
  const TensorType &expected = kinds[index]->type;
  if (type != expected)
    throw Error("argument \"" + slot(index).name + "\" is " + type.str() + ", expected " + expected.str());
}

const LocalPart &Session::localPart(size_t index, size_t dim) {
  auto found = localParts.find({index, dim});
  if (found == localParts.end())
    found = localParts.emplace(std::pair(index, dim), LocalPart(loaded, slots, index, dim)).first;
  return found->second;
}

std::pair<size_t, size_t> Session::localRows(size_t index, size_t dim) {
  if (index >= numArguments() || dim >= kinds[index]->type.shape.size())
    throw Error("slot " + std::to_string(index) + " of the plan is no argument with a dimension " +
                std::to_string(dim));
  const LocalPart &part = localPart(index, dim);
  return {part.begin(), part.end()};
}

/// Of a tensor that has some of the rows along one dimension, the one in which it is smaller, all along
/// others.
const LocalPart &Session::localPart(size_t index, const TensorType &type) {
  const TensorType &whole = kinds[index]->type;
  if (slot(index).role == plan::SlotRole::state)
    throw Error("argument \"" + slot(index).name + "\" is a state, expected a batch for a part of it");
  if (type.shape.size() != whole.shape.size() || type.shape.empty() || type.element != whole.element)
    throw Error("argument \"" + slot(index).name + "\" is a part, " + type.str() + ", expected one of " +
                whole.str());
  size_t dim = size_t(std::ranges::mismatch(type.shape, whole.shape).in1 - type.shape.begin());
  dim = dim == type.shape.size() ? 0 : dim;
  auto [begin, end] = localRows(index, dim);
  TensorType expected = whole;
  expected.shape[dim] = int64_t(end - begin);
  if (type != expected)
    throw Error("argument \"" + slot(index).name + "\" is a part, " + type.str() + ", expected " +
                expected.str() + ": " + std::to_string(begin) + " to " + std::to_string(end) +
                " along dimension " + std::to_string(dim) + " of " + whole.str());
  return localPart(index, dim);
}

/// What other processes have to pass, too.
std::vector<Agreement::Said> Session::describe(const std::vector<Argument> &arguments) const {
  std::vector<Agreement::Said> said(agreement ? arguments.size() : 0);
  for (size_t i = 0; i < said.size(); ++i)
    if (const auto *tensor = std::get_if<HostTensor>(&arguments[i]))
      said[i] = agreement->describe(i, tensor->data);
    else if (const auto *value = std::get_if<std::shared_ptr<StateBuffer>>(&arguments[i]))
      said[i] = agreement->describe(i, **value);
  return said;
}

std::shared_ptr<Storage> Session::newStorage(size_t slot) const {
  return std::make_shared<Storage>(slots.kind(slot), slots.isShared(slot));
}

/// The argument's value in host memory, whatever layout it had.
HostTensor Session::hostValue(size_t slot, const Argument &argument) const {
  if (const auto *tensor = std::get_if<HostTensor>(&argument))
    return *tensor;
  return std::get<std::shared_ptr<StateBuffer>>(argument)->copyToHost();
}

Binding Session::bind(size_t index, const Argument &argument, const Use &use,
                      const std::shared_ptr<Call> &call) {
  Binding binding;
  if (std::holds_alternative<Pulled>(argument)) {
    provide(index);
    binding.host = outsideSlots.tensors[index];
    return binding;
  }
  if (const auto *part = std::get_if<LocalTensor>(&argument)) {
    provide(index);
    binding.host = part->tensor;
    binding.part = &localPart(index, part->tensor.type);
    return binding;
  }
  bool updated = slots.updateOf(index) >= 0;
  if (use.inPlace || (use.storage && !updated)) {
    binding.storage = use.storage;
  } else if (use.storage) {
    binding.storage = use.storage->takeSpare();
    if (!binding.storage || !fits(index, *binding.storage))
      binding.storage = newStorage(index);
    if (binding.storage->isShared())
      binding.copied = std::make_unique<std::once_flag>();
    binding.source = use.storage;
    if (use.donated && use.storage->numSnapshots != 0)
      binding.storage->keepSpare(use.storage, call);
  } else if (slot(index).role == plan::SlotRole::state) {
    binding.storage = newStorage(index);
    binding.storage->copyFromHost(hostValue(index, argument).data);
  } else {
    provide(index);
    binding.host = hostValue(index, argument);
  }
  return binding;
}

/// Takes the memory that an argument in the host needs on the devices.
void Session::provide(size_t index) {
  for (Slots::PartSlot slot : slots.partsOf(index))
    slotMemory[slot.part].provide(slot.slot);
}

/// Adds the bindings of the result slots and makes the handles of the results.
std::vector<Result> Session::bindResults(std::vector<Binding> &bindings,
                                         const std::shared_ptr<Call> &call) const {
  std::vector<Result> results;
  for (size_t index = numArguments(); index < slots.size(); ++index) {
    Binding &binding = bindings.emplace_back();
    if (int32_t argument = slot(index).updates; argument >= 0) {
      results.push_back(std::make_shared<StateBuffer>(kinds[argument], bindings[argument].storage, call));
      continue;
    }
    if (slots.isKept(index)) {
      binding.storage = newStorage(index);
      results.push_back(std::make_shared<StateBuffer>(kinds[index], binding.storage, call));
      continue;
    }
    // The verifier has proved that the step writes every byte.
    binding.host = HostTensor::allocate(kinds[index]->type, Memory::Fill::none);
    if (slot(index).role != plan::SlotRole::pushed)
      results.push_back(std::make_shared<HostResult>(slot(index).name, binding.host, call));
  }
  return results;
}

std::shared_ptr<StateBuffer> Session::state(size_t index, const HostTensor &tensor) {
  if (index >= numArguments())
    throw Error("slot " + std::to_string(index) + " of the plan is no argument");
  checkType(index, tensor.type);
  auto storage = newStorage(index);
  storage->copyFromHost(tensor.data);
  return std::make_shared<StateBuffer>(kinds[index], std::move(storage), nullptr);
}

std::shared_ptr<StateBuffer> Session::newState(size_t index) const {
  if (index >= numArguments())
    throw Error("slot " + std::to_string(index) + " of the plan is no argument");
  return std::make_shared<StateBuffer>(kinds[index], newStorage(index), nullptr);
}

void Session::synchronize() {
  for (const auto &call : calls)
    call->waitForEnd();
  releaseDone();
}

void Session::release() {
  synchronize();
  frame.release();
}

void Session::stop(const std::string &reason) {
  stopped = reason;
  for (const auto &call : calls)
    call->cancel(reason);
}

/// Lets go of the arguments of calls that have ended, whether or not somebody waited for them.
void Session::releaseDone() {
  while (!calls.empty() && calls.front()->done()) {
    calls.front()->release();
    calls.pop_front();
  }
}

void Session::trace(bool on) {
  synchronize();
  frame.trace.enable(on);
}

std::string Session::traceJson() {
  synchronize();
  return frame.trace.json(loaded);
}

} // namespace epl::runtime
