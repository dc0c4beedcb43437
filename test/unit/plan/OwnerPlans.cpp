#include "test/unit/plan/Plans.h"

namespace epl::runtime::test {

using plan::SlotRole;

void PlanMaker::reduce(const std::string &name, uint32_t communicator, uint32_t root, uint32_t source,
                       uint32_t target) {
  plan::ReduceToRootT reduce;
  reduce.communicator = communicator;
  reduce.root = root;
  plan::ReducedTensorT &tensor = reduce.tensors.emplace_back();
  tensor.type = plan::ElementType::i8;
  tensor.source = source;
  tensor.target = target;
  tensor.count = int64_t(sizeOf(source));
  reduceToRoot({.name = name, .location = "", .work = "tg0.backward"}, std::move(reduce));
}

void PlanMaker::broadcast(const std::string &name, uint32_t communicator, uint32_t root,
                          const std::vector<uint32_t> &buffers) {
  plan::CopyFromRootT copy;
  copy.communicator = communicator;
  copy.root = root;
  for (uint32_t buffer : buffers) {
    plan::GatheredTensorT &tensor = copy.tensors.emplace_back();
    tensor.type = plan::ElementType::i8;
    tensor.buffer = buffer;
    tensor.count = int64_t(sizeOf(buffer));
  }
  copyFromRoot({.name = name, .location = "", .work = "tg0.apply"}, std::move(copy));
}

uint32_t PlanMaker::ownedSlot(const std::string &name, SlotRole role, int64_t size, plan::Owner owner,
                              int32_t updates) {
  plan::SlotT slot;
  slot.name = name;
  slot.role = role;
  slot.type = plan::ElementType::i8;
  slot.shape = {size};
  slot.sharding.push_back(std::make_unique<plan::DimShardingT>());
  slot.updates = updates;
  slot.owner = std::make_unique<plan::Owner>(owner);
  uint32_t index = addSlot(std::move(slot));
  if (role == SlotRole::state)
    sizes[slotBuffer(index)] = uint64_t(size);
  return index;
}

namespace {

/// A parameter, two moments of it, and their new values.
struct Owned {
  int64_t size;
  plan::Owner owner;
  uint32_t weight;                   // buffer of the parameter
  uint32_t parameter, first, second; // slots
  uint32_t newParameter = 0, newFirst = 0, newSecond = 0;
};

std::string named(const char *name, size_t index) { return name + std::to_string(index); }

} // namespace

plan::PlanT ownersPlan(uint32_t members, uint32_t models) {
  PlanMaker maker;
  maker.axis("data", members);
  maker.axis("model", models);
  uint32_t all = maker.addCommunicator({"data"}), split = maker.addCommunicator({"model"});
  std::vector<Owned> owned;
  for (int64_t size : {80, 33, 1, 64}) {
    size_t index = owned.size();
    plan::Owner owner(all, uint32_t(index) % members);
    uint32_t weight = maker.argument(named("w", index), SlotRole::state, size);
    auto parameter = uint32_t(3 * index); // behind three slots of each before
    uint32_t first = maker.ownedSlot(named("m", index), SlotRole::state, size, owner);
    owned.push_back({size, owner, weight, parameter, first,
                     maker.ownedSlot(named("v", index), SlotRole::state, size, owner)});
  }
  uint32_t x = maker.argument("x", SlotRole::batch, 48 * members, {"data"});
  for (size_t i = 0; i < owned.size(); ++i) {
    Owned &each = owned[i];
    each.newParameter = maker.slot(named("w", i), SlotRole::result, each.size, {}, int32_t(each.parameter));
    each.newFirst =
        maker.ownedSlot(named("m", i), SlotRole::result, each.size, each.owner, int32_t(each.first));
    each.newSecond =
        maker.ownedSlot(named("v", i), SlotRole::result, each.size, each.owner, int32_t(each.second));
  }
  std::vector<uint32_t> sums, sent;
  for (size_t i = 0; i < owned.size(); ++i) {
    uint32_t gradient = maker.buffer(named("g", i), uint64_t(owned[i].size));
    sums.push_back(maker.buffer(named("sum", i), uint64_t(owned[i].size)));
    maker.run(named("backward", i), {x, owned[i].weight}, {gradient});
    maker.reduce(named("reduce", i), all, owned[i].owner.member(), gradient, sums[i]);
  }
  for (size_t i = 0; i < owned.size(); ++i) {
    const Owned &each = owned[i];
    uint32_t moment = maker.buffer(named("next m", i), uint64_t(each.size));
    uint32_t norm = maker.buffer("norm", 8), whole = maker.buffer("whole norm", 8);
    sent.push_back(maker.buffer(named("next w", i), uint64_t(each.size)));
    maker.setOwner(each.owner);
    maker.run(named("moment", i), {sums[i], maker.slotBuffer(each.first)}, {moment}, {0});
    maker.run(named("norm", i), {moment}, {norm});
    maker.sum(named("norm", i), split, norm, whole);
    maker.run(named("update", i), {each.weight, moment, whole}, {sent[i]}, {0});
    maker.setOwner(std::nullopt);
    maker.setResult(each.newFirst, maker.slotBuffer(each.second)); // as it was
    maker.setResult(each.newSecond, moment);
    maker.setResult(each.newParameter, sent[i]);
  }
  for (uint32_t member = 0; member < members; ++member) {
    std::vector<uint32_t> own;
    for (size_t i = 0; i < owned.size(); ++i)
      if (owned[i].owner.member() == member)
        own.push_back(sent[i]);
    maker.broadcast(named("broadcast", member), all, member, own);
  }
  uint32_t look = maker.buffer("look", 16), result = maker.slot("look", SlotRole::result, 16);
  maker.run("look", {sent[0], sent[1]}, {look}); // new parameters, read by all
  maker.setResult(result, look);
  return maker.finish();
}

} // namespace epl::runtime::test
