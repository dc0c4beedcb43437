// A worker of parameter servers, and servers within this process, in Python.

#include "runtime/Error.h"
#include "runtime/binding/Arrays.h"
#include "runtime/binding/Bindings.h"
#include "runtime/binding/ServersGather.h"
#include "runtime/binding/ServersWorker.h"
#include "runtime/binding/Waiting.h"
#include "runtime/servers/OpenTransport.h"
#include "runtime/servers/drive/FiniteCheck.h"
#include "runtime/servers/drive/WorkerOutside.h"
#include "runtime/servers/model/Dispatch.h"
#include "runtime/servers/model/Slices.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <cstring>

namespace epl::runtime::binding {

namespace nb = nanobind;
namespace ps = servers;
namespace mf = servers::manifest;
using namespace nb::literals;

namespace {

using Values = std::map<std::pair<uint32_t, int32_t>, nb::object>;

std::optional<ps::JobSource> sourceOf(const std::shared_ptr<ServersJob> &job,
                                      const std::optional<Values> &values) {
  if (!values)
    return std::nullopt;
  std::map<std::pair<uint32_t, int32_t>, HostTensor> tensors;
  for (const auto &[place, array] : *values) {
    auto [index, state] = place;
    const mf::ParameterT &parameter = *job->job->manifest.parameters.at(index);
    TensorType type{parameter.type, parameter.shape};
    std::string name = parameter.name;
    if (state >= 0) {
      const mf::StateT &kept = *parameter.states.at(size_t(state));
      type = {kept.type, kept.shape}, name = kept.name;
    }
    HostTensor tensor = fromNumpy(array, type.element, name);
    if (tensor.type != type)
      throw Error("the first value of \"" + name + "\" is " + tensor.type.str() + ", expected " + type.str());
    // A copy: what the caller has may change, and goes with the interpreter's lock.
    HostTensor copy = HostTensor::allocate(type, Memory::Fill::none);
    if (type.bytes() != 0)
      std::memcpy(copy.data, tensor.data, type.bytes());
    tensors.emplace(place, std::move(copy));
  }
  return ps::JobSource{job->manifest, [job](uint32_t plan) { return job->plans[plan]; },
                       [tensors = std::move(tensors)](uint32_t parameter, int32_t state) {
                         return tensors.at({parameter, state});
                       }};
}

ps::Merge mergeOf(const std::string &name) {
  if (name != "sum" && name != "mean")
    throw Error("merge is \"" + name + "\", expected \"sum\" or \"mean\"");
  return name == "sum" ? ps::Merge::sum : ps::Merge::mean;
}

ServersWorker *
makeWorker(ServersWorker *self, std::shared_ptr<ServersJob> job, uint32_t number, uint64_t life,
           const std::variant<std::vector<std::string>, std::shared_ptr<LocalServers>> &servers,
           const std::optional<Values> &values, const ps::StreamOptions &streams, uint64_t deadline,
           const std::string &merge, uint32_t maxMerge) {
  ps::WorkerOptions options;
  options.merge = mergeOf(merge), options.maxMerge = maxMerge;
  options.worker = number, options.life = life, options.job = job->hash, options.seed = life;
  options.timing.arrival = options.timing.deadline = deadline;
  std::shared_ptr<LocalServers> local;
  std::shared_ptr<ps::StreamTransport> transport;
  if (const auto *held = std::get_if<std::shared_ptr<LocalServers>>(&servers)) {
    local = *held;
    transport = local->transport, options.addresses = local->addresses;
  } else {
    options.addresses = std::get<std::vector<std::string>>(servers);
    transport = ps::openStreamTransport();
  }
  auto worker = std::make_unique<ps::Worker>(transport, job->job, options, streams, sourceOf(job, values),
                                             checkSignals);
  return new (self) ServersWorker(std::move(job), std::move(local), std::move(worker));
}

/// The same tensor, whose array any thread may let go of.
HostTensor released(HostTensor tensor) {
  auto letGo = [owner = std::move(tensor.owner)](const std::byte *) mutable {
    nb::gil_scoped_acquire locked;
    owner = nullptr;
  };
  tensor.owner = std::shared_ptr<const std::byte>(tensor.data, std::move(letGo));
  return tensor;
}

nb::list pull(ServersWorker &self, uint64_t step) {
  const std::vector<HostTensor> *values = nullptr;
  {
    nb::gil_scoped_release unlocked;
    values = &self.worker->pull(step);
  }
  nb::list list;
  for (const HostTensor &value : *values)
    list.append(toNumpy(value, /*writable=*/false));
  return list;
}

/// What is pushed for a parameter.
std::vector<HostTensor> pushesOf(const mf::ParameterT &parameter, const std::vector<nb::object> &arrays) {
  std::string name = "what is pushed for \"" + parameter.name + "\"";
  if (arrays.size() != parameter.pushes.size())
    throw Error(name + " is " + std::to_string(arrays.size()) + " arrays, expected " +
                std::to_string(parameter.pushes.size()));
  std::vector<HostTensor> tensors;
  for (size_t i = 0; i < arrays.size(); ++i) {
    TensorType type{parameter.pushes[i]->type, parameter.pushes[i]->shape};
    tensors.push_back(released(fromNumpy(arrays[i], type.element, name)));
    if (tensors.back().type != type)
      throw Error(name + " is " + tensors.back().type.str() + ", expected " + type.str());
  }
  return tensors;
}

/// What is pushed for all parameters.
std::vector<std::vector<HostTensor>> allPushesOf(const ServersWorker &self,
                                                 const std::vector<std::vector<nb::object>> &arrays) {
  const auto &parameters = self.job->job->manifest.parameters;
  if (arrays.size() != parameters.size())
    throw Error("there are pushes for " + std::to_string(arrays.size()) + " parameters, expected " +
                std::to_string(parameters.size()));
  std::vector<std::vector<HostTensor>> pushes;
  pushes.reserve(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i)
    pushes.push_back(pushesOf(*parameters[i], arrays[i]));
  return pushes;
}

void push(ServersWorker &self, uint64_t step, const std::vector<std::vector<nb::object>> &arrays) {
  std::vector<std::vector<HostTensor>> pushes = allPushesOf(self, arrays);
  nb::gil_scoped_release unlocked;
  self.worker->push(step, pushes);
}

void checkPushes(const ServersWorker &self, const std::vector<std::vector<nb::object>> &arrays) {
  std::vector<std::vector<HostTensor>> pushes = allPushesOf(self, arrays);
  nb::gil_scoped_release unlocked;
  for (uint32_t parameter = 0; parameter < pushes.size(); ++parameter)
    ps::checkFinite(*self.job->job, parameter, pushes[parameter]);
}

nb::list fetch(ServersWorker &self, uint64_t step, const std::vector<std::pair<uint32_t, int32_t>> &places) {
  std::vector<ps::ValueId> ids;
  ids.reserve(places.size());
  for (auto [parameter, state] : places)
    ids.push_back({parameter, state});
  std::vector<HostTensor> values;
  {
    nb::gil_scoped_release unlocked;
    values = self.worker->fetch(step, ids);
  }
  nb::list list;
  for (const HostTensor &value : values)
    list.append(toNumpy(value, /*writable=*/true));
  return list;
}

/// What a worker's plan exchanges in a step. Values are (parameter, state), pushes (parameter, which of
/// them).
std::shared_ptr<ps::WorkerOutside>
makeOutside(ServersWorker &self, const Plan &plan, uint64_t step,
            const std::map<uint32_t, std::pair<uint32_t, int32_t>> &pulled,
            const std::map<uint32_t, std::vector<std::pair<uint32_t, uint32_t>>> &pushed, bool keeps) {
  ps::WorkerOutside::Pulled values;
  for (auto [slot, value] : pulled)
    values[slot] = {value.first, value.second};
  ps::WorkerOutside::Pushed pushes;
  for (const auto &[slot, ids] : pushed)
    for (auto [parameter, index] : ids)
      pushes[slot].push_back({parameter, index});
  return std::make_shared<ps::WorkerOutside>(*self.worker, self.job->job, *plan.plan, step, std::move(values),
                                             std::move(pushes), keeps);
}

std::vector<Shape> sliceVariable(const Shape &shape, uint32_t count, uint64_t minBlockSize) {
  std::vector<Shape> shapes;
  for (ps::Slice slice : ps::sliceVariable(shape, count, minBlockSize))
    shapes.push_back(ps::sliceShape(shape, slice));
  return shapes;
}

} // namespace

void bindServers(nb::module_ &module) {
  nb::class_<ServersJob>(module, "ServersJob", "What parameter servers hold, and the plans that update it.")
      .def(nb::init<const std::string &, const std::string &, uint32_t, uint32_t, uint32_t,
                    const std::vector<ParameterFields> &, const std::vector<PlanFields> &,
                    const std::vector<TableFields> &>(),
           "mode"_a, "on_lost"_a, "workers"_a, "servers"_a, "geo_steps"_a, "parameters"_a, "plans"_a,
           "tables"_a = std::vector<TableFields>(),
           "Parameters are (name, dtype, shape, states, pushes, blocks), their states (name, dtype, shape,\n"
           "sliced), pushes (dtype, shape, sliced), blocks (name, begin, size, shape, server, plan); plans\n"
           "(arguments, bytes of the file), their arguments (role, state); tables (name, dtype, dim, slots,\n"
           "(init, scale), seed, plan, admit, rows, padding), their slots (name, dtype, shape, first value\n"
           "as bytes): fields as runtime/servers/model/manifest.fbs has them.")
      .def_prop_ro(
          "hash", [](const ServersJob &self) { return self.hash.text(); },
          "Of the manifest: the name of the job.");
  nb::class_<ps::Dispatcher>(module, "Dispatcher", "Gives blocks to servers.")
      .def(
          "dispatch",
          [](ps::Dispatcher &self, const std::vector<std::string> &blocks) { return self.dispatch(blocks); },
          "blocks"_a, "The server of each block of a parameter; for one parameter after another.")
      .def("reset", &ps::Dispatcher::reset, "Begins anew with the first parameter.");
  nb::class_<ps::RoundRobin, ps::Dispatcher>(module, "RoundRobin", "One server after another.")
      .def(nb::init<uint32_t>(), "servers"_a);
  nb::class_<ps::HashName, ps::Dispatcher>(module, "HashName", "By CRC-32 of the block's name.")
      .def(nb::init<uint32_t>(), "servers"_a);
  nb::class_<LocalServers>(module, "LocalServers", "Servers of one worker, as threads of its process.")
      .def(nb::init<uint32_t, uint32_t>(), "count"_a, "threads"_a);
  nb::class_<ps::StreamOptions>(module, "StreamOptions", "How processes prove who they are.")
      .def(nb::init<>())
      .def_rw("token", &ps::StreamOptions::token, "A secret that all processes of a run share.")
      .def_rw("ca", &ps::StreamOptions::ca, "Who signs certificates of peers, a file in PEM.")
      .def_rw("certificate", &ps::StreamOptions::certificate, "This end's, a file in PEM.")
      .def_rw("key", &ps::StreamOptions::key, "Of that certificate, a file in PEM.")
      .def_rw("insecure", &ps::StreamOptions::insecure,
              "No token, or plaintext, at addresses that other machines reach.");
  module.def("slice_variable", &sliceVariable, "shape"_a, "count"_a, "min_block_size"_a,
             "The shapes of the blocks, at most `count`, into which a parameter is cut.");
  module.def("block_name", &ps::blockName, "tensor"_a, "index"_a, "count"_a,
             "What a block is called, of the `count` of a tensor.");
  nb::class_<ps::WorkerOutside, Outside>(module, "WorkerOutside", "Servers, for one step of a worker.")
      .def_prop_ro("num_pushed", &ps::WorkerOutside::numPushed,
                   "How many parameters' pushes were handed over.")
      .def_prop_ro("has_pushed_all", &ps::WorkerOutside::hasPushedAll, "Whether all were.")
      .def("check_finite", &ps::WorkerOutside::checkFinite, nb::call_guard<nb::gil_scoped_release>(),
           "Raises Error if something that it keeps is not finite.")
      .def("release", &ps::WorkerOutside::release, nb::call_guard<nb::gil_scoped_release>(),
           "Hands over what it keeps.")
      .def("end", &ps::WorkerOutside::end, nb::call_guard<nb::gil_scoped_release>(),
           "Nothing that comes is written any more: of a step that is expected and does not follow.");
  nb::class_<ServersWorker> worker(module, "ServersWorker", "One worker, between its steps and all servers.");
  worker
      .def("__init__", &makeWorker, "job"_a, "number"_a, "life"_a, "servers"_a, "values"_a.none(),
           "streams"_a, "deadline"_a, "merge"_a = "sum", "max_merge"_a = ps::WorkerOptions().maxMerge,
           "`servers`: their addresses, or LocalServers. `values`: of worker 0, by (parameter, state), of "
           "the\n"
           "parameter itself -1, the first ones; else None. `deadline`: milliseconds, of a server that has "
           "not "
           "come\n"
           "yet, and of a request without an answer. `merge`: \"sum\" or \"mean\", and `max_merge`: how "
           "gradients\n"
           "that wait are merged, and how many at most.")
      .def(
          "begin",
          [](ServersWorker &self, ServersGather *gather) {
            nb::gil_scoped_release unlocked;
            return gather ? self.worker->begin([&] { gather->gather->check(); }) : self.worker->begin();
          },
          "gather"_a = nb::none(),
          "Waits for all servers; the first step that this worker takes part in. `gather`: of this worker, "
          "whose\n"
          "end ends the wait; None if it is alone.")
      .def("pull", &pull, "step"_a,
           "The parameters for a step; waits. They stay as they are until the next pull.")
      .def("push", &push, "step"_a, "pushes"_a,
           "Hands over what is pushed for each parameter, as arrays, which must not change any more.")
      .def("check_finite", &checkPushes, "pushes"_a,
           "Raises Error if something of that is not finite: the parameter, the value and its place.")
      .def("outside", &makeOutside, nb::keep_alive<0, 1>(), "plan"_a, "step"_a, "pulled"_a, "pushed"_a,
           "keeps"_a = false,
           "The servers as what is outside of a plan in a step. `pulled`: by slot (parameter, state), -1 "
           "being "
           "the\n"
           "parameter itself. `pushed`: by slot a list of (parameter, which of its pushes). `keeps`: what is "
           "pushed\n"
           "waits for `release`.")
      .def(
          "await_room",
          [](ServersWorker &self) {
            nb::gil_scoped_release unlocked;
            self.worker->awaitRoom();
          },
          "Waits until few enough pushes wait to be sent.")
      .def(
          "check", [](ServersWorker &self) { self.worker->check(); }, "Raises Error if the job has failed.")
      .def(
          "is_pushed", [](const ServersWorker &self, uint64_t step) { return self.worker->isPushed(step); },
          "step"_a)
      .def("fetch", &fetch, "step"_a, "values"_a,
           "Of each (parameter, state), -1 being the parameter itself, the array as it is for a step; waits.")
      .def(
          "finish", [](ServersWorker &self, uint64_t step) { self.worker->finish(step); }, "step"_a,
          nb::call_guard<nb::gil_scoped_release>(),
          "Takes no part from this step on; waits until the servers have all that was pushed.")
      .def(
          "fail", [](ServersWorker &self, const std::string &error) { self.worker->fail(error); }, "error"_a,
          nb::call_guard<nb::gil_scoped_release>(), "Tells the servers that this worker cannot go on.");
  bindTables(worker);
}

} // namespace epl::runtime::binding
