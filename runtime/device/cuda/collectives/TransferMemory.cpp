#include "runtime/device/cuda/collectives/TransferMemory.h"

#include <algorithm>

namespace epl::runtime::cuda {

void TransferMemory::add(LaneOfRank lane, uint32_t card, const Transfer &transfer) {
  if (transfer.stagingBytes == 0)
    return;
  Lane &own = lanes[lane];
  own.card = card;
  own.bytes = std::max(own.bytes, transfer.stagingBytes);
  if (transfer.isThroughHost)
    own.throughHost.push_back(&transfer);
}

void TransferMemory::take(Copies &copies) {
  for (auto &[key, lane] : lanes) {
    lane.memory = allocateOn(cards, lane.card, lane.bytes, "what other processes read and send");
    copies.clear(lane.memory->pointer(), lane.bytes, lane.card); // gaps between runs are sent, too
    if (lane.throughHost.empty())
      continue;
    auto pinned = std::make_shared<Pinned>(takePinned(cards->driver(), lane.bytes));
    for (const Transfer *transfer : lane.throughHost)
      rooms[transfer] = std::make_unique<HostRoom>(cards->driver(), *transfer, *transport, pinned);
  }
}

CUdeviceptr TransferMemory::staging(LaneOfRank lane) const {
  auto found = lanes.find(lane);
  return found == lanes.end() ? 0 : found->second.memory->pointer();
}

void TransferMemory::clear() {
  for (const auto &[transfer, room] : rooms)
    room->clear();
}

void TransferMemory::progress() {
  if (!rooms.empty())
    transport->progress();
  for (const auto &[transfer, room] : rooms)
    room->progress();
}

void TransferMemory::cancel() noexcept {
  for (const auto &[transfer, room] : rooms)
    room->cancel();
}

} // namespace epl::runtime::cuda
