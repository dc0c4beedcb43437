// All-gathers between workers of parameter servers, in Python.

#include "runtime/binding/Bindings.h"
#include "runtime/binding/Waiting.h"
#include "runtime/servers/OpenTransport.h"
#include "runtime/servers/drive/Gather.h"

namespace epl::runtime::binding {

namespace nb = nanobind;
namespace ps = servers;
using namespace nb::literals;

namespace {

struct ServersGather {
  explicit ServersGather(std::unique_ptr<ps::Gather> gather) : gather(std::move(gather)) {}
  ~ServersGather() {
    nb::gil_scoped_release unlocked;
    gather = nullptr;
  }
  ServersGather(const ServersGather &) = delete;

  std::unique_ptr<ps::Gather> gather;
};

ServersGather *makeGather(ServersGather *self, const std::string &address, uint32_t number, uint32_t workers,
                          uint64_t life, const ps::StreamOptions &streams, uint64_t deadline) {
  ps::GatherOptions options;
  options.timing.arrival = deadline;
  options.worker = number, options.workers = workers, options.life = life, options.seed = life;
  options.address = address;
  return new (self)
      ServersGather(std::make_unique<ps::Gather>(ps::openStreamTransport(), options, streams, checkSignals));
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
      .def("__init__", &makeGather, "address"_a, "number"_a, "workers"_a, "life"_a, "streams"_a, "deadline"_a,
           "`address`: of server 0, which has so many milliseconds to come (`deadline`).")
      .def(
          "begin", [](ServersGather &self) { return self.gather->begin(); },
          nb::call_guard<nb::gil_scoped_release>(),
          "How many rounds were over when this worker came; waits for server 0.")
      .def("share", &share, "what"_a, "content"_a, "from"_a = -1,
           "What all workers give, as bytes, in their order; `what` it is for, all say alike. With `from`, "
           "what\n"
           "that worker gives, without waiting for others.")
      .def(
          "leave", [](ServersGather &self) { self.gather->leave(); },
          nb::call_guard<nb::gil_scoped_release>(), "Takes no part any more.");
}

} // namespace epl::runtime::binding
