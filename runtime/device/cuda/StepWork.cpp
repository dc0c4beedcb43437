#include "runtime/device/cuda/StepWork.h"

#include "runtime/Error.h"
#include "runtime/device/cuda/LaunchLists.h"
#include "runtime/plan/model/Images.h"
#include "runtime/plan/model/Names.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace epl::runtime::cuda {

//===----------------------------------------------------------------------===//
// What no step changes
//===----------------------------------------------------------------------===//

StepWork::StepWork(std::shared_ptr<const Cards> shared, std::shared_ptr<Copies> copies,
                   std::shared_ptr<const Images> images, const plan::PlanT &plan, const Channels &channels,
                   const LocalRanks &ranks)
    : cards(std::move(shared)), copies(std::move(copies)), images(std::move(images)),
      plans(meshPlansOf(plan)), channels(channels), ranks(ranks) {
  for (uint32_t part = 0; part < plans.size(); ++part)
    addRanks(part);
  putCoordinates();
  addChannels();
  orderCommands();
  findLists();
}

void StepWork::addRanks(uint32_t part) {
  topologies.emplace_back(*plans[part]);
  places.emplace_back(topologies.back().size(), UINT32_MAX);
  for (uint32_t rank : ranks.of(part)) {
    places[part][rank] = uint32_t(here.size());
    here.push_back({part, rank, cards->cardOf(ranks.device(part, rank)), 0});
    firstBuffer.push_back(uint32_t(bound.size()));
    bound.resize(bound.size() + plans[part]->buffers.size());
  }
}

void StepWork::putCoordinates() {
  coordinates = std::make_unique<Tables>(cards);
  std::vector<uint64_t> offsets;
  for (const Rank &rank : here) {
    std::span<const int64_t> own = topologies[rank.part].coordinates(rank.rank);
    offsets.push_back(coordinates->add(rank.card, std::vector<int64_t>(own.begin(), own.end())));
  }
  coordinates->upload(*copies);
  for (size_t i = 0; i < here.size(); ++i)
    here[i].coordinates = coordinates->begin(here[i].card) + offsets[i];
}

void StepWork::addChannels() {
  rings.resize(channels.size());
  for (uint32_t channel = 0; channel < channels.size(); ++channel) {
    uint32_t part = channels.sender(channel);
    rings[channel].resize(places[part].size());
    for (uint32_t rank : ranks.of(part))
      if (!channels.listeners(channel, rank).empty())
        rings[channel][rank] = allocateOn(cards, here[places[part][rank]].card,
                                          channels.depth(channel) * channels.sentBytes(channel),
                                          "what a mesh sends another one");
  }
}

namespace {

/// Puts commands of all parts into one order, each behind those that it waits for. Lanes are independent, so
/// that the programs of two parts need have no common order.
class Ordering {
public:
  Ordering(const std::vector<const plan::PlanT *> &plans, const Channels &channels)
      : plans(plans), channels(channels) {
    for (const plan::PlanT *plan : plans) {
      done.emplace_back(plan->commands.size());
      next.emplace_back(plan->lanes.size());
    }
  }

  /// A command of a part that can be next, the first one of its program; its number of commands if there is
  /// none.
  uint32_t find(uint32_t part) const {
    auto first = uint32_t(plans[part]->commands.size());
    for (size_t lane = 0; lane < next[part].size(); ++lane) {
      const std::vector<uint32_t> &commands = plans[part]->lanes[lane]->commands;
      if (next[part][lane] < commands.size() && canFollow({part, commands[next[part][lane]]}))
        first = std::min(first, commands[next[part][lane]]);
    }
    return first;
  }
  void add(PartCommand at) {
    done[at.part][at.command] = true;
    ++next[at.part][plans[at.part]->commands[at.command]->lane];
  }
  /// A command that nothing can be before; none if all are in order.
  std::optional<PartCommand> findLeft() const {
    for (uint32_t part = 0; part < plans.size(); ++part)
      for (uint32_t command = 0; command < done[part].size(); ++command)
        if (!done[part][command])
          return PartCommand{part, command};
    return std::nullopt;
  }

private:
  bool isDone(PartCommand at) const { return done[at.part][at.command]; }
  bool canFollow(PartCommand at) const {
    const plan::CommandT &command = *plans[at.part]->commands[at.command];
    for (const plan::Wait &wait : command.waits)
      if (!isDone({at.part, wait.command()}))
        return false;
    if (const plan::ReceiveT *receive = command.action.AsReceive())
      return isDone(channels.messages(receive->channel)[receive->message].send);
    const plan::SendT *send = command.action.AsSend();
    uint32_t depth = send ? channels.depth(send->channel) : 0;
    return !send || send->message < depth ||
           isDone(channels.messages(send->channel)[send->message - depth].receive);
  }

  const std::vector<const plan::PlanT *> &plans;
  const Channels &channels;
  std::vector<std::vector<bool>> done;
  std::vector<std::vector<size_t>> next; // of each part's lanes
};

} // namespace

void StepWork::orderCommands() {
  Ordering ordering(plans, channels);
  for (bool moves = true; moves;) {
    moves = false;
    for (uint32_t part = 0; part < plans.size(); ++part)
      for (uint32_t command; (command = ordering.find(part)) < plans[part]->commands.size(); moves = true) {
        ordering.add({part, command});
        order.push_back({part, command});
      }
  }
  if (std::optional<PartCommand> left = ordering.findLeft())
    throw Error("the commands of the plan's parts wait for each other, \"" +
                plans[left->part]->commands[left->command]->name + "\" among them");
}

void StepWork::findLists() {
  std::vector<std::vector<size_t>> placesInOrder;
  for (const plan::PlanT *plan : plans)
    placesInOrder.emplace_back(plan->commands.size());
  for (size_t place = 0; place < order.size(); ++place)
    placesInOrder[order[place].part][order[place].command] = place;
  for (uint32_t part = 0; part < plans.size(); ++part) {
    lists.push_back(findLaunchLists(*plans[part], Mesh(*plans[part]), placesInOrder[part]));
    // A plan whose steps are made of loops may have launches that the compiler has not counted.
    std::erase_if(lists.back(), [&](const std::vector<uint32_t> &list) {
      std::string entry = symbolOfList(kernelOf(part, list.front()), 0);
      return !std::ranges::all_of(here,
                                  [&](const Rank &rank) { return images->hasKernel(rank.card, entry); });
    });
  }
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

std::string StepWork::describe(const Item &item) const {
  const plan::CommandT &command = *plans[item.command.part]->commands[item.command.command];
  return commandOnRank(command, ranks.device(item.command.part, here[item.rank].rank));
}

bool StepWork::isOwner(const Rank &rank, const plan::CommandT &command) const {
  return !command.owner ||
         topologies[rank.part].position(command.owner->communicator(), rank.rank) == command.owner->member();
}

/// The addresses that are bound; who asks for one reads it.
MoveAddresses StepWork::addressesOf(uint32_t part) {
  return {[this, part](uint32_t rank, uint32_t buffer) {
            read.push_back(firstBuffer[places[part][rank]] + buffer);
            return bound[read.back()];
          },
          [this](uint32_t channel, uint32_t message, uint32_t rank) {
            return rings[channel][rank]->pointer() +
                   message % channels.depth(channel) * channels.sentBytes(channel);
          }};
}

/// Makes the calls of an item, whose lists are put into a table; `read` are the buffers that it is about.
void StepWork::make(Item &item, Tables &into) {
  const Rank &on = here[item.rank];
  const plan::CommandT &command = *plans[on.part]->commands[item.command.command];
  read.clear();
  item.calls = {};
  item.table = into.size(on.card);
  if (isOwner(on, command)) {
    CallMaker maker(cards->driver(), *plans[on.part], channels, topologies[on.part], *images, into);
    try {
      item.calls = maker.make(command, on.rank, on.card, on.coordinates, addressesOf(on.part));
    } catch (const Error &error) {
      throw Error(describe(item) + ": " + error.what());
    }
  }
  item.tableBytes = into.size(on.card) - item.table;
  std::ranges::sort(read);
  read.erase(std::ranges::unique(read).begin(), read.end());
}

const plan::KernelT &StepWork::kernelOf(uint32_t part, uint32_t launch) const {
  return *plans[part]->kernels[plans[part]->commands[launch]->action.AsLaunch()->kernel];
}

void StepWork::make(Joint &joint, Tables &into) {
  const Rank &on = here[joint.rank];
  joint.kernels.clear();
  joint.table = into.size(on.card);
  const plan::KernelT &kernel = kernelOf(on.part, work[joint.items.front()].command.command);
  CallMaker maker(cards->driver(), *plans[on.part], channels, topologies[on.part], *images, into);
  for (size_t phase = 0; phase < kernel.grids.size(); ++phase) {
    std::vector<const KernelCall *> launches;
    for (uint32_t item : joint.items)
      if (!work[item].calls.isEmpty())
        launches.push_back(&work[item].calls.kernels[phase]);
    if (!launches.empty())
      joint.kernels.push_back(maker.makeList(kernel, phase, on.card, launches));
  }
}

/// Needs the calls of all items.
void StepWork::makeJoints() {
  joints.clear();
  jointOfItem.assign(work.size(), -1);
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> itemOf; // by part, command and rank
  for (uint32_t item = 0; item < work.size(); ++item)
    itemOf[{work[item].command.part, work[item].command.command, work[item].rank}] = item;
  for (uint32_t rank = 0; rank < here.size(); ++rank)
    for (const std::vector<uint32_t> &list : lists[here[rank].part]) {
      Joint &joint = joints.emplace_back(Joint{rank, {}, {}, 0});
      for (uint32_t command : list) {
        joint.items.push_back(itemOf.at({here[rank].part, command, rank}));
        jointOfItem[joint.items.back()] = int32_t(joints.size() - 1);
      }
      make(joint, *tables);
    }
}

void StepWork::makeAll() {
  work.clear();
  tables = std::make_unique<Tables>(cards);
  readers.assign(bound.size(), {});
  for (PartCommand at : order)
    for (uint32_t rank : ranks.of(at.part)) {
      make(work.emplace_back(Item{at, places[at.part][rank], {}, 0, 0}), *tables);
      for (uint32_t buffer : read)
        readers[buffer].push_back(uint32_t(work.size() - 1));
    }
  makeJoints();
  tables->upload(*copies);
  hosts.clear();
  for (uint32_t index = 0; index < work.size(); ++index) {
    Item &item = work[index];
    for (KernelCall &call : item.calls.kernels)
      call.setTable(tables->begin(here[item.rank].card));
    if (item.calls.host)
      hosts.push_back(index);
  }
  for (Joint &joint : joints)
    for (KernelCall &call : joint.kernels)
      call.setTable(tables->begin(here[joint.rank].card));
}

/// Makes the calls of an item for other addresses. Whether these differ in arguments of kernels only: lists
/// of the same length are in the place of the old ones.
bool StepWork::remake(uint32_t index) {
  Item &item = work[index];
  if (item.calls.host)
    return false;
  Item made{item.command, item.rank, {}, 0, 0};
  Tables lists(cards);
  make(made, lists);
  if (made.tableBytes != item.tableBytes || made.calls.kernels.size() != item.calls.kernels.size())
    return false;
  uint32_t card = here[item.rank].card;
  tables->replace(card, item.table, lists, *copies);
  item.calls = std::move(made.calls);
  for (KernelCall &call : item.calls.kernels)
    call.setTable(tables->begin(card) + item.table);
  return true;
}

/// As many rows with other addresses, in the place of the old ones.
void StepWork::remake(Joint &joint) {
  uint64_t place = joint.table;
  uint32_t card = here[joint.rank].card;
  Tables rows(cards);
  make(joint, rows);
  joint.table = place;
  tables->replace(card, place, rows, *copies);
  for (KernelCall &call : joint.kernels)
    call.setTable(tables->begin(card) + place);
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// Those of a step; which of them have changed.
std::vector<uint32_t> StepWork::takeAddresses(std::span<const AddressTable *const> meshes) {
  std::vector<uint32_t> changed;
  for (size_t i = 0; i < here.size(); ++i)
    for (uint32_t buffer = 0; buffer < plans[here[i].part]->buffers.size(); ++buffer) {
      auto address = reinterpret_cast<CUdeviceptr>(meshes[here[i].part]->get(here[i].rank, buffer));
      if (CUdeviceptr &old = bound[firstBuffer[i] + buffer]; old != address) {
        old = address;
        changed.push_back(firstBuffer[i] + buffer);
      }
    }
  return changed;
}

/// What the changed items are part of has their addresses in a table, and no arguments change.
void StepWork::remakeJoints() {
  std::set<int32_t> changed;
  std::erase_if(changedItems, [&](uint32_t item) {
    return jointOfItem[item] >= 0 && (changed.insert(jointOfItem[item]), true);
  });
  for (int32_t joint : changed)
    remake(joints[size_t(joint)]);
}

/// The calls of all items that are about some buffers.
StepWork::Change StepWork::makeAgain(const std::vector<uint32_t> &buffers) {
  for (uint32_t buffer : buffers)
    changedItems.insert(changedItems.end(), readers[buffer].begin(), readers[buffer].end());
  std::ranges::sort(changedItems);
  changedItems.erase(std::ranges::unique(changedItems).begin(), changedItems.end());
  if (std::ranges::all_of(changedItems, [&](uint32_t item) { return remake(item); })) {
    remakeJoints();
    return changedItems.empty() ? Change::none : Change::arguments;
  }
  const Driver &api = cards->driver();
  cards->use(0); // arguments are on their way, and memory is given back while nothing is
  api.check(api.cuStreamSynchronize(cards->steps()), "arguments did not come to the device");
  makeAll();
  return Change::all;
}

StepWork::Change StepWork::bind(std::span<const AddressTable *const> meshes) {
  std::vector<uint32_t> buffers = takeAddresses(meshes);
  bool wasBound = std::exchange(isBound, false); // if it throws, what is made is for nothing
  changedItems.clear();
  Change change = Change::all;
  if (wasBound)
    change = makeAgain(buffers);
  else
    makeAll();
  isBound = true;
  return change;
}

} // namespace epl::runtime::cuda
