#include "runtime/device/cuda/Cards.h"

#include "runtime/Error.h"

#include <algorithm>
#include <mutex>

namespace epl::runtime::cuda {

namespace {
/// The cards that are open in the process.
struct Process {
  /// It outlives cards that the process opens, and never closes before its end.
  static Process &get() {
    static Process &process = *new Process;
    return process;
  }

  std::mutex mutex; // of what follows, and of memory that was given back
  std::vector<const Cards *> open;
  std::shared_mutex enqueuing; // held alone by who frees memory
};
} // namespace

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
  std::lock_guard<std::mutex> guard(Process::get().mutex);
  Process::get().open.push_back(this);
}

Cards::~Cards() {
  freeUnused(/*waits=*/true);
  {
    std::lock_guard<std::mutex> guard(Process::get().mutex);
    std::erase(Process::get().open, this);
  }
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

void Cards::giveBack(uint32_t card, CUdeviceptr memory, MemoryKind kind) const noexcept {
  {
    std::lock_guard<std::mutex> guard(Process::get().mutex);
    unused.push_back({card, memory, kind});
  }
  freeUnused();
}

/// Whether no step runs on these cards. One that has failed runs nothing.
bool Cards::isIdle(bool waits) const noexcept {
  for (uint32_t card = 0; card < size(); ++card) {
    if (!tryUse(card))
      continue;
    for (CUstream stream : {arrivals(card), steps()})
      if ((waits ? api.cuStreamSynchronize(stream) : api.cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY)
        return false;
  }
  return true;
}

void Cards::freeUnused(bool waits) const noexcept {
  KeptCard kept(api);
  Process &process = Process::get();
  std::lock_guard<std::mutex> guard(process.mutex);
  std::unique_lock<std::shared_mutex> alone(process.enqueuing, std::defer_lock);
  if (waits)
    alone.lock();
  else if (!alone.try_lock())
    return;
  if (std::ranges::all_of(process.open, [](const Cards *each) { return each->unused.empty(); }) ||
      !std::ranges::all_of(process.open, [&](const Cards *each) { return each->isIdle(waits); }))
    return;
  for (const Cards *each : process.open) {
    for (auto [card, memory, kind] : each->unused)
      if (!each->tryUse(card))
        continue;
      else if (kind == MemoryKind::card)
        api.cuMemFree(memory);
      else
        api.cuMemFreeHost(reinterpret_cast<void *>(memory));
    each->unused.clear();
  }
}

std::shared_lock<std::shared_mutex> Cards::enqueuing() const {
  return std::shared_lock<std::shared_mutex>(Process::get().enqueuing);
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
