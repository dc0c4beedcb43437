#include "runtime/plan/simulate/CardTimes.h"

#include "runtime/Error.h"
#include "runtime/plan/model/AttentionGradient.h"
#include "runtime/plan/model/Cost.h"
#include "runtime/plan/model/Devices.h"
#include "runtime/plan/model/LaunchLists.h"
#include "runtime/plan/model/Parts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace epl::runtime {
namespace {

constexpr uint64_t kSector = 32;      // bytes that memory moves at once
constexpr double kBytesInFlight = 32; // of a thread
constexpr double kNanoseconds = 1e9;  // in a second
constexpr double kFlopsOfMultiplyAdd = 2;

/// The devices of a plan. A layout ("cuda:0-1x2 = data 4") is for people: where it says nothing, as in plans
/// that were written by hand, all are on one card.
Devices devicesOf(const plan::PlanT &plan, const std::string &given) {
  Devices all{.kind = plan.device_kind, .count = plan.devices};
  if (given.empty()) {
    try {
      Devices devices = Devices::parse(plan.layout.substr(0, plan.layout.find(" = ")));
      return devices.kind == all.kind && devices.count == all.count ? devices : all;
    } catch (const Error &) {
      return all;
    }
  }
  Devices devices = Devices::parse(given);
  if (devices.kind != all.kind || devices.count != all.count)
    throw Error("devices are \"" + given + "\", expected " + std::to_string(all.count) + " of " + all.kind);
  return devices;
}

/// How many devices are on each card.
struct Cards {
  explicit Cards(const Devices &devices)
      : each(devices.count / std::max({uint32_t(devices.cards.size()), devices.processes, 1U})),
        acrossProcesses(devices.processes > 1) {}

  uint32_t cardOf(uint32_t device) const { return device / each; }

  uint32_t each;
  bool acrossProcesses;
};

/// The sectors that ascending ranges touch, each once; in bytes.
uint64_t sectorBytes(const std::vector<ByteRange> &ranges, uint64_t offset) {
  uint64_t sectors = 0, next = 0; // the first sector that is not counted yet
  for (const ByteRange &range : ranges) {
    uint64_t first = std::max(next, (offset + range.begin) / kSector);
    uint64_t end = (offset + range.end + kSector - 1) / kSector;
    sectors += end > first ? end - first : 0;
    next = std::max(next, end);
  }
  return sectors * kSector;
}

/// The times of one mesh.
class Timer {
public:
  /// `cards`: that of each rank.
  Timer(const plan::PlanT &plan, std::vector<uint32_t> cards, const machine::Machine &gpu,
        const machine::Link &link)
      : plan(plan), mesh(plan), cards(std::move(cards)), gpu(gpu), link(link) {
    std::map<uint32_t, uint32_t> counts;
    for (uint32_t card : this->cards)
      share = std::max(share, ++counts[card]);
  }

  /// `isRemote`: the message of a receive comes from another card.
  CommandTime time(const plan::CommandT &command, bool isRemote) const {
    if (command.attention >= 0)
      return Work{.launches = 0}.time(gpu);
    Cost cost = costOf(plan, mesh, command);
    if (const plan::AttentionT *attention = attentionOf(command))
      cost.flops += costOf(plan, mesh, *plan.commands[attention->scores]).flops;
    Work work;
    work.memory = share * double(bytesOf(command, cost)) / bandwidth();
    work.compute = share * double(cost.flops) / peakOf(command);
    setKernel(work, command, cost);
    setLink(work, command, cost, isRemote);
    return work.time(gpu);
  }

private:
  /// What a command does, in seconds.
  struct Work {
    double memory = 0, parallelism = 0, compute = 0, link = 0;
    double launches = 1;
    bool isFactorization = false;

    CommandTime time(const machine::Machine &gpu) const {
      if (isFactorization)
        return {.work = Limit::factorization, .limit = Limit::factorization};
      const std::pair<double, Limit> limits[] = {{memory, Limit::memory},
                                                 {parallelism, Limit::parallelism},
                                                 {compute, Limit::compute},
                                                 {link, Limit::link}};
      auto [longest, limit] = *std::ranges::max_element(limits, {}, &std::pair<double, Limit>::first);
      double launch = launches * double(gpu.gpu.launchNs), work = longest * kNanoseconds;
      return {.nanoseconds = launch + work,
              .launch = launch,
              .compute = compute * kNanoseconds,
              .work = limit,
              .limit = launch >= work ? Limit::launch : limit};
    }
  };

  double bandwidth() const { return double(gpu.memory.bytesPerSecond); }

  uint64_t bytesOf(const plan::CommandT &command, const Cost &cost) const {
    if (kindOf(command) != CommandKind::compute)
      return cost.bytes;
    uint64_t bytes = 0;
    for (const Access &access : accessesOf(plan, mesh, command))
      if (!isLeftOut(command, access))
        bytes += sectorBytes(access.ranges, access.offset);
    return command.owner ? bytes / mesh.memberCount(command.owner->communicator()) : bytes;
  }

  /// The convolution that a library may run in the place of a command's code, or null.
  const plan::ConvolutionT *convolutionOf(const plan::CommandT &command) const {
    const plan::LaunchT *launch = command.action.AsLaunch();
    return launch ? plan.kernels[launch->kernel]->convolution.get() : nullptr;
  }

  /// Whether an access is there for devices alone whose library does not take the attention: of a softmax
  /// that nobody makes, of gradients as they are without it.
  static bool isLeftOut(const plan::CommandT &command, const Access &access) {
    if (attentionOf(command))
      return access.buffer == command.action.AsContract()->a;
    return command.action.AsAttentionGradient() && !access.write && access.operand < gradientOutputs;
  }

  /// The attention that a command ends, or null.
  static const plan::AttentionT *attentionOf(const plan::CommandT &command) {
    const plan::ContractT *contract = command.action.AsContract();
    return contract ? contract->attention.get() : nullptr;
  }

  /// Operations a second.
  double peakOf(const plan::CommandT &command) const {
    const plan::ContractT *contract = command.action.AsContract();
    const plan::ConvolutionT *convolution = convolutionOf(command);
    const plan::AttentionGradientT *gradient = command.action.AsAttentionGradient();
    plan::ElementType type = contract      ? contract->type
                             : gradient    ? shapeOf(plan, *gradient).attention.type
                             : convolution ? convolution->result // the library has no f32 of 16 bits
                                           : plan::ElementType::f32;
    return kFlopsOfMultiplyAdd * double(elementBytes(type) == 2          ? gpu.compute.f16
                                        : type == plan::ElementType::f64 ? gpu.compute.f64
                                                                         : gpu.compute.f32);
  }

  /// What a kernel of few threads leaves unused, and how many launches it is.
  void setKernel(Work &work, const plan::CommandT &command, const Cost &cost) const {
    const plan::LaunchT *launch = command.action.AsLaunch();
    if (!launch || convolutionOf(command))
      return;
    const plan::KernelT &kernel = *plan.kernels[launch->kernel];
    work.isFactorization = kernel.factorization != nullptr;
    work.launches = 0;
    double threads = 0;
    for (const auto &grid : kernel.grids) {
      work.launches += grid->extent > 0 ? 1 : 0;
      threads = std::max(threads, double(grid->blocks) * grid->threads);
    }
    if (threads == 0)
      return;
    double waits = double(bytesOf(command, cost)) / (threads * kBytesInFlight);
    work.parallelism = waits * double(gpu.memory.latencyNs) / kNanoseconds;
    work.compute = std::max(work.compute,
                            double(cost.flops) / (kFlopsOfMultiplyAdd * threads * double(gpu.gpu.clockHz)));
  }

  /// Whether a command copies to a slot in memory of the host, or from one.
  bool isOfHostMemory(const plan::CommandT &command) const {
    const plan::CopyT *copy = command.action.AsCopy();
    return copy && (hostSlotOf(plan, copy->source) >= 0 || hostSlotOf(plan, copy->target) >= 0);
  }

  void setLink(Work &work, const plan::CommandT &command, const Cost &cost, bool isRemote) const {
    if (command.action.AsPull() || command.action.AsPush()) { // copied beside the step, as batches are
      work = {.launches = 0};
      return;
    }
    if (isOfHostMemory(command)) {
      uint64_t bytes = cost.bytes / 2; // which it reads on one side and writes on the other
      work.memory /= 2;
      work.link = share * double(bytes) / double(gpu.gpu.hostBytesPerSecond);
      return;
    }
    double distant = isRemote ? 1 : 0; // of what it receives, the part from other cards
    double received = double(cost.received);
    if (int32_t communicator = plan.lanes[command.lane]->communicator; communicator >= 0)
      distant = distantShare(uint32_t(communicator));
    if (distant == 0)
      return;
    bool isWhole = distant == 1 && share == 1; // members are NCCL's
    if (isWhole && command.action.AsGatherParts()) {
      work = {.launches = 0};
      return;
    }
    if (const plan::ReducePartT *reduce = command.action.AsReducePart(); reduce && isWhole)
      received += double(costOf(plan, mesh, *plan.commands[reduce->gather]).received);
    work.link =
        double(link.latencyNs) / kNanoseconds + share * distant * received / double(link.bytesPerSecond);
  }

  /// Of the other members of a communicator, how many are on other cards.
  double distantShare(uint32_t communicator) const {
    double distant = 0, others = 0;
    for (uint32_t rank = 0; rank < mesh.devices(); ++rank)
      for (uint32_t member : mesh.members(communicator, rank)) {
        others += member != rank;
        distant += cards[member] != cards[rank];
      }
    return others > 0 ? distant / others : 0;
  }

  const plan::PlanT &plan;
  Mesh mesh;
  std::vector<uint32_t> cards;
  const machine::Machine &gpu;
  const machine::Link &link;
  uint32_t share = 1; // ranks on one card
};

/// The cards of a mesh's ranks.
std::vector<uint32_t> cardsOf(const plan::PlanT &plan, size_t part, const Cards &cards) {
  std::vector<uint32_t> places(plan.devices);
  if (plan.parts.empty())
    std::iota(places.begin(), places.end(), 0);
  else
    places = placesOf(*plan.parts[part]);
  for (uint32_t &place : places)
    place = cards.cardOf(deviceAt(plan, place));
  return places;
}

/// The launches of lists are the last one's.
void joinLists(const plan::PlanT &plan, std::vector<CommandTime> &times) {
  std::vector<size_t> places(plan.commands.size());
  std::iota(places.begin(), places.end(), 0); // commands wait for earlier ones only
  for (const std::vector<uint32_t> &list : findLaunchLists(plan, Mesh(plan), places))
    for (uint32_t command : list)
      if (command != list.back()) {
        CommandTime &time = times[command];
        time.nanoseconds -= std::exchange(time.launch, 0);
        time.limit = time.work;
      }
}

} // namespace

const char *limitName(Limit limit) {
  static constexpr const char *names[] = {"memory", "parallelism", "compute",
                                          "link",   "launch",      "factorization"};
  return names[size_t(limit)];
}

const char *limitMeaning(Limit limit) {
  static constexpr const char *meanings[] = {
      "bytes of the card's memory",
      "too few threads to keep its memory busy",
      "arithmetic",
      "bytes from other cards or from and to the host, and how long the first takes",
      "a kernel takes longer to begin than to run",
      "done by a library or the host, for which nothing is predicted",
  };
  return meanings[size_t(limit)];
}

std::vector<std::vector<CommandTime>> timesOnCards(const plan::PlanT &plan, const machine::Machine &gpu,
                                                   Enqueued enqueued, const std::string &devices) {
  Cards cards(devicesOf(plan, devices));
  std::vector<const plan::PlanT *> parts = meshPlansOf(plan);
  std::vector<std::vector<MessageEnds>> channels = channelsOf(plan);
  std::vector<std::vector<uint32_t>> cardsOfPart;
  cardsOfPart.reserve(parts.size());
  for (size_t part = 0; part < parts.size(); ++part)
    cardsOfPart.push_back(cardsOf(plan, part, cards));
  auto isRemote = [&](size_t part, const plan::CommandT &command) {
    const plan::ReceiveT *receive = command.action.AsReceive();
    if (!receive)
      return false;
    const auto &senders = cardsOfPart[channels[receive->channel][receive->message].send.part];
    return std::ranges::any_of(
        cardsOfPart[part], [&](uint32_t card) { return std::ranges::find(senders, card) == senders.end(); });
  };
  std::vector<std::vector<CommandTime>> times;
  for (size_t part = 0; part < parts.size(); ++part) {
    Timer timer(*parts[part], cardsOfPart[part], gpu,
                cards.acrossProcesses ? gpu.betweenProcesses : gpu.withinProcess);
    std::vector<CommandTime> &own = times.emplace_back();
    for (const auto &command : parts[part]->commands)
      own.push_back(timer.time(*command, isRemote(part, *command)));
    if (enqueued == Enqueued::asGraph)
      joinLists(*parts[part], own);
  }
  return times;
}

} // namespace epl::runtime
