// What a command of a rank moves between buffers: the bytes that it copies, the elements that it combines.
#ifndef EPL_RUNTIME_DEVICE_CUDA_MOVES_H
#define EPL_RUNTIME_DEVICE_CUDA_MOVES_H

#include "runtime/device/Command.h"
#include "runtime/device/cuda/kernels/Arguments.h"
#include "runtime/plan/model/Channels.h"

#include <functional>
#include <string>

namespace epl::runtime::cuda {

/// Sums of one kind and type.
struct Sums {
  std::string kernel; ///< the plugin's own, epl_sum_f32
  uint32_t members;
  std::vector<SumRun> runs;
  std::vector<unsigned long> sources; ///< the addresses that runs begin at
};

struct Moves {
  std::vector<CopyRun> copies;
  std::vector<Sums> sums;
};

/// Where memory is: of a buffer of a rank of the command's part; of a channel's message on a rank that sends.
struct MoveAddresses {
  std::function<unsigned long(uint32_t rank, uint32_t buffer)> buffer;
  std::function<unsigned long(uint32_t channel, uint32_t message, uint32_t rank)> channel;
};

/// What `command` of a plan for one mesh moves on `rank`, whose members are all here; nothing for commands
/// that compute. What is nowhere but where it is read already is not moved.
Moves movesOf(const plan::PlanT &plan, const Channels &channels, const Topology &topology,
              const plan::CommandT &command, uint32_t rank, const MoveAddresses &addresses);

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_MOVES_H
