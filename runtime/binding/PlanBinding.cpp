// Plans in Python: what reports show of them.

#include "runtime/binding/Bindings.h"
#include "runtime/device/cpu/Features.h"
#include "runtime/plan/format/Writer.h"
#include "runtime/plan/model/Dump.h"
#include "runtime/plan/model/Images.h"
#include "runtime/plan/model/Owners.h"
#include "runtime/plan/model/Parts.h"
#include "runtime/plan/verify/ReadVerified.h"

namespace epl::runtime::binding {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

/// What Python sees of an argument or a result of the step.
struct Slot {
  std::string name, role, dtype;
  std::vector<int64_t> shape, sharded;
  int32_t updates;
  bool hidden;
  std::vector<std::vector<std::string>> sharding;
};

std::vector<Slot> slotsOf(const Plan &self) {
  std::vector<Slot> slots;
  for (uint32_t index = 0; index < self.plan->slots.size(); ++index) {
    const plan::SlotT &slot = *self.plan->slots[index], &held = heldSlot(*self.plan, index);
    slots.push_back({slot.name,
                     plan::EnumNameSlotRole(slot.role),
                     elementName(slot.type),
                     TensorType::of(slot).shape,
                     held.shape,
                     slot.updates,
                     slot.hidden,
                     {}});
    for (const auto &dim : held.sharding)
      slots.back().sharding.push_back(dim->axes);
  }
  return slots;
}

/// What one mesh of a plan has of a slot of the plan.
struct HeldSlot {
  uint32_t slot;
  std::vector<int64_t> shape, callerShape;
  std::vector<std::vector<std::string>> sharding;
  std::vector<std::pair<uint32_t, std::vector<int64_t>>> callerParts;
  std::optional<std::pair<int64_t, int64_t>> callerRows;
  std::optional<std::pair<std::string, uint32_t>> owner;
};

/// A mesh of a plan: its axes, where its ranks are, and what they hold.
struct Mesh {
  std::vector<std::pair<std::string, int64_t>> axes;
  uint32_t first;
  std::vector<uint32_t> strides;
  std::vector<HeldSlot> slots;
};

HeldSlot heldOf(const plan::PlanT &plan, const plan::SlotT &slot, uint32_t index) {
  HeldSlot held{index, slot.shape, slot.caller_shape, {}, {}, {}, {}};
  for (const auto &dim : slot.sharding)
    held.sharding.push_back(dim->axes);
  for (const auto &parts : slot.caller_parts)
    held.callerParts.emplace_back(parts->dim, parts->extents);
  if (slot.caller_rows)
    held.callerRows = {slot.caller_rows->first(), slot.caller_rows->count()};
  if (slot.owner)
    held.owner = {plan.communicators[slot.owner->communicator()]->axes.front(), slot.owner->member()};
  return held;
}

Mesh meshOf(const plan::PlanT &plan, uint32_t first, const std::vector<uint32_t> &strides,
            const std::vector<uint32_t> *slots) {
  Mesh mesh{{}, first, strides, {}};
  for (const auto &axis : plan.axes)
    mesh.axes.emplace_back(axis->name, axis->size);
  for (uint32_t slot = 0; slot < plan.slots.size(); ++slot)
    mesh.slots.push_back(heldOf(plan, *plan.slots[slot], slots ? (*slots)[slot] : slot));
  return mesh;
}

std::vector<Mesh> meshesOf(const Plan &self) {
  if (self.plan->parts.empty())
    return {meshOf(*self.plan, 0, {}, nullptr)};
  std::vector<Mesh> meshes;
  for (const auto &part : self.plan->parts)
    meshes.push_back(meshOf(*part->plan, part->first, part->strides, &part->slots));
  return meshes;
}

/// (name, rows or None, member) of each state that has an owner, in order.
nb::list ownersOf(const Plan &self) {
  nb::list list;
  for (const plan::PlanT *part : meshPlansOf(*self.plan))
    for (const StateOwner &owner : stateOwnersOf(*part)) {
      const plan::SlotT &state = *part->slots[owner.state];
      nb::object rows = nb::none();
      if (state.caller_rows)
        rows = nb::make_tuple(state.caller_rows->first(), state.caller_rows->first() + ownRows(state));
      list.append(nb::make_tuple(state.name, rows, owner.member));
    }
  return list;
}

nb::bytes toBytes(const Plan &self) {
  std::vector<uint8_t> bytes = serializePlan(*self.plan);
  return nb::bytes(bytes.data(), bytes.size());
}

} // namespace

void bindPlan(nb::module_ &module) {
  nb::class_<Slot>(module, "Slot", "An argument or a result of a step.")
      .def_ro("name", &Slot::name, "As the user wrote it: params['w1'].")
      .def_ro("role", &Slot::role, "state, batch, constant, result, pulled or pushed.")
      .def_ro("dtype", &Slot::dtype, "NumPy's name: float32, bool, bfloat16, ...")
      .def_prop_ro(
          "shape", [](const Slot &self) { return nb::tuple(nb::cast(self.shape)); }, "Global shape.")
      .def_ro("updates", &Slot::updates, "For a result: the index of the state that it updates, or -1.")
      .def_ro("hidden", &Slot::hidden, "Whether the front end added the argument or result.")
      .def_prop_ro(
          "sharded_shape", [](const Slot &self) { return nb::tuple(nb::cast(self.sharded)); },
          "The shape that `sharding` splits: `shape`, or one of the same elements, where a dimension of "
          "equal "
          "segments is two, (segments, extent of each), and one of other parts is (shares, extent of one "
          "share "
          "of each part).")
      .def_ro("sharding", &Slot::sharding, "The mesh axes that split each dimension of `sharded_shape`.");
  nb::class_<HeldSlot>(module, "HeldSlot", "What a mesh has of an argument or a result of a step.")
      .def_ro("slot", &HeldSlot::slot, "The index of the slot in `Plan.slots`.")
      .def_ro("shape", &HeldSlot::shape, "Of what is split: `caller_shape` with segments or parts apart.")
      .def_ro("sharding", &HeldSlot::sharding, "The mesh axes that split each dimension of `shape`.")
      .def_ro("caller_shape", &HeldSlot::callerShape,
              "As the caller sees it, of the rows that the mesh has; empty: `shape`.")
      .def_ro(
          "caller_parts", &HeldSlot::callerParts,
          "(dim, extents): dimensions `dim` and `dim + 1` of `shape`, (shares, extent of one), are one of "
          "parts of these extents for the caller, and each share has an equal piece of every part.")
      .def_ro("caller_rows", &HeldSlot::callerRows,
              "(first, count): which of the caller's `count` rows these are; None: all.")
      .def_ro(
          "owner", &HeldSlot::owner,
          "(axis, coordinate): of a state that the devices with this coordinate have alone; None: all have.");
  nb::class_<Mesh>(module, "Mesh", "The devices of a step, or those of some of its stages.")
      .def_ro("axes", &Mesh::axes, "Names and sizes, major first.")
      .def_ro("first", &Mesh::first, "The device of its first rank.")
      .def_ro("strides", &Mesh::strides, "Devices between neighbours along each axis; empty: it has all.")
      .def_ro("slots", &Mesh::slots, "What it has, arguments first.");
  nb::class_<Plan>(module, "Plan", "What one step does on every device; verified.")
      .def_static(
          "load", [](const std::string &path) { return Plan(readPlan(path)); }, "path"_a,
          "Reads and verifies a plan file.")
      .def_static(
          "from_bytes", [](const nb::bytes &bytes) { return Plan(parsePlan(bytesOf(bytes), "<bytes>")); },
          "bytes"_a, "Reads and verifies the bytes of a plan file.")
      .def("to_bytes", &toBytes, "The bytes of a plan file.")
      .def(
          "save", [](const Plan &self, const std::string &path) { writePlan(*self.plan, path); }, "path"_a,
          "Writes a plan file, whole or not at all.")
      .def(
          "dump", [](const Plan &self) { return dumpPlan(*self.plan); }, "The plan as text.")
      .def(
          "check_cpu", [](const Plan &self) { checkCpuFeatures(cpuFeaturesOf(*self.plan)); },
          "Raises an error that names what the code needs and this CPU lacks.")
      .def_prop_ro("slots", &slotsOf, "Arguments in order, then results in order.")
      .def_prop_ro("meshes", &meshesOf, "Its meshes, one for each part.")
      .def_prop_ro("owners", &ownersOf,
                   "(name, rows or None, coordinate) of each state that one device of the data axis updates.")
      .def_prop_ro("devices", [](const Plan &self) { return self.summary.devices; })
      .def_prop_ro(
          "device_string", [](const Plan &self) { return devicesText(*self.plan); },
          "What it runs on: cpu:4, or cpu:2x2 where its order of devices depends on nodes.")
      .def_prop_ro(
          "layout", [](const Plan &self) { return self.summary.layout; }, "cpu:2 = data 2")
      .def_prop_ro(
          "arena_bytes", [](const Plan &self) { return self.summary.arenaBytes; }, "Of one device.")
      .def_prop_ro(
          "state_bytes", [](const Plan &self) { return self.summary.stateBytes; },
          "That one device keeps between steps.")
      .def_prop_ro(
          "host_bytes", [](const Plan &self) { return self.summary.hostBytes; },
          "Of these, those in memory of the host, which the device copies when it needs them.")
      .def_prop_ro(
          "received_bytes", [](const Plan &self) { return self.summary.receivedBytes; },
          "By one device from others in a step, all branches taken.")
      .def_prop_ro(
          "num_kernels", [](const Plan &self) { return self.summary.kernels; }, "Distinct kernels.")
      .def_prop_ro(
          "num_transfers", [](const Plan &self) { return self.summary.transfers; },
          "Tensors that go from one mesh to another in a step.")
      .def_prop_ro(
          "num_collectives", [](const Plan &self) { return self.summary.collectives; }, "In a step.");
}

} // namespace epl::runtime::binding
