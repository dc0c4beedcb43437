// What processes tell one another, in Python.

#include "runtime/binding/Bindings.h"
#include "runtime/binding/Waiting.h"
#include "runtime/collective/Exchange.h"

namespace epl::runtime::binding {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

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

} // namespace

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

} // namespace epl::runtime::binding
