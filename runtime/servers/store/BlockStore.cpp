#include "runtime/servers/store/BlockStore.h"

#include "runtime/Error.h"
#include "runtime/servers/store/Average.h"

#include <algorithm>

namespace epl::runtime::servers {

using manifest::ArgumentRole;

/// A block with its values: the parameter first, then the states.
struct BlockStore::Held {
  Lane &lane;
  UpdatePlan plan;
  std::vector<PushPart> parts; // of a push
  std::vector<std::shared_ptr<StateBuffer>> values;

  size_t slotOf(int32_t state) const {
    auto is = [&](const manifest::Argument &argument) {
      return isHeld(argument) && heldIndex(argument) == heldIndex(state);
    };
    return size_t(std::ranges::find_if(plan.arguments, is) - plan.arguments.begin());
  }

  /// What is applied of each tensor, in the memory of the first push.
  std::vector<HostTensor> combine(const Update &update) const {
    const HostTensor &target = update.gradients.front();
    std::vector<HostTensor> result;
    for (const PushPart &part : parts) {
      std::vector<const std::byte *> addends;
      addends.reserve(update.gradients.size());
      for (const HostTensor &push : update.gradients)
        addends.push_back(push.data + part.offset);
      if (addends.size() > 1 || update.factor != 1)
        addScaled(part.type, addends, update.factor, target.data + part.offset, part.elements);
      result.push_back({{part.type, part.shape}, target.data + part.offset, target.owner});
    }
    return result;
  }

  void apply(Update &update, const std::string &name) {
    std::vector<HostTensor> pushed = combine(update);
    auto others = [&](const manifest::Argument &argument) {
      return argument.role() == ArgumentRole::gradient ? pushed[size_t(argument.state())] : *update.backup;
    };
    plan.run(lane, values, others, name);
  }
};

BlockStore::BlockStore(std::shared_ptr<const manifest::ManifestT> job, uint32_t server,
                       const ApplyPlans &plans, uint32_t threads)
    : manifest(std::move(job)), table(*manifest), own(table.ofServer(server)), values(table.size()) {
  for (uint32_t lane = 0; lane < threads; ++lane)
    lanes.push_back(std::make_unique<Lane>());
  for (size_t i = 0; i < own.size(); ++i) {
    values[own[i]] = std::make_unique<Held>(
        Held{*lanes[i % lanes.size()], plans.get(table[own[i]].plan), table.pushParts(own[i]), {}});
    values[own[i]]->values.resize(1 + table.parameter(own[i]).states.size());
  }
  rows = std::make_unique<TableStore>(*manifest, server, plans, lanes);
}

BlockStore::~BlockStore() {
  for (const std::unique_ptr<Lane> &lane : lanes)
    lane->join();
}

const std::vector<uint32_t> &BlockStore::blocks() const { return own; }

BlockStore::Held &BlockStore::held(uint32_t block) const {
  if (block >= values.size() || !values[block])
    throw Error("block " + std::to_string(block) + " is not of this server");
  return *values[block];
}

TensorType BlockStore::typeOf(uint32_t block, int32_t state) const {
  const manifest::ParameterT &parameter = table.parameter(block);
  if (state == kParameter)
    return {parameter.type, table[block].shape};
  return {parameter.states[size_t(state)]->type, shapeIn(table[block], *parameter.states[size_t(state)])};
}

void BlockStore::set(uint32_t block, int32_t state, const HostTensor &value) {
  Held &target = held(block);
  // Made by the lane's own session, which alone may use it without a copy.
  target.values[heldIndex(state)] = target.lane.session(target.plan.plan).state(target.slotOf(state), value);
}

bool BlockStore::isComplete() const {
  auto isSet = [&](uint32_t block) {
    return std::ranges::all_of(held(block).values, [](const auto &value) { return value != nullptr; });
  };
  return std::ranges::all_of(own, isSet);
}

void BlockStore::update(uint32_t block, Update update, Done done) {
  Held &target = held(block);
  target.lane.post([&target, name = "an update of \"" + table[block].name + "\"",
                    update = std::make_shared<Update>(std::move(update)), done = std::move(done)] {
    std::string error;
    try {
      target.apply(*update, name);
    } catch (const std::exception &caught) {
      error = caught.what();
    }
    done(error);
  });
}

HostTensor BlockStore::value(uint32_t block, int32_t state) const {
  return held(block).values[heldIndex(state)]->toHost();
}

} // namespace epl::runtime::servers
