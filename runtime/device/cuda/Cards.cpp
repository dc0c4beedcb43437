#include "runtime/device/cuda/Cards.h"

#include "runtime/Error.h"

namespace epl::runtime::cuda {

Cards::Cards(const Devices &devices) : api(Driver::get()) {
  std::vector<uint32_t> numbers = devices.cards.empty() ? std::vector<uint32_t>{0} : devices.cards;
  devicesEach = devices.count / uint32_t(numbers.size());
  int count = 0;
  api.check(api.cuDeviceGetCount(&count), "cannot count the cards");
  for (uint32_t number : numbers) {
    if (number >= uint32_t(count))
      throw Error("\"" + devices.str() + "\" names card " + std::to_string(number) + ", found " +
                  std::to_string(count) + (count == 1 ? " card" : " cards"));
    open(number);
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

void Cards::use(uint32_t card) const {
  api.check(api.cuCtxSetCurrent(cards[card].context), "card " + std::to_string(cards[card].number));
}

} // namespace epl::runtime::cuda
