// Mutations of the plan's tables: mesh, slots, lanes, kernels.

#include "test/unit/mutation/Mutations.h"

namespace epl::runtime::test {
namespace {

using plan::PlanT;

/// A mutation for each entry of a table.
template <typename Table, typename Change>
std::vector<Mutation> eachOf(const Table &table, const std::string &sign, const std::string &what,
                             const Change &change) {
  std::vector<Mutation> list;
  for (size_t i = 0; i < table.size(); ++i)
    list.push_back({sign + std::to_string(i) + " " + what, {}, [=](PlanT &mutant) { change(mutant, i); }});
  return list;
}

template <typename... Lists> std::vector<Mutation> join(std::vector<Mutation> first, Lists... others) {
  (first.insert(first.end(), others.begin(), others.end()), ...);
  return first;
}

std::vector<Mutation> meshes(const PlanT &plan) {
  auto axis = [&](const char *what, auto change) {
    return eachOf(plan.axes, "axis ", what,
                  [=](PlanT &mutant, size_t i) { change(mutant, *mutant.axes[i]); });
  };
  return join(axis("longer", [](PlanT &, plan::AxisT &axis) { ++axis.size; }),
              axis("of no length", [](PlanT &, plan::AxisT &axis) { axis.size = 0; }),
              axis("of another name", [](PlanT &, plan::AxisT &axis) { axis.name += "x"; }));
}

/// A plan without sharded slots and collectives is one for any number of devices.
std::vector<Mutation> meshesDoubled(const PlanT &plan) {
  return eachOf(plan.axes, "axis ", "and devices doubled",
                [](PlanT &mutant, size_t i) { mutant.axes[i]->size *= 2, mutant.devices *= 2; });
}

std::vector<Mutation> communicators(const PlanT &plan) {
  auto each = [&](const char *what, auto change) {
    return eachOf(plan.communicators, "c", what,
                  [=](PlanT &mutant, size_t i) { change(mutant, mutant.communicators[i]->axes); });
  };
  return join(each("without axes", [](PlanT &, auto &axes) { axes.clear(); }),
              each("over its axes twice", [](PlanT &, auto &axes) { axes.push_back(axes.front()); }),
              each("over no axis of the mesh", [](PlanT &, auto &axes) { axes.front() += "x"; }));
}

std::vector<Mutation> updates(const PlanT &plan) {
  std::vector<Mutation> list;
  for (size_t slot = 0; slot < plan.slots.size(); ++slot)
    for (int32_t target = -1; target < int32_t(plan.slots.size()); ++target)
      if (plan.slots[slot]->role == plan::SlotRole::result && plan.slots[slot]->updates != target)
        list.push_back({"s" + std::to_string(slot) + " updates " + std::to_string(target),
                        {},
                        [=](PlanT &mutant) { mutant.slots[slot]->updates = target; }});
  return list;
}

std::vector<Mutation> updatesSwapped(const PlanT &plan) {
  std::vector<Mutation> list;
  for (size_t a = 0; a < plan.slots.size(); ++a)
    for (size_t b = 0; b < a; ++b)
      if (plan.slots[a]->updates >= 0 && plan.slots[b]->updates >= 0)
        list.push_back(
            {"updates of s" + std::to_string(a) + " and s" + std::to_string(b) + " swapped",
             {},
             [=](PlanT &mutant) { std::swap(mutant.slots[a]->updates, mutant.slots[b]->updates); }});
  return list;
}

/// Harmless between the roles of arguments that nothing updates.
std::vector<Mutation> roles(const PlanT &plan) {
  std::vector<Mutation> list;
  for (size_t slot = 0; slot < plan.slots.size(); ++slot)
    for (plan::SlotRole role : plan::EnumValuesSlotRole())
      if (plan.slots[slot]->role != role)
        list.push_back({"s" + std::to_string(slot) + " a " + plan::EnumNameSlotRole(role),
                        {},
                        [=](PlanT &mutant) { mutant.slots[slot]->role = role; }});
  return list;
}

/// Harmless to another type of the same size: the bytes are those of before.
std::vector<Mutation> types(const PlanT &plan) {
  std::vector<Mutation> list;
  for (size_t slot = 0; slot < plan.slots.size(); ++slot)
    for (plan::ElementType type : plan::EnumValuesElementType())
      if (plan.slots[slot]->type != type)
        list.push_back({"s" + std::to_string(slot) + " of type " + plan::EnumNameElementType(type),
                        {},
                        [=](PlanT &mutant) { mutant.slots[slot]->type = type; }});
  return list;
}

std::vector<Mutation> shapes(const PlanT &plan) {
  std::vector<Mutation> list;
  for (size_t slot = 0; slot < plan.slots.size(); ++slot) {
    std::string name = "s" + std::to_string(slot);
    for (size_t dim = 0; dim < plan.slots[slot]->shape.size(); ++dim) {
      list.push_back({name + " longer", {}, [=](PlanT &mutant) { ++mutant.slots[slot]->shape[dim]; }});
      list.push_back({name + " shorter", {}, [=](PlanT &mutant) { --mutant.slots[slot]->shape[dim]; }});
      list.push_back({name + " whole", {}, [=](PlanT &mutant) {
                        std::vector<std::string> &axes = mutant.slots[slot]->sharding[dim]->axes;
                        std::string first = mutant.axes.empty() ? "x" : mutant.axes[0]->name;
                        axes = axes.empty() ? std::vector{first} : std::vector<std::string>();
                      }});
    }
  }
  return list;
}

std::vector<Mutation> resultOrigins(const PlanT &plan) {
  return join(eachOf(plan.slots, "s", "without origins",
                     [](PlanT &mutant, size_t i) {
                       std::vector<plan::Origin> &origins = mutant.slots[i]->origins;
                       origins.empty() ? void(origins.emplace_back(0, -1, 0u, -1, 0u)) : origins.clear();
                     }),
              eachOf(plan.slots, "s", "with one more origin", [](PlanT &mutant, size_t i) {
                mutant.slots[i]->origins.emplace_back(0, int32_t(mutant.commands.size()) - 1, 7u, -1, 0u);
              }));
}

std::vector<Mutation> lanes(const PlanT &plan) {
  return join(eachOf(plan.lanes, "lane ", "of another kind",
                     [](PlanT &mutant, size_t i) {
                       plan::LaneKind &kind = mutant.lanes[i]->kind;
                       kind = kind == plan::LaneKind::compute ? plan::LaneKind::communicate
                                                              : plan::LaneKind::compute;
                     }),
              eachOf(plan.lanes, "lane ", "of the next communicator",
                     [](PlanT &mutant, size_t i) { ++mutant.lanes[i]->communicator; }),
              eachOf(plan.lanes, "lane ", "without its last command",
                     [](PlanT &mutant, size_t i) {
                       if (!mutant.lanes[i]->commands.empty())
                         mutant.lanes[i]->commands.pop_back();
                       else
                         mutant.lanes[i]->commands.push_back(0);
                     }),
              eachOf(plan.lanes, "lane ", "dropped",
                     [](PlanT &mutant, size_t i) { mutant.lanes.erase(mutant.lanes.begin() + int64_t(i)); }));
}

template <typename Change>
std::vector<Mutation> eachKernel(const PlanT &plan, const char *what, const Change &change) {
  return eachOf(plan.kernels, "k", what, [=](PlanT &mutant, size_t i) { change(*mutant.kernels[i]); });
}

std::vector<Mutation> kernelOperands(const PlanT &plan) {
  return join(
      eachKernel(plan, "with one input more", [](plan::KernelT &kernel) { ++kernel.num_inputs; }),
      eachKernel(plan, "with one output more", [](plan::KernelT &kernel) { ++kernel.num_outputs; }),
      eachKernel(plan, "with an output as input",
                 [](plan::KernelT &kernel) {
                   ++kernel.num_inputs, --kernel.num_outputs;
                   kernel.in_place.erase(kernel.in_place.begin());
                 }),
      eachKernel(plan, "with a smaller operand", [](plan::KernelT &kernel) { --kernel.operand_sizes[0]; }),
      eachKernel(plan, "with a larger result", [](plan::KernelT &kernel) { ++kernel.operand_sizes.back(); }));
}

/// Harmless to launches that do not work in place; to the simulator it is a kernel that computes otherwise.
std::vector<Mutation> inPlace(const PlanT &plan) {
  return eachKernel(plan, "never in place",
                    [](plan::KernelT &kernel) { kernel.in_place.assign(kernel.in_place.size(), -1); });
}

/// Facts about the kernels' code: that it may work in place, how far its loop goes, what it needs beside.
std::vector<Mutation> kernelCode(const PlanT &plan) {
  return join(
      eachKernel(plan, "in place",
                 [](plan::KernelT &kernel) { kernel.in_place[0] = kernel.in_place[0] == -1 ? 0 : -1; }),
      eachKernel(plan, "over half its slice", [](plan::KernelT &kernel) { kernel.extent /= 2; }),
      eachKernel(plan, "with more to do", [](plan::KernelT &kernel) { ++kernel.flops; }),
      eachKernel(plan, "with less workspace", [](plan::KernelT &kernel) { kernel.workspace /= 2; }),
      eachKernel(plan, "of another symbol", [](plan::KernelT &kernel) { kernel.symbol += "x"; }));
}

template <typename Change>
std::vector<Mutation> eachFactorization(const PlanT &plan, const char *what, const Change &change) {
  std::vector<Mutation> mutations;
  for (size_t i = 0; i < plan.kernels.size(); ++i)
    if (plan.kernels[i]->factorization)
      mutations.push_back({"k" + std::to_string(i) + ' ' + what, {}, [=](PlanT &mutant) {
                             change(*mutant.kernels[i]->factorization);
                           }});
  return mutations;
}

/// What a library is asked for; one that needs other memory than the kernel has is rejected.
std::vector<Mutation> factorizations(const PlanT &plan) {
  auto each = [&](const char *what, auto change) { return eachFactorization(plan, what, change); };
  using Shape = plan::FactorizationT;
  return join(
      each("of another kind",
           [](Shape &shape) {
             bool last = shape.kind == plan::FactorizationKind::MAX;
             shape.kind = last ? plan::FactorizationKind::MIN : plan::FactorizationKind(int(shape.kind) + 1);
           }),
      each("of another type", [](Shape &shape) { shape.type = plan::ElementType::f64; }),
      each("with a row more", [](Shape &shape) { ++shape.rows; }),
      each("with a column less", [](Shape &shape) { --shape.columns; }),
      each("with vectors", [](Shape &shape) { shape.vectors = !shape.vectors; }),
      each("from the other side", [](Shape &shape) { shape.left = !shape.left; }),
      each("of the other triangle", [](Shape &shape) { shape.lower = !shape.lower; }),
      each("transposed", [](Shape &shape) { shape.transpose = !shape.transpose; }),
      each("with another diagonal", [](Shape &shape) { shape.unit_diagonal = !shape.unit_diagonal; }));
}

} // namespace

std::vector<MutationClass> tableMutations() {
  return {{"mesh changed", Promise::harmless, meshes},
          {"mesh doubled", Promise::anotherProgram, meshesDoubled},
          {"communicator changed", Promise::harmless, communicators},
          {"update retargeted", Promise::harmless, updates},
          {"updates swapped", Promise::harmless, updatesSwapped},
          {"slot's role changed", Promise::harmless, roles},
          {"slot's type changed", Promise::harmless, types},
          {"slot's shape or sharding changed", Promise::harmless, shapes},
          {"result's origin changed", Promise::harmless, resultOrigins},
          {"lane changed", Promise::harmless, lanes},
          {"kernel's operands changed", Promise::harmless, kernelOperands},
          {"kernel never in place", Promise::anotherProgram, inPlace},
          {"factorization changed", Promise::anotherProgram, factorizations},
          {"kernel's code described wrongly", Promise::trusted, kernelCode}};
}

} // namespace epl::runtime::test
