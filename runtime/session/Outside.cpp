#include "runtime/session/Outside.h"

#include "runtime/Error.h"

#include <cstring>

namespace epl::runtime {

void OutsideTensors::pull(std::span<const Wanted> wanted, Listener &listener) {
  for (const Wanted &each : wanted) {
    auto found = pulled.find(each.slot);
    if (found == pulled.end() || found->second.type != each.tensor.type)
      throw Error("there is " + (found == pulled.end() ? "nothing" : found->second.type.str()) +
                  " for slot " + std::to_string(each.slot) + ", expected " + each.tensor.type.str());
    if (size_t bytes = each.tensor.type.bytes(); bytes != 0)
      std::memcpy(each.tensor.data, found->second.data, bytes);
    listener.arrived(each.slot);
  }
}

void OutsideTensors::push(uint32_t slot, const HostTensor &tensor) {
  std::lock_guard lock(mutex);
  pushed.insert_or_assign(slot, tensor);
}

} // namespace epl::runtime
