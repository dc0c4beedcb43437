// The commands of a plan that a CPU runs by itself.
#ifndef EPL_RUNTIME_DEVICE_CPU_COMMANDS_H
#define EPL_RUNTIME_DEVICE_CPU_COMMANDS_H

#include "runtime/device/Device.h"
#include "runtime/device/cpu/Image.h"

namespace epl::runtime {

/// Kernels of a plan's image, library calls, copies: each runs to its end in the thread that starts it.
class CpuCode final : public Code {
public:
  /// Maps the image; throws Error if the system refuses it.
  explicit CpuCode(std::span<const uint8_t> image) : image(image) {}

  std::unique_ptr<Command> bind(const plan::PlanT &plan, uint32_t command) const override;

private:
  Image image;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_CPU_COMMANDS_H
