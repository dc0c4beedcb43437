#include "test/unit/servers/Descent.h"

#include "runtime/plan/format/Writer.h"
#include "runtime/servers/model/Slices.h"
#include "test/unit/executor/TestPlan.h"

#include <algorithm>

namespace epl::runtime::servers::test {

using manifest::ArgumentRole;
using plan::ElementType;
using plan::SlotRole;
using runtime::test::TestPlan;

std::vector<uint8_t> descentPlan(int64_t size, bool backup, bool rate) {
  TestPlan plan(1);
  uint32_t w = plan.slot(SlotRole::state, "w", ElementType::f32, {size});
  uint32_t n = plan.slot(SlotRole::state, "n", ElementType::i64, {1});
  uint32_t g = plan.slot(SlotRole::batch, "g", ElementType::f32, {size});
  uint32_t eta = rate ? plan.slot(SlotRole::batch, "eta", ElementType::f32, {1}) : g;
  uint32_t taken = backup ? plan.slot(SlotRole::batch, "w_bak", ElementType::f32, {size}) : g;
  plan.slot(SlotRole::result, "w", ElementType::f32, {size}, {}, int32_t(w));
  plan.slot(SlotRole::result, "n", ElementType::i64, {1}, {}, int32_t(n));
  uint32_t parameter = plan.slotBuffer(w), count = plan.slotBuffer(n);
  if (rate)
    plan.launch("descend_by_f32", size, {parameter, plan.slotBuffer(g), plan.slotBuffer(eta), parameter});
  else
    plan.launch("descend_f32", size, {parameter, plan.slotBuffer(taken), parameter});
  plan.launch("increment", 1, {count, count});
  return serializePlan(*plan.finish());
}

static std::unique_ptr<manifest::PushedT> makePushed(int64_t size, bool sliced) {
  auto pushed = std::make_unique<manifest::PushedT>();
  pushed->type = ElementType::f32, pushed->shape = {size}, pushed->sliced = sliced;
  return pushed;
}

static std::unique_ptr<manifest::ParameterT> makeParameter(const Descent &descent) {
  auto parameter = std::make_unique<manifest::ParameterT>();
  parameter->name = "w", parameter->type = ElementType::f32, parameter->shape = {descent.size};
  auto count = std::make_unique<manifest::StateT>();
  count->name = "n", count->type = ElementType::i64, count->shape = {1};
  parameter->states.push_back(std::move(count));
  parameter->pushes.push_back(makePushed(descent.size, /*sliced=*/true));
  if (descent.rate)
    parameter->pushes.push_back(makePushed(1, /*sliced=*/false));
  size_t blocks = size_t((descent.size + descent.blockSize - 1) / descent.blockSize);
  for (size_t i = 0; i < blocks; ++i) {
    auto block = std::make_unique<manifest::BlockT>();
    int64_t begin = int64_t(i) * descent.blockSize, size = std::min(descent.blockSize, descent.size - begin);
    block->name = blockName("w", i, blocks);
    block->begin = uint64_t(begin), block->size = uint64_t(size), block->shape = {size};
    block->server = uint32_t(i) % descent.servers, block->plan = size == descent.blockSize ? 0 : 1;
    parameter->blocks.push_back(std::move(block));
  }
  return parameter;
}

std::shared_ptr<manifest::ManifestT> descentManifest(const Descent &descent) {
  auto made = std::make_shared<manifest::ManifestT>();
  made->version = manifestVersion, made->mode = descent.mode;
  made->workers = descent.workers, made->servers = descent.servers;
  made->parameters.push_back(makeParameter(descent));
  bool backup = descent.mode == manifest::Mode::dc_asgd;
  for (int64_t size : {descent.blockSize, descent.size % descent.blockSize}) {
    if (size == 0)
      continue;
    auto plan = std::make_unique<manifest::ApplyPlanT>();
    plan->arguments = {{ArgumentRole::parameter, -1}, {ArgumentRole::state, 0}, {ArgumentRole::gradient, 0}};
    if (descent.rate)
      plan->arguments.emplace_back(ArgumentRole::gradient, 1);
    if (backup)
      plan->arguments.emplace_back(ArgumentRole::backup, -1);
    Hash128 hash = hashBytes(descentPlan(size, backup, descent.rate));
    plan->hash_low = hash.low, plan->hash_high = hash.high;
    made->plans.push_back(std::move(plan));
  }
  return made;
}

HostTensor floats(const std::vector<float> &values) {
  HostTensor result = HostTensor::allocate({ElementType::f32, {int64_t(values.size())}});
  std::ranges::copy(std::as_bytes(std::span(values)), result.data);
  return result;
}

} // namespace epl::runtime::servers::test
