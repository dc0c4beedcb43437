#include "runtime/session/State.h"

#include "runtime/Error.h"

#include <cstring>

namespace epl::runtime {

HostTensor HostTensor::allocate(TensorType type, Memory::Fill fill) {
  auto memory = std::make_shared<Memory>(type.bytes(), fill);
  return {std::move(type), memory->data(), memory};
}

Storage::Storage(SlotLayout layout, uint32_t numRanks, bool shared)
    : blocks(std::move(layout)), rankCount(numRanks) {
  uint32_t copies = shared && blocks.isReplicated() ? 1 : numRanks;
  for (uint32_t copy = 0; copy < copies; ++copy)
    ranks.emplace_back(blocks.localBytes(), Memory::Fill::none);
}

void Storage::copyFromHost(const std::byte *global) {
  for (uint32_t rank = 0; rank < ranks.size(); ++rank)
    blocks.copyToLocal(rank, global, data(rank));
}

void Storage::copyToHost(std::byte *global) const {
  for (uint32_t rank = 0; rank < numRanks(); ++rank)
    if (blocks.isPrimary(rank))
      blocks.copyToGlobal(rank, data(rank), global);
}

void Storage::copyFrom(const Storage &other) {
  for (uint32_t rank = 0; rank < ranks.size(); ++rank)
    if (blocks.localBytes() != 0)
      std::memcpy(data(rank), other.data(rank), blocks.localBytes());
}

void StateBuffer::wait() const {
  if (call)
    call->wait();
}

const std::shared_ptr<Storage> &StateBuffer::use() const {
  if (isDonated())
    throw DonatedError("state \"" + name() + "\" was donated by " + consumer->describe());
  if (isGone())
    throw Error("state \"" + name() + "\" was deleted");
  if (call && call->done() && !memory->poison.empty())
    throw Error("state \"" + name() + "\" is lost: " + memory->poison);
  return memory;
}

HostTensor StateBuffer::toHost() const {
  use();
  wait();
  const std::shared_ptr<Storage> &storage = use(); // again: waiting may have brought an error
  if (!storage->layout().isReplicated() || !storage->layout().isContiguous())
    return copyToHost();
  ++storage->numViews;
  std::shared_ptr<const void> view(storage->data(0), [storage](const void *) { --storage->numViews; });
  return {type(), storage->data(0), std::move(view)};
}

HostTensor StateBuffer::copyToHost() const {
  use();
  wait();
  HostTensor copy = HostTensor::allocate(type(), Memory::Fill::none);
  use()->copyToHost(copy.data);
  return copy;
}

std::shared_ptr<StateBuffer> StateBuffer::copy() const {
  use();
  wait();
  const Storage &from = *use();
  auto to = std::make_shared<Storage>(from.layout(), from.numRanks(), from.isShared());
  to->copyFrom(from);
  return std::make_shared<StateBuffer>(kind, std::move(to), nullptr);
}

} // namespace epl::runtime
