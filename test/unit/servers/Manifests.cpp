#include "test/unit/servers/Manifests.h"

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
  auto placed = placeVariables(variables, options, dispatcher);
  std::map<std::vector<int64_t>, uint32_t> plans;
  for (size_t i = 0; i < variables.size(); ++i) {
    auto parameter = std::make_unique<manifest::ParameterT>();
    parameter->name = variables[i].name, parameter->shape = variables[i].shape;
    parameter->type = plan::ElementType::f32;
    parameter->states.push_back(makeState(variables[i].name + ".moment", parameter->type, variables[i].shape,
                                          !variables[i].shape.empty()));
    parameter->states.push_back(makeState("count", plan::ElementType::i32, {}, false));
    parameter->pushes.push_back(makePushed(parameter->type, variables[i].shape, !variables[i].shape.empty()));
    for (const PlacedBlock &block : placed[i]) {
      parameter->blocks.push_back(std::make_unique<manifest::BlockT>());
      manifest::BlockT &made = *parameter->blocks.back();
      made.name = block.name, made.shape = block.shape, made.server = block.server;
      made.begin = block.slice.begin, made.size = block.slice.size;
      made.plan = plans.emplace(block.shape, uint32_t(plans.size())).first->second;
    }
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

} // namespace epl::runtime::servers::test
