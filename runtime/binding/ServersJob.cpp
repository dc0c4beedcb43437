#include "runtime/binding/ServersJob.h"

#include "runtime/Error.h"
#include "runtime/binding/Bindings.h"

namespace epl::runtime::binding {

namespace ps = servers;
namespace mf = servers::manifest;

namespace {

/// The value of an enum that has a name.
template <typename Enum>
Enum named(const std::string &name, const char *const *names, Enum first, Enum last, const char *what) {
  for (int value = int(first); value <= int(last); ++value)
    if (name == names[value - int(first)])
      return Enum(value);
  throw Error(std::string("there is no ") + what + " \"" + name + "\"");
}

plan::ElementType elementOf(const std::string &name) {
  for (plan::ElementType type : plan::EnumValuesElementType())
    if (name == elementName(type))
      return type;
  throw Error("no elements are of type \"" + name + "\"");
}

std::unique_ptr<mf::ParameterT> makeParameter(const ParameterFields &fields) {
  auto made = std::make_unique<mf::ParameterT>();
  const auto &[name, type, shape, states, pushes, blocks] = fields;
  made->name = name, made->type = elementOf(type), made->shape = shape;
  for (const auto &[stateName, stateType, stateShape, sliced] : states) {
    auto state = std::make_unique<mf::StateT>();
    state->name = stateName, state->type = elementOf(stateType);
    state->shape = stateShape, state->sliced = sliced;
    made->states.push_back(std::move(state));
  }
  for (const auto &[pushedType, pushedShape, sliced] : pushes) {
    auto pushed = std::make_unique<mf::PushedT>();
    pushed->type = elementOf(pushedType), pushed->shape = pushedShape, pushed->sliced = sliced;
    made->pushes.push_back(std::move(pushed));
  }
  for (const auto &[blockName, begin, size, blockShape, server, plan] : blocks) {
    auto block = std::make_unique<mf::BlockT>();
    block->name = blockName, block->begin = begin, block->size = size, block->shape = blockShape;
    block->server = server, block->plan = plan;
    made->blocks.push_back(std::move(block));
  }
  return made;
}

std::unique_ptr<mf::TableT> makeTable(const TableFields &fields) {
  auto made = std::make_unique<mf::TableT>();
  const auto &[name, type, dim, slots, init, seed, plan, admit, rows, padding] = fields;
  made->name = name, made->type = elementOf(type), made->dim = dim;
  for (const auto &[slotName, slotType, shape, first] : slots) {
    auto slot = std::make_unique<mf::SlotT>();
    slot->name = slotName, slot->type = elementOf(slotType), slot->shape = shape;
    std::span<const uint8_t> bytes = bytesOf(first);
    slot->first.assign(bytes.begin(), bytes.end());
    made->slots.push_back(std::move(slot));
  }
  made->init =
      named(init.first, mf::EnumNamesInitKind(), mf::InitKind::MIN, mf::InitKind::MAX, "first value of rows");
  made->scale = init.second, made->seed = seed, made->plan = plan, made->admit = admit;
  made->rows = rows, made->padding = padding;
  return made;
}

} // namespace

ServersJob::ServersJob(const std::string &mode, const std::string &onLost, uint32_t workers, uint32_t servers,
                       uint32_t geoSteps, const std::vector<ParameterFields> &parameters,
                       const std::vector<PlanFields> &givenPlans, const std::vector<TableFields> &tables) {
  mf::ManifestT made;
  made.version = ps::manifestVersion;
  made.mode = named(mode, mf::EnumNamesMode(), mf::Mode::MIN, mf::Mode::MAX, "mode");
  made.on_lost = named(onLost, mf::EnumNamesOnLost(), mf::OnLost::MIN, mf::OnLost::MAX, "rule for losses");
  made.workers = workers, made.servers = servers, made.geo_steps = geoSteps;
  for (const ParameterFields &fields : parameters)
    made.parameters.push_back(makeParameter(fields));
  for (const TableFields &fields : tables)
    made.tables.push_back(makeTable(fields));
  for (const auto &[arguments, content] : givenPlans) {
    auto plan = std::make_unique<mf::ApplyPlanT>();
    for (const auto &[role, state] : arguments)
      plan->arguments.emplace_back(named(role, mf::EnumNamesArgumentRole(), mf::ArgumentRole::MIN,
                                         mf::ArgumentRole::MAX, "role of an argument"),
                                   state);
    std::span<const uint8_t> bytes = bytesOf(content);
    Hash128 hash = hashBytes(bytes);
    plan->hash_low = hash.low, plan->hash_high = hash.high;
    made.plans.push_back(std::move(plan));
    plans.emplace_back(bytes.begin(), bytes.end());
  }
  manifest = ps::serializeManifest(made);
  hash = hashBytes(manifest);
  job = std::make_shared<ps::Job>(ps::parseManifest(manifest, "of this job"));
}

} // namespace epl::runtime::binding
