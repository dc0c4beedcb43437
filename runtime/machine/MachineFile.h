// A machine as a file of JSON: a change of the table of its "kind", "cpu" if it says none.
//
//   {"kind": "cpu", "within_process": {"bytes_per_second": 12000000000, "latency_ns": 40000}}
//
// Names and units are those of #epl.machine (dialect/EplAttrs.td), and of GPUs also "gpu": {"architecture":
// 90, "multiprocessors": 132, "clock_hz": 1830000000, "shared_bytes": 232448, "launch_ns": 1500,
// "host_bytes_per_second": 64000000000}, which `epl-plan` predicts times by. `epl-plan machine` measures a
// CPU's, and prints those of tables.
#ifndef EPL_RUNTIME_MACHINE_MACHINEFILE_H
#define EPL_RUNTIME_MACHINE_MACHINEFILE_H

#include "runtime/machine/Machine.h"

#include <variant>

namespace epl::runtime::machine {

/// A machine, or what is wrong: for the compiler, too, which has no exceptions.
using MachineOrError = std::variant<Machine, std::string>;

/// The machine that `text`, the content of a file, says. Errors name `file`, the place in it, what is
/// expected and what was found.
MachineOrError parseMachine(const std::string &text, const std::string &file);

/// The table of a kind, or what the file says if `kindOrFile` is none. Errors as above.
MachineOrError readMachine(const std::string &kindOrFile);

/// All figures of a machine as the content of such a file.
std::string machineJson(const Machine &machine);

} // namespace epl::runtime::machine

#endif // EPL_RUNTIME_MACHINE_MACHINEFILE_H
