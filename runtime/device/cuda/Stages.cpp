#include "runtime/device/cuda/Stages.h"

#include "runtime/Error.h"

#include <algorithm>

namespace epl::runtime::cuda {

static Pinned takePinnedOn(const Cards &cards, uint32_t card, size_t size) {
  cards.use(card);
  return takePinned(cards.driver(), std::max<size_t>(size, 1));
}

CudaArgumentStage::CudaArgumentStage(std::shared_ptr<const Cards> shared, uint32_t card, size_t size)
    : cards(std::move(shared)), api(cards->driver()), card(card), pinned(takePinnedOn(*cards, card, size)),
      arrived(allocateOn(cards, card, size, "what is on its way to a step")), sent(makeEvent(api)) {
  cards->use(0);
  delivered = makeEvent(api);
}

/// Memory is not given back while a card reads it.
CudaArgumentStage::~CudaArgumentStage() {
  KeptCard kept(api);
  if (cards->tryUse(card))
    api.cuEventSynchronize(sent);
}

bool CudaArgumentStage::isFree() {
  KeptCard kept(api);
  cards->use(card);
  CUresult result = api.cuEventQuery(sent);
  if (result != CUDA_ERROR_NOT_READY)
    api.check(result, "an argument did not come to the device");
  return result == CUDA_SUCCESS;
}

void CudaArgumentStage::await() {
  KeptCard kept(api);
  cards->use(card);
  api.check(api.cuEventSynchronize(sent), "an argument did not come to the device");
}

/// What came before is in its place before this one comes.
void CudaArgumentStage::send() {
  if (arrived->size() == 0)
    return;
  auto enqueuing = cards->enqueuing();
  KeptCard kept(api);
  cards->use(card);
  CUstream arrivals = cards->arrivals(card);
  api.check(api.cuStreamWaitEvent(arrivals, delivered, 0), "cannot wait for an event");
  api.check(api.cuMemcpyHtoDAsync(arrived->pointer(), host(), arrived->size(), arrivals),
            "cannot copy an argument to the device");
  api.check(api.cuEventRecord(sent, arrivals), "cannot record an event");
}

void CudaArgumentStage::deliver(Allocation &to) {
  if (arrived->size() == 0)
    return;
  auto enqueuing = cards->enqueuing();
  KeptCard kept(api);
  cards->use(0);
  api.check(api.cuStreamWaitEvent(cards->steps(), sent, 0), "cannot wait for an event");
  api.check(api.cuMemcpyDtoDAsync(static_cast<CudaAllocation &>(to).pointer(), arrived->pointer(),
                                  arrived->size(), cards->steps()),
            "cannot copy an argument");
  api.check(api.cuEventRecord(delivered, cards->steps()), "cannot record an event");
}

CudaResultStage::CudaResultStage(std::shared_ptr<const Cards> shared, size_t size)
    : cards(std::move(shared)), api(cards->driver()), pinned(takePinnedOn(*cards, 0, size)) {}

void CudaResultStage::fetch(const Allocation &from) {
  if (from.size() == 0)
    return;
  auto enqueuing = cards->enqueuing();
  KeptCard kept(api);
  cards->use(0);
  api.check(api.cuMemcpyDtoHAsync(pinned, static_cast<const CudaAllocation &>(from).pointer(), from.size(),
                                  cards->steps()),
            "cannot copy a result from the device");
}

} // namespace epl::runtime::cuda
