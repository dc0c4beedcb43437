// Sessions and their calls in Python.

#include "runtime/Error.h"
#include "runtime/binding/Arrays.h"
#include "runtime/binding/Bindings.h"
#include "runtime/binding/Caller.h"
#include "runtime/binding/Waiting.h"
#include "runtime/session/Session.h"

#include <nanobind/stl/map.h>

namespace epl::runtime::binding {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

Argument argumentOf(const Session &session, size_t slot, nb::handle value) {
  if (session.plan().slots[slot]->role == plan::SlotRole::pulled && value.is_none())
    return Pulled();
  std::shared_ptr<StateBuffer> state;
  if (nb::try_cast(value, state) && state)
    return state;
  const plan::SlotT &source = *session.plan().slots[slot];
  return fromNumpy(value, source.type, source.name);
}

nb::tuple call(Session &session, const nb::list &values, const std::vector<bool> &donate,
               const std::string &name, bool waits, std::shared_ptr<Outside> outside) {
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
  Outcome outcome = session.call(arguments, donate, name, waits, std::move(outside));
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

nb::list waitingOf(const Session &self) {
  nb::list list;
  for (const Waiting &waiting : self.waiting())
    list.append(nb::make_tuple(waiting.command, waiting.location, waiting.device, waiting.process,
                               waiting.isSend, waiting.bytes));
  return list;
}

/// (make, wrap, dtype, shape) of every result.
std::vector<Caller::Form> formsOf(const nb::list &forms) {
  std::vector<Caller::Form> parsed;
  for (nb::handle form : forms)
    parsed.push_back({form[0], form[1], form[2], form[3]});
  return parsed;
}

} // namespace

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
      .def("__call__", &Caller::call, "leaves"_a, "donate"_a, "outside"_a = nb::none(),
           "Runs a step; waits for it if a result is made of a NumPy array, or if it pulls or pushes. "
           "`leaves`\n"
           "are the arguments that are not pulled. `donate`: whether states are consumed. `outside`: an "
           "Outside,\n"
           "of a plan that pulls or pushes.");
}

/// Tensors by slot as arrays of the slots' dtypes.
static std::map<uint32_t, HostTensor> tensorsOf(const Plan &plan,
                                                const std::map<uint32_t, nb::object> &arrays) {
  std::map<uint32_t, HostTensor> tensors;
  for (const auto &[slot, array] : arrays) {
    if (slot >= plan.plan->slots.size())
      throw Error("the plan has no slot " + std::to_string(slot));
    const plan::SlotT &source = *plan.plan->slots[slot];
    tensors.emplace(slot, fromNumpy(array, source.type, source.name));
  }
  return tensors;
}

static void bindOutside(nb::module_ &module) {
  [[maybe_unused]] nb::class_<Outside> outside(module, "Outside",
                                               "Where the step of one call pulls and pushes.");
  nb::class_<OutsideTensors, Outside>(module, "OutsideTensors",
                                      "Arrays that are there, and those that were pushed.")
      .def(
          "__init__",
          [](OutsideTensors *self, const Plan &plan, const std::map<uint32_t, nb::object> &pulled) {
            new (self) OutsideTensors(tensorsOf(plan, pulled));
          },
          "plan"_a, "pulled"_a, "`pulled`: of each pulled slot of a plan its value.")
      .def_prop_ro(
          "pushed",
          [](const OutsideTensors &self) {
            nb::dict arrays;
            for (const auto &[slot, tensor] : self.pushes())
              arrays[nb::int_(slot)] = toNumpy(tensor, /*writable=*/false);
            return arrays;
          },
          "What was pushed, by slot; after the call.");
}

void bindSession(nb::module_ &module) {
  bindOutside(module);
  nb::class_<Session>(module, "Session", nb::is_weak_referenceable(), "A plan on devices.")
      .def(
          "__init__",
          [](Session *self, const Plan &plan, const std::string &devices,
             std::shared_ptr<ProcessGroup> processes, bool keepsResults, uint32_t maxThreads) {
            nb::gil_scoped_release unlocked; // processes may wait for one another
            new (self) Session(plan.plan, devices, Executor::shared(), std::move(processes), keepsResults,
                               maxThreads);
          },
          "plan"_a, "devices"_a, "processes"_a = nb::none(), "keeps_results"_a = false, "max_threads"_a = 0,
          "Loads a plan on devices, say \"cpu:2\", which are in this process or divided among all of a "
          "group. With `keeps_results` all results are StateBuffers. `max_threads`: that run a call; 0: one "
          "for "
          "each core, and one for each device at most.")
      .def("release", &Session::release, nb::call_guard<nb::gil_scoped_release>(),
           "Gives back the memory that calls need for themselves, after waiting for all of them; the next "
           "call\n"
           "takes it again.")
      .def("expect", &Session::expect, "outside"_a, nb::call_guard<nb::gil_scoped_release>(),
           "Has an Outside, which the next call must be given, send what that pulls.")
      .def("call", &call, "args"_a, "donate"_a, "name"_a, "waits"_a = false, "outside"_a = nb::none(),
           "Queues a step: (results, call). Arguments in the order of the slots: StateBuffers or arrays of "
           "the\n"
           "slot's dtype and shape, which must not change before the call has ended; None for what is "
           "pulled.\n"
           "`waits`: the caller waits for the call at once, and runs a part of it meanwhile. `outside`: an "
           "Outside, of\n"
           "a plan that pulls or pushes.")
      .def_prop_ro("num_calls", &Session::numCalls, "How many calls were queued.")
      .def_prop_ro("is_running", &Session::isRunning, "Whether a call has not ended.")
      .def("waiting", &waitingOf,
           "The messages that commands wait for now: (command, source line, device here, other process,\n"
           "whether it is sent, bytes).")
      .def_prop_ro("num_moved", &Session::numMoved, "How many messages have come and gone.")
      .def_prop_ro(
          "fault", &Session::fault,
          "Why no later step can be run: one was broken off in this process, and others wait for the\n"
          "rest of it. Empty if they can.")
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

} // namespace epl::runtime::binding
