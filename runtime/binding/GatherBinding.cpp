// All-gathers between workers of parameter servers, in Python.

#include "runtime/binding/Bindings.h"
#include "runtime/binding/ServersGather.h"
#include "runtime/binding/Waiting.h"
#include "runtime/servers/OpenTransport.h"

namespace epl::runtime::binding {

namespace nb = nanobind;
namespace ps = servers;
using namespace nb::literals;

namespace {

ServersGather *makeGather(ServersGather *self, const std::vector<std::string> &addresses, uint32_t number,
                          uint32_t workers, uint64_t life, const ps::StreamOptions &streams,
                          uint64_t deadline) {
  ps::GatherOptions options;
  options.timing.arrival = deadline;
  options.worker = number, options.workers = workers, options.life = life, options.seed = life;
  return new (self) ServersGather(
      std::make_unique<ps::Gather>(ps::openStreamTransport(), options, addresses, streams, checkSignals));
}

nb::list share(ServersGather &self, const std::string &what, const nb::bytes &content, int32_t from) {
  auto *data = reinterpret_cast<const std::byte *>(content.data());
  std::vector<std::byte> bytes(data, data + content.size());
  std::vector<std::vector<std::byte>> shared;
  {
    nb::gil_scoped_release unlocked;
    shared = self.gather->share(what, std::move(bytes), from);
  }
  nb::list list;
  for (const std::vector<std::byte> &each : shared)
    list.append(nb::bytes(reinterpret_cast<const char *>(each.data()), each.size()));
  return list;
}

} // namespace

void bindGather(nb::module_ &module) {
  nb::class_<ServersGather>(module, "ServersGather", "All-gathers of one worker with all others.")
      .def("__init__", &makeGather, "addresses"_a, "number"_a, "workers"_a, "life"_a, "streams"_a,
           "deadline"_a,
           "`addresses`: of the servers, which have so many milliseconds to come (`deadline`). All of them "
           "see\n"
           "that this worker lives; server 0 has the rounds.")
      .def(
          "begin", [](ServersGather &self) { return self.gather->begin(); },
          nb::call_guard<nb::gil_scoped_release>(),
          "How many rounds were over when this worker came; waits for all servers.")
      .def("share", &share, "what"_a, "content"_a, "from"_a = -1,
           "What all workers give, as bytes, in their order; `what` it is for, all say alike. With `from`, "
           "what\n"
           "that worker gives, without waiting for others.")
      .def(
          "check", [](ServersGather &self) { self.gather->check(); },
          nb::call_guard<nb::gil_scoped_release>(), "Raises Error once a server is lost, or has ended.")
      .def(
          "knows", [](ServersGather &self, bool goesOn) { self.gather->knows(goesOn); }, "goes_on"_a,
          nb::call_guard<nb::gil_scoped_release>(),
          "Tells the servers whether the job goes on without workers other than worker 0 that are lost.")
      .def(
          "leave", [](ServersGather &self, const std::string &failure) { self.gather->leave(failure); },
          "failure"_a, nb::call_guard<nb::gil_scoped_release>(),
          "Takes no part any more: the worker has ended, or, with a text, cannot go on.");
}

} // namespace epl::runtime::binding
