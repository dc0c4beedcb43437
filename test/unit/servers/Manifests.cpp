#include "test/unit/servers/Manifests.h"

#include "runtime/servers/model/Dispatch.h"
#include "runtime/servers/model/Slices.h"

#include <map>

namespace epl::runtime::servers::test {
namespace {

using manifest::ArgumentRole;

std::unique_ptr<manifest::StateT> makeState(const std::string &name, plan::ElementType type,
                                            const std::vector<int64_t> &shape, bool sliced) {
  auto state = std::make_unique<manifest::StateT>();
  state->name = name, state->type = type, state->shape = shape, state->sliced = sliced;
  return state;
}

std::unique_ptr<manifest::PushedT> makePushed(plan::ElementType type, const std::vector<int64_t> &shape,
                                              bool sliced) {
  auto pushed = std::make_unique<manifest::PushedT>();
  pushed->type = type, pushed->shape = shape, pushed->sliced = sliced;
  return pushed;
}

using Plans = std::map<std::vector<int64_t>, uint32_t>;

/// The blocks of a variable; those of one shape share a plan, whose number is in `plans`.
std::vector<std::unique_ptr<manifest::BlockT>>
makeBlocks(const Variable &variable, const SliceOptions &options, Dispatcher &dispatcher, Plans &plans) {
  std::vector<Slice> slices =
      sliceVariable(variable.shape, variable.sliced ? options.servers : 1, options.minBlockSize);
  std::vector<std::string> names;
  for (size_t i = 0; i < slices.size(); ++i)
    names.push_back(blockName(variable.name, i, slices.size()));
  std::vector<uint32_t> places = dispatcher.dispatch(names);
  std::vector<std::unique_ptr<manifest::BlockT>> blocks;
  for (size_t i = 0; i < slices.size(); ++i) {
    manifest::BlockT &made = *blocks.emplace_back(std::make_unique<manifest::BlockT>());
    made.name = names[i], made.shape = sliceShape(variable.shape, slices[i]), made.server = places[i];
    made.begin = slices[i].begin, made.size = slices[i].size;
    made.plan = plans.emplace(made.shape, uint32_t(plans.size())).first->second;
  }
  return blocks;
}

std::unique_ptr<manifest::ApplyPlanT> makePlan(manifest::Mode mode) {
  auto plan = std::make_unique<manifest::ApplyPlanT>();
  plan->arguments = {{ArgumentRole::parameter, -1},
                     {ArgumentRole::state, 0},
                     {ArgumentRole::state, 1},
                     {ArgumentRole::gradient, 0}};
  if (mode == manifest::Mode::dc_asgd)
    plan->arguments.emplace_back(ArgumentRole::backup, -1);
  return plan;
}

} // namespace

manifest::ManifestT makeManifest(const std::vector<Variable> &variables, const SliceOptions &options,
                                 manifest::Mode mode, uint32_t workers) {
  manifest::ManifestT result;
  result.version = manifestVersion;
  result.mode = mode, result.workers = workers, result.servers = options.servers;
  result.geo_steps = mode == manifest::Mode::geo ? 2 : 0;
  RoundRobin dispatcher(options.servers);
  Plans plans;
  for (const Variable &variable : variables) {
    auto parameter = std::make_unique<manifest::ParameterT>();
    parameter->name = variable.name, parameter->shape = variable.shape;
    parameter->type = plan::ElementType::f32;
    bool sliced = !variable.shape.empty();
    parameter->states.push_back(
        makeState(variable.name + ".moment", parameter->type, variable.shape, sliced));
    parameter->states.push_back(makeState("count", plan::ElementType::i32, {}, false));
    parameter->pushes.push_back(makePushed(parameter->type, variable.shape, sliced));
    parameter->blocks = makeBlocks(variable, options, dispatcher, plans);
    result.parameters.push_back(std::move(parameter));
  }
  for (size_t i = 0; i < plans.size(); ++i)
    result.plans.push_back(makePlan(mode));
  return result;
}

void addNumber(manifest::ManifestT &manifest, plan::ElementType type) {
  for (const auto &parameter : manifest.parameters)
    parameter->pushes.push_back(makePushed(type, {}, /*sliced=*/false));
  for (const auto &plan : manifest.plans)
    plan->arguments.emplace_back(ArgumentRole::gradient, 1);
}

static std::unique_ptr<manifest::SlotT> makeSlot(const std::string &name, plan::ElementType type,
                                                 const std::vector<int64_t> &shape, size_t bytes) {
  auto slot = std::make_unique<manifest::SlotT>();
  slot->name = name, slot->type = type, slot->shape = shape, slot->first.resize(bytes);
  return slot;
}

void addTable(manifest::ManifestT &manifest, const std::string &name, uint64_t dim) {
  auto table = std::make_unique<manifest::TableT>();
  table->name = name, table->type = plan::ElementType::f32, table->dim = dim;
  table->slots.push_back(makeSlot("moment", table->type, {int64_t(dim)}, dim * sizeof(float)));
  table->slots.push_back(makeSlot("count", plan::ElementType::i32, {}, sizeof(int32_t)));
  table->init = manifest::InitKind::uniform, table->scale = 0.5;
  table->plan = uint32_t(manifest.plans.size());
  manifest.plans.push_back(makePlan(manifest.mode));
  manifest.tables.push_back(std::move(table));
}

} // namespace epl::runtime::servers::test
