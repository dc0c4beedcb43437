#include "runtime/servers/drive/WorkerOutside.h"

#include "runtime/Error.h"
#include "runtime/servers/drive/FiniteCheck.h"

#include <utility>

namespace epl::runtime::servers {
namespace {

TensorType typeOf(const Job &job, PushId push) {
  const manifest::PushedT &pushed = *job.manifest.parameters.at(push.parameter)->pushes.at(push.index);
  return {pushed.type, pushed.shape};
}

} // namespace

WorkerOutside::WorkerOutside(Worker &worker, std::shared_ptr<const Job> from, const plan::PlanT &plan,
                             uint64_t step, Pulled pulledValues, Pushed pushedValues, bool keeps)
    : worker(worker), job(std::move(from)), step(step), pulled(std::move(pulledValues)),
      pushed(std::move(pushedValues)), keeps(keeps) {
  for (uint32_t slot = 0; slot < plan.slots.size(); ++slot)
    checkSlot(plan, slot);
  for (auto [slot, value] : pulled)
    slotOf[value] = slot;
  countPushes();
}

void WorkerOutside::checkSlot(const plan::PlanT &plan, uint32_t index) const {
  const plan::SlotT &slot = *plan.slots[index];
  auto fail = [&](const std::string &servers) {
    throw Error("\"" + slot.name + "\" of a worker's plan is " + plan::EnumNameSlotRole(slot.role) + ", " +
                TensorType::of(slot).str() + ", and servers have " + servers + " for it");
  };
  auto value = pulled.find(index);
  auto pushes = pushed.find(index);
  if ((slot.role == plan::SlotRole::pulled) != (value != pulled.end()) ||
      (slot.role == plan::SlotRole::pushed) != (pushes != pushed.end()))
    fail(value == pulled.end() && pushes == pushed.end() ? "nothing" : "something");
  std::vector<TensorType> found;
  if (value != pulled.end())
    found.push_back(typeOf(*job, value->second));
  else if (pushes != pushed.end())
    for (PushId push : pushes->second)
      found.push_back(typeOf(*job, push));
  for (const TensorType &type : found)
    if (type != TensorType::of(slot))
      fail(type.str());
}

/// Each parameter for which something is pushed has all of it.
void WorkerOutside::countPushes() {
  for (const auto &[slot, pushes] : pushed)
    for (PushId push : pushes)
      ++wholes[push.parameter].left;
  for (auto &[parameter, whole] : wholes) {
    const manifest::ParameterT &expected = *job->manifest.parameters[parameter];
    if (whole.left != expected.pushes.size())
      throw Error("a worker's plan pushes " + std::to_string(whole.left) + " values for \"" + expected.name +
                  "\", expected " + std::to_string(expected.pushes.size()));
    whole.pushes.resize(whole.left);
  }
}

void WorkerOutside::request(std::span<const Wanted> wanted) {
  std::vector<Worker::Wanted> values;
  values.reserve(wanted.size());
  for (const Wanted &each : wanted)
    values.push_back({pulled.at(each.slot), each.tensor});
  worker.request(step, values, *this);
}

void WorkerOutside::expect(std::span<const Wanted> wanted) {
  isExpected = true;
  request(wanted);
}

void WorkerOutside::pull(std::span<const Wanted> wanted, Outside::Listener &waiting) {
  Early before;
  {
    std::scoped_lock lock(comingMutex);
    listener = &waiting;
    before = std::exchange(early, {});
  }
  if (!isExpected)
    return request(wanted);
  if (before.failure)
    throw Error(*before.failure);
  for (uint32_t slot : before.slots)
    waiting.arrived(slot);
}

void WorkerOutside::arrived(ValueId value) {
  uint32_t slot = slotOf.at(value);
  {
    std::scoped_lock lock(comingMutex);
    if (!listener)
      return early.slots.push_back(slot);
  }
  listener->arrived(slot);
}

void WorkerOutside::failed(const std::string &reason) {
  {
    std::scoped_lock lock(comingMutex);
    if (!listener) {
      early.failure = reason;
      return;
    }
  }
  listener->failed(reason);
}

/// Whether all that is pushed for a parameter is there and may go, which is moved to `whole` then.
bool WorkerOutside::add(PushId push, const HostTensor &tensor, std::vector<HostTensor> &whole) {
  std::scoped_lock lock(mutex);
  Whole &own = wholes.at(push.parameter);
  own.pushes.at(push.index) = tensor;
  if (--own.left != 0)
    return false;
  (keeps ? kept[push.parameter] : whole) = std::move(own.pushes);
  return !keeps;
}

void WorkerOutside::hand(uint32_t parameter, const std::vector<HostTensor> &whole) {
  worker.push(step, parameter, whole);
  ++handed;
}

void WorkerOutside::push(uint32_t slot, const HostTensor &tensor) {
  for (PushId push : pushed.at(slot))
    if (std::vector<HostTensor> whole; add(push, tensor, whole))
      hand(push.parameter, whole);
}

void WorkerOutside::checkFinite() const {
  for (const auto &[parameter, whole] : kept)
    servers::checkFinite(*job, parameter, whole);
}

void WorkerOutside::release() {
  for (const auto &[parameter, whole] : std::exchange(kept, {}))
    hand(parameter, whole);
}

} // namespace epl::runtime::servers
