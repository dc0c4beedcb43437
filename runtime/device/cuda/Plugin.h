// What the runtime knows of the plugin for GPUs: one function.
#ifndef EPL_RUNTIME_DEVICE_CUDA_PLUGIN_H
#define EPL_RUNTIME_DEVICE_CUDA_PLUGIN_H

#include "runtime/collective/Transport.h"
#include "runtime/device/Device.h"
#include "runtime/plan/model/Devices.h"

namespace epl::runtime::cuda {

/// The plugin's file, beside the other libraries of the runtime.
inline constexpr const char *kPluginFile = "libepl_cuda.so";
inline constexpr const char *kPluginFunction = "eplOpenCudaDevices";

/// Opens the cards that `devices` names, of a process that is alone or, where `processes` is not null, those
/// that this process has of them; all processes call it together. Throws Error if there is no driver, or no
/// such card.
using OpenFunction = void (*)(const Devices &devices, std::shared_ptr<ProcessGroup> processes,
                              std::shared_ptr<DeviceSet> &opened);

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_PLUGIN_H
