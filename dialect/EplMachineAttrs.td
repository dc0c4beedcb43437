//===- EplMachineAttrs.td - Attributes of machines -----------------------===//
#ifndef EPL_MACHINE_ATTRS
#define EPL_MACHINE_ATTRS

include "dialect/EplKernelAttrs.td"

def Epl_ComputeAttr : Epl_Attr<"Compute", "compute"> {
  let summary = "multiply-adds that a device does in a second, by the type of their elements";
  let description = [{
    At most, in products of large matrices: `f64`, `f32`, and `f16` for floats of 16 bits or less. Integers count as
    the float of their width.

    Example: `#epl.compute<f64 = 40000000000, f32 = 80000000000, f16 = 80000000000>`.

    Constraints:
    - (P1) all numbers are at least 1.
  }];
  let parameters = (ins "int64_t":$f64, "int64_t":$f32, "int64_t":$f16);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Epl_MemoryAttr : Epl_Attr<"Memory", "memory"> {
  let summary = "the memory of a device";
  let description = [{
    Its size in bytes, the bytes that the device reads and writes in a second where no cache helps, and the
    nanoseconds from a read to its first byte.

    Example: `#epl.memory<bytes = 4294967296, bytes_per_second = 20000000000, latency_ns = 100>`.

    Constraints:
    - (P1) all numbers are at least 1.
  }];
  let parameters = (ins "int64_t":$bytes, "int64_t":$bytes_per_second, "int64_t":$latency_ns);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Epl_LinkAttr : Epl_Attr<"Link", "link"> {
  let summary = "what connects devices";
  let description = [{
    The bytes that a device gets from the others in a second, and the nanoseconds that a collective of no bytes
    takes: that of its members which are ready waits for the last one that long.

    Example: `#epl.link<bytes_per_second = 10000000000, latency_ns = 100000>`.

    Constraints:
    - (P1) all numbers are at least 1.
  }];
  let parameters = (ins "int64_t":$bytes_per_second, "int64_t":$latency_ns);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// The bytes that pass in the time of its latency. A collective of fewer is mostly waiting.
    double getLatencyBytes() const { return double(getLatencyNs()) * double(getBytesPerSecond()) / 1e9; }
  }];
  let genVerifyDecl = 1;
}

def Epl_MachineAttr : Epl_Attr<"Machine", "machine"> {
  let summary = "what the devices of a module can do";
  let description = [{
    Passes weigh computing against moving by these numbers. `kind` is that of the devices, `compute` and `memory`
    are those of one of them. The links are between devices of one process (shared memory, NVLink), of several
    processes of one node, and of several nodes (a network); the devices of a mesh are all of one process yet.

    It stands on the module as `epl.machine`; `epl-compile --machine` puts it there. A module without it has the
    table of kind "cpu" (runtime/machine/Machine.cpp).

    ```mlir
    module attributes {epl.machine = #epl.machine<kind = "cpu",
        compute = <f64 = 40000000000, f32 = 80000000000, f16 = 80000000000>,
        memory = <bytes = 4294967296, bytes_per_second = 20000000000, latency_ns = 100>,
        within_process = <bytes_per_second = 10000000000, latency_ns = 100000>,
        between_processes = <bytes_per_second = 5000000000, latency_ns = 200000>,
        between_nodes = <bytes_per_second = 1000000000, latency_ns = 300000>>} {}
    ```

    Constraints:
    - (M1) `kind` is one that there is a table of.
  }];
  let parameters = (ins StringRefParameter<>:$kind, "::mlir::epl::ComputeAttr":$compute,
                        "::mlir::epl::MemoryAttr":$memory, "::mlir::epl::LinkAttr":$within_process,
                        "::mlir::epl::LinkAttr":$between_processes, "::mlir::epl::LinkAttr":$between_nodes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // EPL_MACHINE_ATTRS
