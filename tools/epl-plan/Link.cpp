#include "Link.h"

#include "runtime/plan/build/Builder.h"
#include "runtime/session/Session.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace epl::runtime::tool {

static uint32_t addSlot(Builder &builder, const char *name, int64_t count, int32_t updates) {
  plan::SlotT slot;
  slot.name = name;
  slot.role = updates < 0 ? plan::SlotRole::state : plan::SlotRole::result;
  slot.type = plan::ElementType::f32;
  slot.shape = {count};
  slot.sharding.push_back(std::make_unique<plan::DimShardingT>());
  slot.updates = updates;
  return builder.addSlot(std::move(slot));
}

/// A step of `collectives` all-reduces of `count` elements, of which each reads what the one before has made.
static plan::PlanT makeChain(uint32_t devices, int collectives, int64_t count) {
  Builder builder("cpu");
  builder.addAxis("data", devices);
  uint32_t members = builder.addCommunicator({"data"});
  uint32_t argument = addSlot(builder, "x", count, -1);
  uint32_t result = addSlot(builder, "next x", count, int32_t(argument));
  uint32_t source = builder.slotBuffer(argument);
  for (int i = 0; i < collectives; ++i) {
    plan::ReducePartT reduce;
    reduce.communicator = members;
    reduce.reduction = plan::ReductionKind::sum;
    uint32_t target = builder.addBuffer("sum" + std::to_string(i), uint64_t(count) * sizeof(float));
    plan::ReducedTensorT &tensor = reduce.tensors.emplace_back();
    tensor.type = plan::ElementType::f32;
    tensor.source = source;
    tensor.target = target;
    tensor.count = count;
    builder.allReduce({"all_reduce", "", ""}, std::move(reduce));
    source = target;
  }
  builder.setResult(result, source);
  return builder.finish();
}

/// The shortest of some steps, behind one that warms up. What disturbs a step makes it longer.
static double stepNanoseconds(uint32_t devices, int collectives, int64_t count, int steps) {
  using Clock = std::chrono::steady_clock;
  Session session(std::make_shared<plan::PlanT>(makeChain(devices, collectives, count)),
                  "cpu:" + std::to_string(devices));
  std::vector<Argument> arguments = {HostTensor::allocate({plan::ElementType::f32, {count}})};
  double best = std::numeric_limits<double>::infinity();
  for (int step = 0; step <= steps; ++step) {
    Clock::time_point begin = Clock::now();
    Outcome outcome = session.call(arguments, {true}, "epl-plan machine", /*waits=*/true);
    outcome.call->wait();
    if (step > 0)
      best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
    arguments = {std::get<std::shared_ptr<StateBuffer>>(outcome.results.front())};
  }
  return best;
}

/// What one of many collectives takes; what a step costs besides is shared among them. No difference of two
/// times is taken, which on a busy machine may be anything.
static double collectiveNanoseconds(uint32_t devices, int64_t count, int collectives, int steps) {
  return stepNanoseconds(devices, collectives, count, steps) / collectives;
}

Link measureLink(uint32_t devices) {
  constexpr int64_t count = int64_t(1) << 20;
  double small = collectiveNanoseconds(devices, 1, 256, 20),
         large = collectiveNanoseconds(devices, count, 8, 10);
  return {small, 2.0 * count * sizeof(float) / large};
}

} // namespace epl::runtime::tool
