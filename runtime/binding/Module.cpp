// The Python module _epl_runtime: plans and sessions for the front end. The interpreter's lock is what keeps
// threads apart here, so that it is given up for waiting only.

#include "runtime/Error.h"
#include "runtime/binding/Bindings.h"
#include "runtime/device/cpu/Features.h"
#include "runtime/device/cpu/Libraries.h"
#include "runtime/plan/model/Devices.h"
#include "runtime/session/Session.h"

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
  module.def(
      "restrict_devices",
      [](const std::string &text, const std::string &list) {
        return epl::runtime::Devices::parse(text).among(list).str();
      },
      "text"_a, "list"_a, "The same devices on cards of a list, in which they count from 0.");
  module.def(
      "devices_of_process",
      [](const std::string &text, uint32_t place) {
        return epl::runtime::Devices::parse(text).ofProcess(place).str();
      },
      "text"_a, "place"_a, "Of cuda:* the card that a process with this number on its host takes.");
  module.def(
      "count_devices", [](const std::string &text) { return epl::runtime::Devices::parse(text).count; },
      "text"_a, "How many devices a text names.");
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
  bindServers(module);
  bindGather(module);
}
