// The Python module _epl_runtime: plans and sessions for the front end. The interpreter's lock is what keeps
// threads apart here, so that it is given up for waiting only.

#include "runtime/Error.h"
#include "runtime/binding/Arrays.h"
#include "runtime/binding/Caller.h"
#include "runtime/binding/Waiting.h"
#include "runtime/device/cpu/Features.h"
#include "runtime/device/cpu/Libraries.h"
#include "runtime/plan/format/Writer.h"
#include "runtime/plan/model/Devices.h"
#include "runtime/plan/model/Dump.h"
#include "runtime/plan/model/Parts.h"
#include "runtime/plan/model/Summary.h"
#include "runtime/plan/verify/ReadVerified.h"
#include "runtime/session/Exchange.h"
#include "runtime/session/Session.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace epl::runtime::binding {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

/// A plan and the figures that reports show.
struct Plan {
  explicit Plan(plan::PlanT loaded)
      : plan(std::make_shared<plan::PlanT>(std::move(loaded))), summary(summarize(*plan)) {}

  std::shared_ptr<const plan::PlanT> plan;
  Summary summary;
};

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
};

/// A mesh of a plan: its axes, where its ranks are, and what they hold.
struct Mesh {
  std::vector<std::pair<std::string, int64_t>> axes;
  uint32_t first;
  std::vector<uint32_t> strides;
  std::vector<HeldSlot> slots;
};

HeldSlot heldOf(const plan::SlotT &slot, uint32_t index) {
  HeldSlot held{index, slot.shape, slot.caller_shape, {}, {}, {}};
  for (const auto &dim : slot.sharding)
    held.sharding.push_back(dim->axes);
  for (const auto &parts : slot.caller_parts)
    held.callerParts.emplace_back(parts->dim, parts->extents);
  if (slot.caller_rows)
    held.callerRows = {slot.caller_rows->first(), slot.caller_rows->count()};
  return held;
}

Mesh meshOf(const plan::PlanT &plan, uint32_t first, const std::vector<uint32_t> &strides,
            const std::vector<uint32_t> *slots) {
  Mesh mesh{{}, first, strides, {}};
  for (const auto &axis : plan.axes)
    mesh.axes.emplace_back(axis->name, axis->size);
  for (uint32_t slot = 0; slot < plan.slots.size(); ++slot)
    mesh.slots.push_back(heldOf(*plan.slots[slot], slots ? (*slots)[slot] : slot));
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

std::span<const uint8_t> bytesOf(const nb::bytes &bytes) {
  return {static_cast<const uint8_t *>(bytes.data()), bytes.size()};
}

nb::bytes toBytes(const Plan &self) {
  std::vector<uint8_t> bytes = serializePlan(*self.plan);
  return nb::bytes(bytes.data(), bytes.size());
}

/// A tuple of what `entries` are cast to.
template <typename Entries> nb::tuple tupleOf(const Entries &entries) {
  nb::list list;
  for (const auto &entry : entries)
    list.append(nb::cast(entry));
  return nb::tuple(list);
}

nb::tuple shapeOf(const TensorType &type) { return tupleOf(type.shape); }

nb::object shardingOf(const StateBuffer &self) {
  if (!self.sharding())
    return nb::none();
  std::vector<nb::tuple> dims;
  for (const std::vector<std::string> &axes : self.sharding()->dims)
    dims.push_back(tupleOf(axes));
  return nb::make_tuple(tupleOf(self.sharding()->axes), tupleOf(self.sharding()->shape), tupleOf(dims));
}

Argument argumentOf(const Session &session, size_t slot, nb::handle value) {
  std::shared_ptr<StateBuffer> state;
  if (nb::try_cast(value, state) && state)
    return state;
  const plan::SlotT &source = *session.plan().slots[slot];
  return fromNumpy(value, source.type, source.name);
}

nb::tuple call(Session &session, const nb::list &values, const std::vector<bool> &donate,
               const std::string &name, bool waits) {
  if (values.size() != session.numArguments())
    throw Error(name + " takes " + std::to_string(session.numArguments()) + " arguments, found " +
                std::to_string(values.size()));
  std::vector<Argument> arguments;
  arguments.reserve(values.size());
  for (size_t slot = 0; slot < values.size(); ++slot)
    arguments.push_back(argumentOf(session, slot, values[slot]));
  {
    nb::gil_scoped_release unlocked;
    session.awaitRoom();
  }
  Outcome outcome = session.call(arguments, donate, name, waits);
  nb::list results;
  for (const Result &result : outcome.results)
    std::visit([&](const auto &object) { results.append(nb::cast(object)); }, result);
  return nb::make_tuple(results, outcome.call);
}

std::shared_ptr<StateBuffer> makeState(Session &session, size_t slot, nb::handle value) {
  if (slot >= session.numArguments())
    throw Error("slot " + std::to_string(slot) + " of the plan is no argument");
  const plan::SlotT &source = *session.plan().slots[slot];
  return session.state(slot, fromNumpy(value, source.type, source.name));
}

/// An array over a box in the memory of a device; bf16 comes as uint16.
nb::object arrayOf(const Shard &shard, const TensorType &type, const std::shared_ptr<const void> &owner,
                   bool writable) {
  std::vector<size_t> shape;
  std::vector<int64_t> strides;
  for (const Box::Range &range : shard.box.dims) {
    shape.push_back(range.extent);
    strides.push_back(int64_t(range.stride / elementBytes(type.element)));
  }
  return toNumpy(shard.data, shape, strides, type.element, owner, writable);
}

nb::tuple boundsOf(const Box &box) {
  std::vector<std::pair<size_t, size_t>> bounds;
  bounds.reserve(box.dims.size());
  for (const Box::Range &range : box.dims)
    bounds.emplace_back(range.begin, range.begin + range.extent);
  return tupleOf(bounds);
}

/// (device, ((begin, end) of each dimension), array, number of devices before that have it) of all that is
/// here.
nb::list shardsOf(const StateBuffer &self, bool writable) {
  auto [shards, owner] = self.shards();
  nb::list list;
  for (const Shard &shard : shards)
    list.append(nb::make_tuple(shard.device, boundsOf(shard.box),
                               arrayOf(shard, self.type(), owner, writable), shard.copy));
  return list;
}

/// (command, location, device here, process, whether it is sent, bytes) of each message.
nb::list waitingOf(const Session &self) {
  nb::list list;
  for (const Waiting &waiting : self.waiting())
    list.append(nb::make_tuple(waiting.command, waiting.location, waiting.device, waiting.process,
                               waiting.isSend, waiting.bytes));
  return list;
}

nb::list allShardsOf(const StateBuffer &self) {
  nb::list list;
  for (const Shard &shard : self.allShards())
    list.append(nb::make_tuple(self.processOf(shard.device), boundsOf(shard.box)));
  return list;
}

/// A new value, and where its elements are to be written.
nb::tuple toBeWritten(const std::shared_ptr<StateBuffer> &state) {
  return nb::make_tuple(state, shardsOf(*state, /*writable=*/true));
}

nb::list exchange(Exchange &self, const nb::bytes &own, double seconds) {
  auto limit = std::chrono::milliseconds(int64_t(1000 * seconds));
  std::span<const std::byte> bytes = std::as_bytes(bytesOf(own));
  std::vector<Exchange::Bytes> all;
  {
    nb::gil_scoped_release unlocked;
    all = self.exchange(bytes, limit, SignalChecks());
  }
  nb::list list;
  for (const Exchange::Bytes &each : all)
    list.append(nb::bytes(each.data(), each.size()));
  return list;
}

void bindProcesses(nb::module_ &module) {
  nb::class_<ProcessGroup>(module, "ProcessGroup", "The processes of a run.")
      .def_prop_ro("process", &ProcessGroup::process, "This process, from 0.")
      .def_prop_ro("num_processes", &ProcessGroup::numProcesses);
  nb::class_<Exchange>(module, "Exchange", "What processes tell one another outside of steps.")
      .def(nb::init<std::shared_ptr<ProcessGroup>>(), "group"_a)
      .def("exchange", &exchange, "own"_a, "seconds"_a = 1e9,
           "What each process says, as bytes, in their order; called by all. Waits for the others, so long "
           "at\n"
           "most.")
      .def("stop", &Exchange::stop, "reason"_a, "Ends what waits, now and later, with this error.");
}

void bindPlan(nb::module_ &module) {
  nb::class_<Slot>(module, "Slot", "An argument or a result of a step.")
      .def_ro("name", &Slot::name, "As the user wrote it: params['w1'].")
      .def_ro("role", &Slot::role, "state, batch, constant or result.")
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
              "(first, count): which of the caller's `count` rows these are; None: all.");
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
          "check_cpu", [](const Plan &self) { checkCpuFeatures(self.plan->target_features); },
          "Raises an error that names what the code needs and this CPU lacks.")
      .def_prop_ro("slots", &slotsOf, "Arguments in order, then results in order.")
      .def_prop_ro("meshes", &meshesOf, "Its meshes, one for each part.")
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

void bindResults(nb::module_ &module) {
  nb::class_<Call>(module, "Call", "A step that is queued, running or done.")
      .def(
          "wait", [](const std::shared_ptr<Call> &self) { waitFor(self); },
          "Waits for the end; raises the step's error.")
      .def_prop_ro("done", &Call::done)
      .def_prop_ro("index", &Call::index, "The number of the call in its session, from 1.");
  nb::class_<StateBuffer>(module, "StateBuffer", "The value of a state, on the devices.")
      .def_prop_ro("shape", [](const StateBuffer &self) { return shapeOf(self.type()); })
      .def_prop_ro("dtype", [](const StateBuffer &self) { return elementName(self.type().element); })
      .def_prop_ro(
          "nbytes", [](const StateBuffer &self) { return self.type().bytes(); }, "Of one copy.")
      .def_prop_ro(
          "sharding", &shardingOf,
          "How the devices of its mesh hold it: the axes with their sizes, the shape that is split, and the "
          "axes that split each dimension. None if the state is on one of several meshes.")
      .def_prop_ro("is_donated", &StateBuffer::isDonated, "Whether a call has consumed the value.")
      .def_prop_ro(
          "is_ready", [](const StateBuffer &self) { return !self.producer() || self.producer()->done(); },
          "Whether the call that makes the value has ended.")
      .def(
          "wait",
          [](StateBuffer &self) {
            self.use();
            waitFor(self.producer());
          },
          "Waits for the call that makes the value; raises its error.")
      .def(
          "numpy",
          [](StateBuffer &self) {
            self.use();
            waitFor(self.producer());
            return toNumpy(self.toHost(), false);
          },
          "The value, read-only: a view where the devices hold whole copies.")
      .def(
          "shards",
          [](StateBuffer &self) {
            self.use();
            waitFor(self.producer());
            return shardsOf(self, /*writable=*/false);
          },
          "What is in this process, box by box: (device, ((begin, end), ...), array, how many devices "
          "before\n"
          "have it). Arrays are read-only views.")
      .def("all_shards", &allShardsOf,
           "What all devices have, wherever they are: (process, ((begin, end), ...)). Does not wait.")
      .def("snapshot", &StateBuffer::snapshot,
           "The same value for somebody who reads it later: steps that consume this one leave it. Does not "
           "wait,\n"
           "and copies nothing.")
      .def(
          "new_alike", [](const StateBuffer &self) { return toBeWritten(self.makeAlike()); },
          "As Session.new_state, of the same kind.")
      .def_prop_ro("is_divided", &StateBuffer::isDivided,
                   "Whether other processes have parts or copies of it.")
      .def_prop_ro("is_here", &StateBuffer::isHere, "Whether all of it is in this process.")
      .def("delete", &StateBuffer::remove, "Lets go of the memory; the value cannot be used afterwards.")
      .def_prop_ro("is_deleted", &StateBuffer::isGone, "Whether it was deleted, or a call has consumed it.")
      .def(
          "copy",
          [](StateBuffer &self) {
            self.use();
            waitFor(self.producer());
            return self.copy();
          },
          "A copy on the same devices.");
  nb::class_<HostResult>(module, "HostResult", "A result that updates no state.")
      .def_prop_ro("shape", [](const HostResult &self) { return shapeOf(self.type()); })
      .def_prop_ro("dtype", [](const HostResult &self) { return elementName(self.type().element); })
      .def(
          "wait", [](HostResult &self) { waitFor(self.producer()); },
          "Waits for the call that makes the value; raises its error.")
      .def(
          "numpy",
          [](HostResult &self) {
            waitFor(self.producer());
            return toNumpy(self.get(), true);
          },
          "The value.");
}

/// (make, wrap, dtype, shape) of every result.
std::vector<Caller::Form> formsOf(const nb::list &forms) {
  std::vector<Caller::Form> parsed;
  for (nb::handle form : forms)
    parsed.push_back({form[0], form[1], form[2], form[3]});
  return parsed;
}

void bindCaller(nb::module_ &module) {
  nb::class_<Leaves>(module, "Leaves", "What leaves are, and where their elements lie.")
      .def(
          "__init__",
          [](Leaves *self, nb::object own, nb::object jax, nb::object numpy, nb::object key, nb::object part,
             const nb::list &dtypes, nb::object toHost) {
            new (self)
                Leaves({std::move(own), std::move(jax), std::move(numpy), std::move(key), std::move(part)},
                       dtypes, std::move(toHost));
          },
          "own_type"_a, "jax_type"_a, "numpy_type"_a, "key_type"_a, "part_type"_a, "dtypes"_a, "to_host"_a,
          "The types of the front end's, JAX's and NumPy's arrays, of JAX's typed keys and of parts of\n"
          "batches, the dtypes that are one object each, and a function that gives any other leaf as an "
          "array\n"
          "in memory that nobody else writes.")
      .def("describe", &Leaves::describe, "leaves"_a,
           "A hashable description: equal ones have equal shapes, dtypes and weak types.");
  nb::class_<Caller>(module, "Caller", "A session that is called with leaves and gives arrays.")
      .def(
          "__init__",
          [](Caller *self, nb::object session, nb::object leaves, nb::object array, const nb::list &forms,
             std::vector<std::shared_ptr<StateBuffer>> hidden, std::string name) {
            new (self) Caller(std::move(session), std::move(leaves), std::move(array), formsOf(forms),
                              std::move(hidden), std::move(name));
          },
          "session"_a, "leaves"_a, "array_type"_a, "forms"_a, "hidden"_a, "name"_a,
          "`forms` has (make, wrap, dtype, shape) for every result: of one that stays on the devices\n"
          "array_type(buffer, dtype, shape), else make(NumPy array), which wrap is called with unless it is\n"
          "None. `hidden` are the last arguments of every call.")
      .def("__call__", &Caller::call, "leaves"_a, "donate"_a,
           "Runs a step; waits for it if a result is made of a NumPy array. `donate`: whether states are\n"
           "consumed.");
}

void bindSession(nb::module_ &module) {
  nb::class_<Session>(module, "Session", nb::is_weak_referenceable(), "A plan on devices.")
      .def(
          "__init__",
          [](Session *self, const Plan &plan, const std::string &devices,
             std::shared_ptr<ProcessGroup> processes, bool keepsResults) {
            new (self) Session(plan.plan, devices, Executor::shared(), std::move(processes), keepsResults);
          },
          "plan"_a, "devices"_a, "processes"_a = nb::none(), "keeps_results"_a = false,
          "Loads a plan on devices, say \"cpu:2\", which are in this process or divided among all of a "
          "group. With `keeps_results` all results are StateBuffers.")
      .def("call", &call, "args"_a, "donate"_a, "name"_a, "waits"_a = false,
           "Queues a step: (results, call). Arguments in the order of the slots: StateBuffers or arrays of "
           "the\n"
           "slot's dtype and shape, which must not change before the call has ended. `waits`: the caller "
           "waits\n"
           "for the call at once, and runs a part of it meanwhile.")
      .def_prop_ro("num_calls", &Session::numCalls, "How many calls were queued.")
      .def_prop_ro("is_running", &Session::isRunning, "Whether a call has not ended.")
      .def("waiting", &waitingOf,
           "The messages that commands wait for now: (command, source line, device here, other process,\n"
           "whether it is sent, bytes).")
      .def_prop_ro("num_moved", &Session::numMoved, "How many messages have come and gone.")
      .def("takes", &Session::takes, "slot"_a, "value"_a,
           "Whether a call takes a StateBuffer as it is: else each process reads the whole of it.")
      .def("local_rows", &Session::localRows, "slot"_a, "dim"_a,
           "The rows that this process reads of an argument along a dimension: (begin, end).")
      .def("stop", &Session::stop, "reason"_a,
           "Ends the calls that have not ended, and later ones, with this error.")
      .def("state", &makeState, "slot"_a, "value"_a,
           "A copy of an array on the devices, as an argument needs it.")
      .def(
          "new_state", [](const Session &self, size_t slot) { return toBeWritten(self.newState(slot)); },
          "slot"_a,
          "A value of a state that is not written yet, as an argument needs it, and where to write it: as\n"
          "StateBuffer.shards, but the arrays can be written. Whoever asks writes all of them before he "
          "uses\n"
          "the value, and then lets go of them.")
      .def(
          "trace",
          [](Session &self, bool on) {
            waitForEnd(self.lastCall());
            self.trace(on);
          },
          "on"_a, "Starts or ends recording a timeline, after all calls.")
      .def(
          "trace_json",
          [](Session &self) {
            waitForEnd(self.lastCall());
            return self.traceJson();
          },
          "The timeline recorded last, as Chrome's trace viewer and Perfetto read it.");
}

} // namespace
} // namespace epl::runtime::binding

NB_MODULE(_epl_runtime, module) {
  using namespace epl::runtime::binding;
  using namespace nanobind::literals;
  // Arrays live in users' globals until the interpreter's very end.
  nanobind::set_leak_warnings(false);
  nanobind::exception<epl::runtime::Error> error(module, "Error", PyExc_RuntimeError);
  nanobind::exception<epl::runtime::DonatedError> donated(module, "DonatedError", error);
  module.def(
      "parse_devices", [](const std::string &text) { return epl::runtime::Devices::parse(text).str(); },
      "text"_a, "The full form, cpu:N, of how devices are written.");
  module.def("live_bytes", &epl::runtime::Memory::liveBytes,
             "Bytes of states, results and work memory that the process holds.");
  module.attr("version") = EPL_VERSION;
  module.def("libraries", &epl::runtime::describeLibraries,
             "Names of the numeric libraries, and where each is or why it is not there. Loads them.");
  module.def("cpu_level", &epl::runtime::describeLevel, "What this CPU has: x86-64 to x86-64-v4.");
  module.def("limit_cpu", &epl::runtime::limitCpu, "level"_a,
             "Hides what goes beyond a level, as EPL_CPU does, before any plan is loaded.");
  module.def("host_cpu", &epl::runtime::describeCpu, "The model and the features of this CPU, as one text.");
  bindProcesses(module);
  bindPlan(module);
  bindResults(module);
  bindSession(module);
  bindCaller(module);
}
