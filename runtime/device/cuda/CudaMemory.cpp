#include "runtime/device/cuda/CudaMemory.h"

#include "runtime/Error.h"

#include <algorithm>
#include <cstring>

namespace epl::runtime::cuda {

CudaAllocation::~CudaAllocation() {
  if (size() != 0)
    cards->giveBack(cardIndex, pointer(), kind);
}

std::unique_ptr<CudaAllocation> allocateOn(const std::shared_ptr<const Cards> &cards, uint32_t card,
                                           size_t size, const std::string &what) {
  const Driver &api = cards->driver();
  KeptCard kept(api);
  CUdeviceptr memory = 0;
  cards->use(card);
  CUresult result = size == 0 ? CUDA_SUCCESS : api.cuMemAlloc(&memory, size);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    cards->freeUnused(/*waits=*/true);
    cards->use(card);
    result = api.cuMemAlloc(&memory, size);
  }
  if (result != CUDA_SUCCESS) {
    size_t free = 0, all = 0;
    std::string found =
        api.cuMemGetInfo(&free, &all) == CUDA_SUCCESS
            ? ", of which " + std::to_string(free) + " of " + std::to_string(all) + " are free"
            : "";
    throw Error(what + " takes " + std::to_string(size) + " bytes on card " +
                std::to_string(cards->number(card)) + found + ": " + api.describe(result));
  }
  return std::make_unique<CudaAllocation>(cards, card, reinterpret_cast<std::byte *>(memory), size);
}

std::unique_ptr<CudaAllocation> allocatePinned(const std::shared_ptr<const Cards> &cards, uint32_t card,
                                               size_t size, const std::string &what) {
  const Driver &api = cards->driver();
  KeptCard kept(api);
  void *memory = nullptr;
  cards->use(card);
  CUresult result = size == 0 ? CUDA_SUCCESS : api.cuMemHostAlloc(&memory, size, CU_MEMHOSTALLOC_PORTABLE);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    cards->freeUnused(/*waits=*/true);
    cards->use(card);
    result = api.cuMemHostAlloc(&memory, size, CU_MEMHOSTALLOC_PORTABLE);
  }
  if (result != CUDA_SUCCESS)
    throw Error(what + " takes " + std::to_string(size) +
                " bytes of pinned memory of the host: " + api.describe(result));
  return std::make_unique<CudaAllocation>(cards, card, static_cast<std::byte *>(memory), size,
                                          MemoryKind::pinned);
}

Copies::Copies(std::shared_ptr<const Cards> shared) : cards(std::move(shared)), api(cards->driver()) {
  for (uint32_t card = 0; card < cards->size(); ++card) {
    cards->use(card);
    streams.push_back(makeStream(api));
  }
  memory = takePinned(api, kPiece);
  piece = static_cast<std::byte *>(memory.get());
}

void Copies::finish(uint32_t card, CUresult started) {
  std::string what = "a copy of card " + std::to_string(cards->number(card));
  api.check(started, what);
  api.check(api.cuStreamSynchronize(streams[card]), what);
}

void Copies::in(const std::byte *host, CUdeviceptr to, size_t size, uint32_t card) {
  std::lock_guard<std::mutex> guard(mutex);
  KeptCard kept(api);
  cards->use(card);
  for (size_t done = 0; done < size; done += kPiece) {
    size_t now = std::min(size - done, kPiece);
    std::memcpy(piece, host + done, now);
    finish(card, api.cuMemcpyHtoDAsync(to + done, piece, now, streams[card]));
  }
}

void Copies::out(CUdeviceptr from, std::byte *host, size_t size, uint32_t card) {
  std::lock_guard<std::mutex> guard(mutex);
  KeptCard kept(api);
  cards->use(card);
  for (size_t done = 0; done < size; done += kPiece) {
    size_t now = std::min(size - done, kPiece);
    finish(card, api.cuMemcpyDtoHAsync(piece, from + done, now, streams[card]));
    std::memcpy(host + done, piece, now);
  }
}

void Copies::across(CUdeviceptr from, CUdeviceptr to, size_t size, uint32_t card) {
  std::lock_guard<std::mutex> guard(mutex);
  KeptCard kept(api);
  cards->use(card);
  if (size != 0)
    finish(card, api.cuMemcpyDtoDAsync(to, from, size, streams[card]));
}

void Copies::clear(CUdeviceptr memory, size_t size, uint32_t card) {
  std::lock_guard<std::mutex> guard(mutex);
  KeptCard kept(api);
  cards->use(card);
  finish(card, api.cuMemsetD8Async(memory, 0, size, streams[card]));
}

} // namespace epl::runtime::cuda
