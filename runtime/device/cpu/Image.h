// The machine code of a plan, mapped into the process.
#ifndef EPL_RUNTIME_DEVICE_CPU_IMAGE_H
#define EPL_RUNTIME_DEVICE_CPU_IMAGE_H

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace epl::runtime {

/// The entry of every kernel: buffers are inputs, outputs, workspace; `axis_index` holds the rank's
/// coordinate on each mesh axis; [begin, end) is the part of the outer parallel loop to run.
using KernelEntry = void (*)(void *const *buffers, const int64_t *axisIndex, int64_t begin, int64_t end);

/// An ELF shared object loaded from memory. Its symbols are visible through `find` only.
class Image {
public:
  Image() = default;
  /// Maps `elf`; throws Error if the system refuses it.
  explicit Image(std::span<const uint8_t> elf);

  /// The entry named `symbol`; throws Error if the image has none.
  KernelEntry find(const std::string &symbol) const;

private:
  std::shared_ptr<void> handle;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_CPU_IMAGE_H
