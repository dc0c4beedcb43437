#include "runtime/servers/store/BlockStore.h"

#include "runtime/Error.h"
#include "runtime/servers/store/Average.h"

#include <algorithm>

namespace epl::runtime::servers {

using manifest::ArgumentRole;

/// A block with its values: the parameter first, then the states.
struct BlockStore::Held {
  Lane &lane;
  std::shared_ptr<const plan::PlanT> plan;
  const std::vector<manifest::Argument> &arguments;
  std::vector<int32_t> results; // of each argument, which one updates it
  std::vector<PushPart> parts;  // of a push
  std::vector<std::shared_ptr<StateBuffer>> values;

  static size_t indexOf(int32_t state) { return size_t(int64_t(state) + 1); }
  static size_t indexOf(const manifest::Argument &argument) {
    return argument.role() == ArgumentRole::state ? indexOf(argument.state()) : indexOf(kParameter);
  }
  size_t slotOf(int32_t state) const {
    auto is = [&](const manifest::Argument &argument) {
      return state == kParameter ? argument.role() == ArgumentRole::parameter
                                 : argument.role() == ArgumentRole::state && argument.state() == state;
    };
    return size_t(std::ranges::find_if(arguments, is) - arguments.begin());
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
    std::vector<Argument> given;
    std::vector<bool> donate;
    for (const manifest::Argument &argument : arguments) {
      bool isState = argument.role() == ArgumentRole::parameter || argument.role() == ArgumentRole::state;
      donate.push_back(isState);
      if (isState)
        given.emplace_back(values[indexOf(argument)]);
      else
        given.emplace_back(argument.role() == ArgumentRole::gradient ? pushed[size_t(argument.state())]
                                                                     : *update.backup);
    }
    Outcome outcome = lane.session(plan).call(given, donate, name, /*waits=*/true);
    for (size_t i = 0; i < arguments.size(); ++i)
      if (results[i] >= 0)
        values[indexOf(arguments[i])] =
            std::get<std::shared_ptr<StateBuffer>>(outcome.results[size_t(results[i])]);
    outcome.call->wait();
    outcome.call->release();
  }
};

BlockStore::BlockStore(std::shared_ptr<const manifest::ManifestT> job, uint32_t server,
                       const ApplyPlans &plans, uint32_t threads)
    : manifest(std::move(job)), table(*manifest), own(table.ofServer(server)), values(table.size()) {
  for (uint32_t lane = 0; lane < threads; ++lane)
    lanes.push_back(std::make_unique<Lane>());
  for (size_t i = 0; i < own.size(); ++i) {
    uint32_t plan = table[own[i]].plan;
    values[own[i]] = std::make_unique<Held>(Held{*lanes[i % lanes.size()],
                                                 plans.get(plan),
                                                 manifest->plans[plan]->arguments,
                                                 plans.resultOfArgument(plan),
                                                 table.pushParts(own[i]),
                                                 {}});
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
  target.values[Held::indexOf(state)] = target.lane.session(target.plan).state(target.slotOf(state), value);
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
  return held(block).values[Held::indexOf(state)]->toHost();
}

} // namespace epl::runtime::servers
