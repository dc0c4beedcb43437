#include "TestPlan.h"

#include "runtime/plan/format/Writer.h"
#include "runtime/plan/model/Origins.h"
#include "runtime/plan/model/Summary.h"
#include "runtime/plan/verify/Verifier.h"

#include <fstream>
#include <iterator>

namespace epl::runtime::test {

static std::vector<uint8_t> readImage() {
  std::ifstream file(EPL_TEST_KERNELS, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TestPlan::TestPlan(uint32_t devices) : TestPlan({{"data", devices}}) {}

TestPlan::TestPlan(const std::vector<std::pair<std::string, uint32_t>> &axes) {
  plan.version = planVersion;
  plan.devices = 1;
  plan.device_kind = "cpu";
  for (const auto &[name, size] : axes) {
    plan.devices *= size;
    auto axis = std::make_unique<plan::AxisT>();
    axis->name = name;
    axis->size = size;
    plan.axes.push_back(std::move(axis));
    auto communicator = std::make_unique<plan::CommunicatorT>();
    communicator->axes = {name};
    plan.communicators.push_back(std::move(communicator));
  }
  lane(plan::LaneKind::compute);
  for (size_t axis = 0; axis < axes.size(); ++axis)
    plan.lanes[lane(plan::LaneKind::communicate)]->communicator = int32_t(axis);
}

uint32_t TestPlan::lane(plan::LaneKind kind) {
  plan.lanes.push_back(std::make_unique<plan::LaneT>());
  plan.lanes.back()->kind = kind;
  return uint32_t(plan.lanes.size() - 1);
}

uint32_t TestPlan::slot(plan::SlotRole role, const std::string &name, plan::ElementType type,
                        std::vector<int64_t> shape, const Sharding &sharding, int32_t updates) {
  auto slot = std::make_unique<plan::SlotT>();
  slot->role = role;
  slot->name = name;
  slot->type = type;
  slot->shape = std::move(shape);
  slot->updates = updates;
  for (size_t dim = 0; dim < slot->shape.size(); ++dim) {
    slot->sharding.push_back(std::make_unique<plan::DimShardingT>());
    if (dim < sharding.size())
      slot->sharding.back()->axes = sharding[dim];
  }
  plan.slots.push_back(std::move(slot));
  return uint32_t(plan.slots.size() - 1);
}

uint32_t TestPlan::slotBuffer(uint32_t slot) {
  auto buffer = std::make_unique<plan::BufferT>();
  buffer->slot = int32_t(slot);
  buffer->size = localBytes(plan, *plan.slots[slot]);
  plan.buffers.push_back(std::move(buffer));
  return uint32_t(plan.buffers.size() - 1);
}

uint32_t TestPlan::buffer(uint64_t size) {
  auto buffer = std::make_unique<plan::BufferT>();
  buffer->size = size;
  buffer->offset = plan.arena_size;
  plan.arena_size += (size + 63) / 64 * 64;
  plan.buffers.push_back(std::move(buffer));
  return uint32_t(plan.buffers.size() - 1);
}

uint32_t TestPlan::kernel(const std::string &name, int64_t extent, const std::vector<uint32_t> &buffers) {
  auto [entry, isNew] = kernels.try_emplace({name, extent}, uint32_t(plan.kernels.size()));
  if (!isNew)
    return entry->second;
  auto kernel = std::make_unique<plan::KernelT>();
  kernel->name = kernel->symbol = name;
  kernel->extent = kernel->flops = extent;
  kernel->num_outputs = name == "nothing" || name == "wait_at_gate" || name == "fail" ? 0 : 1;
  kernel->num_inputs = uint32_t(buffers.size()) - kernel->num_outputs;
  for (uint32_t buffer : buffers)
    kernel->operand_sizes.push_back(plan.buffers[buffer]->size);
  if (kernel->num_outputs == 1)
    kernel->in_place.push_back(name == "increment" || name.starts_with("descend") ? 0 : -1);
  plan.kernels.push_back(std::move(kernel));
  return entry->second;
}

uint32_t TestPlan::launch(const std::string &name, int64_t extent, std::vector<uint32_t> buffers,
                          std::vector<plan::Wait> waits, uint32_t lane) {
  plan::LaunchT launch;
  launch.kernel = kernel(name, extent, buffers);
  launch.buffers = std::move(buffers);
  return command(name, std::move(launch), std::move(waits), lane);
}

uint32_t TestPlan::copy(uint32_t source, uint32_t target, std::vector<plan::Wait> waits, uint32_t lane,
                        plan::CopyT part) {
  part.source = source;
  part.target = target;
  if (part.size == 0)
    part.size = plan.buffers[target]->size;
  return command("copy", part, std::move(waits), lane);
}

uint32_t TestPlan::allReduce(plan::ReductionKind reduction, plan::ElementType type, uint32_t source,
                             uint32_t target, int64_t count, std::vector<plan::Wait> waits,
                             uint32_t communicator) {
  return allReduce(reduction, {{type, source, target, count}}, std::move(waits), communicator);
}

uint32_t TestPlan::allReduce(plan::ReductionKind reduction, const std::vector<Reduced> &tensors,
                             std::vector<plan::Wait> waits, uint32_t communicator) {
  plan::ReducePartT reduce;
  reduce.communicator = communicator;
  reduce.reduction = reduction;
  plan::GatherPartsT gather;
  gather.communicator = communicator;
  for (auto [type, source, target, count] : tensors) {
    plan::ReducedTensorT &reduced = reduce.tensors.emplace_back();
    reduced.type = type;
    reduced.source = source;
    reduced.target = target;
    reduced.count = count;
    plan::GatheredTensorT &gathered = gather.tensors.emplace_back();
    gathered.type = type;
    gathered.buffer = target;
    gathered.count = count;
  }
  gather.reduce = uint32_t(plan.commands.size());
  reduce.gather = gather.reduce + 1;
  uint32_t first = command("all_reduce", reduce, std::move(waits), communicator + 1);
  return command("all_reduce", gather, {afterMembers(first, communicator)}, communicator + 1);
}

uint32_t TestPlan::allGather(plan::ElementType type, uint32_t source, uint32_t target, int64_t outer,
                             int64_t inner, std::vector<plan::Wait> waits, uint32_t communicator) {
  plan::GatherBlocksT gather;
  gather.communicator = communicator;
  plan::GatheredBlocksT &tensor = gather.tensors.emplace_back();
  tensor.type = type;
  tensor.source = source;
  tensor.target = target;
  tensor.outer = outer;
  tensor.inner = inner;
  return command("all_gather", gather, std::move(waits), communicator + 1);
}

uint32_t TestPlan::add(const std::string &name, std::unique_ptr<plan::CommandT> command,
                       std::vector<plan::Wait> waits, uint32_t lane) {
  uint32_t index = uint32_t(plan.commands.size());
  command->name = name;
  command->location = "model.py:" + std::to_string(index + 1);
  command->work = "tg0.forward";
  command->waits = std::move(waits);
  command->lane = lane;
  plan.lanes[lane]->commands.push_back(index);
  plan.commands.push_back(std::move(command));
  return index;
}

plan::ImageT &TestPlan::image() {
  if (plan.images.empty())
    plan.images.push_back(std::make_unique<plan::ImageT>());
  return *plan.images[0];
}

std::shared_ptr<const plan::PlanT> TestPlan::finish() {
  image().bytes = readImage();
  plan.layout = layoutLine(plan);
  if (verifyTables(plan).empty())
    recordOrigins(plan);
  requireValid(plan);
  return std::make_shared<plan::PlanT>(std::move(plan));
}

plan::Wait after(uint32_t command) { return plan::Wait(command, plan::WaitScope::self, 0); }

plan::Wait afterMembers(uint32_t command, uint32_t communicator) {
  return plan::Wait(command, plan::WaitScope::members, communicator);
}

std::string devices(uint32_t count) { return "cpu:" + std::to_string(count); }

} // namespace epl::runtime::test
