// The devices of a run beside those of this process.
#ifndef EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_PEERS_H
#define EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_PEERS_H

#include "runtime/collective/Exchange.h"
#include "runtime/plan/model/Devices.h"
#include "runtime/plan/model/Processes.h"

#include <optional>

namespace epl::runtime::cuda {

/// Which process has each device, and on which card it is. All processes of a run make theirs together, and
/// call what says so together.
class Peers {
public:
  /// `processes` is null for a process that is alone. Throws Error if another one does not answer.
  Peers(const Devices &devices, std::shared_ptr<ProcessGroup> processes);

  const Processes &processes() const { return division; }
  uint32_t numDevices() const { return deviceCount; }
  bool isAlone() const { return !exchange; }
  bool isHere(uint32_t device) const { return division.of(device) == division.own; }
  /// How many processes of this host come before this one.
  uint32_t placeOnHost() const { return place; }

  /// Tells the others, and learns of them, which card each device is on. `own`: a name for the card of each
  /// device that is here, which no other card has. Called together.
  void shareCards(const std::vector<std::string> &own);
  /// A number of the card that a device is on, wherever that is.
  uint32_t cardOf(uint32_t device) const { return cards[device]; }

  /// A transport between the processes of a run, not of one that is alone. Called together.
  std::shared_ptr<Transport> openTransport() const { return exchange->group()->open(); }
  /// What each process says, in their order. Called together. Throws Error if one does not answer.
  std::vector<Exchange::Bytes> say(std::span<const std::byte> own) const;

private:
  uint32_t deviceCount;
  Processes division;
  std::unique_ptr<Exchange> exchange; // null if it is alone
  uint32_t place = 0;
  std::vector<uint32_t> cards; // of each device
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_COLLECTIVES_PEERS_H
