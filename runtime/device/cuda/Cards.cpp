#include "runtime/device/cuda/Cards.h"

#include "runtime/Error.h"

#include <algorithm>

namespace epl::runtime::cuda {

/// The driver's number of the card of a device. Processes that share a host take its cards in turn.
static uint32_t numberOf(const Devices &devices, const Peers &peers, uint32_t device, uint32_t count) {
  if (devices.processes != 0 && devices.cards.empty())
    return peers.placeOnHost() % std::max(count, 1U);
  if (devices.processes != 0)
    return devices.ofProcess(peers.placeOnHost()).cards.front();
  return devices.cards.empty() ? 0 : devices.cards[device / (devices.count / devices.cards.size())];
}

Cards::Cards(const Devices &devices, const Peers &peers)
    : api(Driver::get()), firstDevice(peers.processes().ownDevices().front()) {
  int count = 0;
  api.check(api.cuDeviceGetCount(&count), "cannot count the cards");
  std::vector<uint32_t> numbers; // of the cards that are open
  for (uint32_t device : peers.processes().ownDevices()) {
    uint32_t number = numberOf(devices, peers, device, uint32_t(count));
    if (number >= uint32_t(count))
      throw Error("\"" + devices.str() + "\" names card " + std::to_string(number) + ", found " +
                  std::to_string(count) + (count == 1 ? " card" : " cards"));
    cardOfDevice.push_back(uint32_t(std::ranges::find(numbers, number) - numbers.begin()));
    if (cardOfDevice.back() == numbers.size()) {
      numbers.push_back(number);
      open(number);
    }
  }
  enablePeers();
  for (uint32_t card = 0; card < size(); ++card) {
    use(card);
    cards[card].arrivals = makeStream(api);
  }
  use(0);
  stepStream = makeStream(api);
}

Cards::~Cards() {
  freeUnused(/*waits=*/true);
  stepStream = {};
  for (Card &card : cards)
    card.arrivals = {};
  for (const Card &card : cards)
    api.cuDevicePrimaryCtxRelease(card.device);
}

void Cards::open(uint32_t number) {
  std::string what = "cannot open card " + std::to_string(number);
  Card card{number, 0, 0, nullptr, {}};
  int major = 0, minor = 0;
  api.check(api.cuDeviceGet(&card.device, int(number)), what);
  api.check(api.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, card.device),
            what);
  api.check(api.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, card.device),
            what);
  card.architecture = uint32_t(10 * major + minor);
  api.check(api.cuDevicePrimaryCtxRetain(&card.context, card.device), what);
  cards.push_back(std::move(card));
}

/// Commands of one card read memory of the others.
void Cards::enablePeers() {
  for (const Card &reader : cards)
    for (const Card &holder : cards) {
      if (&reader == &holder)
        continue;
      std::string what = "card " + std::to_string(reader.number) + " cannot read memory of card " +
                         std::to_string(holder.number);
      int canAccess = 0;
      api.check(api.cuDeviceCanAccessPeer(&canAccess, reader.device, holder.device), what);
      if (!canAccess)
        throw Error(what);
      api.check(api.cuCtxSetCurrent(reader.context), what);
      if (CUresult result = api.cuCtxEnablePeerAccess(holder.context, 0);
          result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
        api.check(result, what);
    }
}

void Cards::giveBack(uint32_t card, CUdeviceptr memory) const noexcept {
  {
    std::lock_guard<std::mutex> guard(mutex);
    unused.emplace_back(card, memory);
  }
  freeUnused();
}

void Cards::freeUnused(bool waits) const noexcept {
  KeptCard kept(api);
  std::lock_guard<std::mutex> guard(mutex);
  if (unused.empty() || !tryUse(0))
    return;
  for (uint32_t card = 0; card < size(); ++card)
    for (CUstream stream : {arrivals(card), steps()})
      if ((waits ? api.cuStreamSynchronize(stream) : api.cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY)
        return;
  for (auto [card, memory] : unused)
    if (tryUse(card))
      api.cuMemFree(memory);
  unused.clear();
}

std::string Cards::uniqueName(uint32_t card) const {
  CUuuid id{};
  api.check(api.cuDeviceGetUuid(&id, cards[card].device), "card " + std::to_string(cards[card].number));
  std::string name;
  for (char byte : id.bytes)
    for (unsigned digit : {uint8_t(byte) / 16U, uint8_t(byte) % 16U})
      name += "0123456789abcdef"[digit];
  return name;
}

void Cards::use(uint32_t card) const {
  api.check(api.cuCtxSetCurrent(cards[card].context), "card " + std::to_string(cards[card].number));
}

} // namespace epl::runtime::cuda
