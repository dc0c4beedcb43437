#include "runtime/device/cuda/CudaDevices.h"

#include "runtime/Error.h"
#include "runtime/device/cuda/Stages.h"
#include "runtime/device/cuda/StepGraph.h"

#include <cassert>
#include <cstring>

namespace epl::runtime::cuda {

namespace {

/// A step that leaves the calling thread, which may be that of a caller who waits, its card.
class StepOnAnyThread final : public BoundStep {
public:
  StepOnAnyThread(const Driver &api, std::unique_ptr<StepGraph> step) : api(api), step(std::move(step)) {}
  ~StepOnAnyThread() override {
    KeptCard kept(api);
    step = nullptr;
  }

  void start(std::span<const AddressTable *const> meshes, bool isTimed,
             const std::function<bool()> &isStopped) override {
    KeptCard kept(api);
    step->start(meshes, isTimed, isStopped);
  }
  bool isDone() override {
    KeptCard kept(api);
    return step->isDone();
  }
  std::vector<Span> times() const override {
    KeptCard kept(api);
    return step->times();
  }
  void cancel() noexcept override {
    KeptCard kept(api);
    step->cancel();
  }
  std::vector<Waiting> waiting() const override { return step->waiting(); }
  uint64_t numMoved() const noexcept override { return step->numMoved(); }

private:
  const Driver &api;
  std::unique_ptr<StepGraph> step;
};

/// The code of a plan, whose steps run as a whole.
class CudaCode final : public Code {
public:
  CudaCode(std::shared_ptr<const Cards> cards, std::shared_ptr<Copies> copies,
           std::shared_ptr<Communicators> communicators, const plan::PlanT &plan)
      : cards(std::move(cards)), copies(std::move(copies)), communicators(std::move(communicators)),
        images(std::make_shared<Images>(this->cards, plan)), plan(plan) {}

  ~CudaCode() override {
    KeptCard kept(cards->driver());
    images = nullptr; // with the libraries of each card
  }

  std::unique_ptr<BoundStep> bindStep(const Channels &channels, const LocalRanks &ranks) const override {
    KeptCard kept(cards->driver());
    return std::make_unique<StepOnAnyThread>(
        cards->driver(),
        std::make_unique<StepGraph>(cards, copies, images, communicators, plan, channels, ranks));
  }
  std::unique_ptr<Command> bind(const plan::PlanT &, uint32_t) const override {
    assert(false && "steps are bound as a whole");
    return nullptr;
  }

private:
  std::shared_ptr<const Cards> cards;
  std::shared_ptr<Copies> copies;
  std::shared_ptr<Communicators> communicators;
  std::shared_ptr<const Images> images;
  const plan::PlanT &plan;
};

/// Of no bytes there may be no address.
void copyBytes(const std::byte *from, std::byte *to, size_t size) {
  if (size != 0)
    std::memcpy(to, from, size);
}

const CudaAllocation &of(const Allocation &allocation) {
  return static_cast<const CudaAllocation &>(allocation);
}

} // namespace

CudaDevices::CudaDevices(const Devices &devices, std::shared_ptr<ProcessGroup> processes)
    : peers(std::make_shared<Peers>(devices, std::move(processes))),
      cards(std::make_shared<Cards>(devices, *peers)), copies(std::make_shared<Copies>(cards)),
      communicators(std::make_shared<Communicators>(cards, peers)) {
  std::vector<std::string> names; // of the card of each device that is here
  for (uint32_t device : peers->processes().ownDevices())
    names.push_back(cards->uniqueName(cards->cardOf(device)));
  peers->shareCards(names);
}

std::unique_ptr<Allocation> CudaDevices::allocate(uint32_t device, size_t size, Memory::Fill fill) {
  std::unique_ptr<CudaAllocation> memory =
      allocateOn(cards, cards->cardOf(device), size, "device " + std::to_string(device));
  if (fill == Memory::Fill::zeros && size != 0)
    copies->clear(memory->pointer(), size, memory->card());
  return memory;
}

std::unique_ptr<Allocation> CudaDevices::allocateInHost(uint32_t device, size_t size) {
  return allocatePinned(cards, cards->cardOf(device), size, "device " + std::to_string(device));
}

void CudaDevices::copyIn(const std::byte *host, Allocation &to) {
  if (of(to).isInHost())
    return copyBytes(host, to.address(), to.size());
  copies->in(host, of(to).pointer(), to.size(), of(to).card());
}

void CudaDevices::copyOut(const Allocation &from, std::byte *host) {
  if (of(from).isInHost())
    return copyBytes(from.address(), host, from.size());
  copies->out(of(from).pointer(), host, from.size(), of(from).card());
}

void CudaDevices::copy(const Allocation &from, Allocation &to) {
  if (of(from).isInHost())
    return copyIn(from.address(), to);
  if (of(to).isInHost())
    return copyOut(from, to.address());
  copies->across(of(from).pointer(), of(to).pointer(), from.size(), of(to).card());
}

std::unique_ptr<ArgumentStage> CudaDevices::stageArgument(uint32_t device, size_t size) {
  KeptCard kept(cards->driver());
  return std::make_unique<CudaArgumentStage>(cards, cards->cardOf(device), size);
}

std::unique_ptr<ResultStage> CudaDevices::stageResult(uint32_t, size_t size) {
  KeptCard kept(cards->driver());
  return std::make_unique<CudaResultStage>(cards, size);
}

std::unique_ptr<Code> CudaDevices::load(const plan::PlanT &plan) {
  KeptCard kept(cards->driver());
  return std::make_unique<CudaCode>(cards, copies, communicators, plan);
}

} // namespace epl::runtime::cuda

void eplOpenCudaDevices(const epl::runtime::Devices &devices,
                        std::shared_ptr<epl::runtime::ProcessGroup> processes,
                        std::shared_ptr<epl::runtime::DeviceSet> &opened) {
  epl::runtime::cuda::KeptCard kept(epl::runtime::cuda::Driver::get());
  opened = std::make_shared<epl::runtime::cuda::CudaDevices>(devices, std::move(processes));
}
