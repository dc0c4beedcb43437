// Things of the driver, each destroyed with its handle.
#ifndef EPL_RUNTIME_DEVICE_CUDA_HANDLES_H
#define EPL_RUNTIME_DEVICE_CUDA_HANDLES_H

#include "runtime/device/cuda/Driver.h"

#include <cstddef>
#include <string>
#include <utility>

namespace epl::runtime::cuda {

/// A thing of the driver that `destroy`, one of its functions, ends; none if it is null.
template <typename T, auto destroy> class Handle {
public:
  Handle() = default;
  Handle(const Driver &api, T thing) : api(&api), thing(thing) {}
  Handle(Handle &&other) noexcept : api(other.api), thing(std::exchange(other.thing, {})) {}
  Handle &operator=(Handle &&other) noexcept {
    std::swap(api, other.api);
    std::swap(thing, other.thing);
    return *this;
  }
  ~Handle() {
    if (thing)
      (api->*destroy)(thing);
  }

  operator T() const { return thing; }
  T get() const { return thing; }

private:
  const Driver *api = nullptr;
  T thing{};
};

using Stream = Handle<CUstream, &Driver::cuStreamDestroy>;
using Event = Handle<CUevent, &Driver::cuEventDestroy>;
using Module = Handle<CUmodule, &Driver::cuModuleUnload>;
using Graph = Handle<CUgraph, &Driver::cuGraphDestroy>;
using ExecutableGraph = Handle<CUgraphExec, &Driver::cuGraphExecDestroy>;
/// Memory of the host that cards read and write by themselves.
using Pinned = Handle<void *, &Driver::cuMemFreeHost>;

// Each throws Error if the driver cannot make it; streams are of the calling thread's card.

/// `isUrgent`: where kernels of several streams could run, its own come first.
inline Stream makeStream(const Driver &api, bool isUrgent = false) {
  CUstream stream = nullptr;
  int least = 0, greatest = 0;
  api.check(api.cuCtxGetStreamPriorityRange(&least, &greatest), "cannot make a stream");
  api.check(api.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, isUrgent ? greatest : least),
            "cannot make a stream");
  return {api, stream};
}

/// Of the calling thread's card. `isTimed`: it can be asked for its time.
inline Event makeEvent(const Driver &api, bool isTimed = false) {
  CUevent event = nullptr;
  api.check(api.cuEventCreate(&event, isTimed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING),
            "cannot make an event");
  return {api, event};
}

/// Puts an event behind what is on a stream, of the calling thread's card; makes it the first time.
inline void record(const Driver &api, Event &event, CUstream stream, bool isTimed = false) {
  if (!event)
    event = makeEvent(api, isTimed);
  api.check(api.cuEventRecord(event, stream), "cannot record an event");
}

/// A stream goes on behind an event.
inline void await(const Driver &api, CUstream stream, CUevent event) {
  api.check(api.cuStreamWaitEvent(stream, event, 0), "cannot wait for an event");
}

inline Pinned takePinned(const Driver &api, size_t size) {
  void *memory = nullptr;
  api.check(api.cuMemHostAlloc(&memory, size, CU_MEMHOSTALLOC_PORTABLE),
            "cannot take " + std::to_string(size) + " bytes of pinned memory");
  return {api, memory};
}

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_HANDLES_H
