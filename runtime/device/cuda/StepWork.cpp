#include "runtime/device/cuda/StepWork.h"

#include "runtime/Error.h"
#include "runtime/device/cuda/CommandOrder.h"
#include "runtime/device/cuda/pieces/FindPieces.h"
#include "runtime/plan/model/Images.h"
#include "runtime/plan/model/LaunchLists.h"
#include "runtime/plan/model/Names.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace epl::runtime::cuda {

//===----------------------------------------------------------------------===//
// What no step changes
//===----------------------------------------------------------------------===//

StepWork::StepWork(std::shared_ptr<const Cards> shared, std::shared_ptr<Copies> copies,
                   std::shared_ptr<const Images> images, std::shared_ptr<Communicators> communicators,
                   const plan::PlanT &plan, const Channels &channels, const LocalRanks &ranks)
    : cards(std::move(shared)), copies(std::move(copies)), images(std::move(images)),
      connected(std::move(communicators)), plans(meshPlansOf(plan)), channels(channels), ranks(ranks),
      moved(plan, channels, ranks, *connected), messages(cards, moved.transport()) {
  for (uint32_t part = 0; part < plans.size(); ++part)
    addRanks(part);
  putCoordinates();
  addConditions();
  addChannels();
  order = orderCommands(plans, channels);
  findLists();
  takeStaging();
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

void StepWork::addConditions() {
  std::vector<Conditions::Place> all;
  all.reserve(here.size());
  for (const Rank &rank : here)
    all.push_back({rank.card, plans[rank.part]});
  conditions = std::make_unique<Conditions>(cards, all);
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

void StepWork::findLists() {
  for (uint32_t part = 0; part < plans.size(); ++part) {
    const plan::PlanT &plan = *plans[part];
    lists.push_back(findLaunchLists(plan, Mesh(plan), placesIn(order, part, plan)));
    // The compiler has not seen launches that follow one another only where a loop is written out.
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
  return commandOnRank(command, ranks.device(here[item.rank].part, here[item.rank].rank));
}

void StepWork::check(const Item &item, CUresult result) const {
  if (result != CUDA_SUCCESS)
    throw Error(describe(item) + ": " + cards->driver().describe(result));
}

bool StepWork::isOwner(const Rank &rank, const plan::CommandT &command) const {
  return !command.owner ||
         topologies[rank.part].position(command.owner->communicator(), rank.rank) == command.owner->member();
}

/// The addresses that are bound; who asks for one reads it. Ranks that are elsewhere have other ones.
MoveAddresses StepWork::addressesOf(uint32_t part, RemoteAddresses &remote) {
  return {[this, part, &remote](uint32_t rank, uint32_t buffer) -> unsigned long {
            if (!ranks.has(part, rank))
              return remote.add(part, rank, buffer);
            read.push_back(firstBuffer[places[part][rank]] + buffer);
            return bound[read.back()];
          },
          [this, &remote](uint32_t channel, uint32_t message, uint32_t rank) -> unsigned long {
            if (!ranks.has(channels.sender(channel), rank))
              return remote.add(channels.sender(channel), rank, 0);
            return rings[channel][rank]->pointer() +
                   message % channels.depth(channel) * channels.sentBytes(channel);
          }};
}

const Transfer &StepWork::transferOf(const Item &item) const {
  uint32_t rank = here[item.rank].rank;
  return item.isSent ? moved.sentBy(item.command, rank) : moved.of(item.command, rank);
}

Calls StepWork::makeCalls(const Item &item, Tables &into) {
  const Rank &on = here[item.rank];
  const plan::CommandT &command = *plans[item.command.part]->commands[item.command.command];
  if (!item.isSent && !isOwner(on, command))
    return {};
  const Transfer &transfer = transferOf(item);
  RemoteAddresses remote(transfer.received, messages.staging(laneOf(item)));
  MoveAddresses addresses = addressesOf(on.part, remote);
  CallMaker maker(cards->driver(), *plans[on.part], channels, topologies[on.part], *images, into);
  if (transfer.isEmpty())
    return maker.make(command, {on.rank, on.card, on.coordinates, conditions->of(item.rank, command)},
                      addresses);
  TransferPlace place{transfer, messages.staging(laneOf(item)), nullptr, nullptr};
  if (transfer.isThroughHost)
    place.room = &messages.room(transfer);
  else
    place.comm = connected->find(*transfer.group, ranks.device(on.part, on.rank));
  if (!item.isSent)
    return maker.transfer(command, on.rank, on.card, place, addresses, remote);
  const plan::ReceiveT &receive = *command.action.AsReceive();
  return maker.send(place, addresses.channel(receive.channel, receive.message, on.rank), on.card);
}

/// Makes the calls of an item, whose lists are put into a table; `read` are the buffers that it is about.
void StepWork::make(Item &item, Tables &into) {
  const Rank &on = here[item.rank];
  read.clear();
  item.calls = {};
  item.table = into.size(on.card);
  try {
    item.calls = makeCalls(item, into);
  } catch (const Error &error) {
    throw Error(describe(item) + ": " + error.what());
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

void StepWork::addJoint(uint32_t rank, std::vector<uint32_t> items) {
  if (items.size() < 2)
    return;
  for (uint32_t item : items)
    jointOfItem[item] = int32_t(joints.size());
  make(joints.emplace_back(Joint{rank, std::move(items), {}, 0}), *tables);
}

/// Of lists what is in one piece. Needs the calls of all items.
void StepWork::makeJoints() {
  joints.clear();
  jointOfItem.assign(work.size(), -1);
  // By part, command and rank, where nothing is transferred.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> nodeOf;
  for (uint32_t node = 0; node < parts.size(); ++node)
    if (const Item &item = work[parts[node].item]; parts[node].kind == StepNode::Kind::whole)
      nodeOf[{item.command.part, item.command.command, item.rank}] = node;
  for (uint32_t rank = 0; rank < here.size(); ++rank)
    for (const std::vector<uint32_t> &list : lists[here[rank].part]) {
      std::vector<uint32_t> items;
      uint32_t piece = 0;
      for (uint32_t command : list) {
        uint32_t node = nodeOf.at({here[rank].part, command, rank});
        if (std::exchange(piece, pieceOfNode[node]) != pieceOfNode[node])
          addJoint(rank, std::exchange(items, {}));
        items.push_back(parts[node].item);
      }
      addJoint(rank, std::move(items));
    }
}

void StepWork::addItem(PartCommand at, uint32_t rank, bool isSent) {
  make(work.emplace_back(Item{at, rank, isSent, {}, 0, 0}), *tables);
  for (uint32_t buffer : read)
    readers[buffer].push_back(uint32_t(work.size() - 1));
}

/// The first step of a plan connects its groups, in all processes.
void StepWork::makeAll() {
  connected->open(moved.groupsOfLibrary());
  work.clear();
  tables = std::make_unique<Tables>(cards);
  readers.assign(bound.size(), {});
  for (PartCommand at : order) {
    for (uint32_t rank : ranks.of(at.part))
      addItem(at, places[at.part][rank], false);
    for (uint32_t place = 0; place < here.size(); ++place)
      if (sends(at, here[place].part) && !moved.sentBy(at, here[place].rank).isEmpty())
        addItem(at, place, true);
  }
  parts = findNodes(*this, channels, cards->size());
  hasTransfers = std::ranges::any_of(parts, &StepNode::isTransfer);
  pieceOfNode = findPieces(parts);
  makeJoints();
  tables->upload(*copies);
  areCapturable = std::ranges::all_of(work, [](const Item &item) { return item.calls.isCapturable(); });
  hosts.clear();
  for (uint32_t index = 0; index < work.size(); ++index) {
    Item &item = work[index];
    for (auto *kernels : {&item.calls.packs, &item.calls.kernels})
      for (KernelCall &call : *kernels)
        call.setTable(tables->begin(here[item.rank].card));
    if (item.calls.host)
      hosts.push_back(index);
  }
  for (Joint &joint : joints)
    for (KernelCall &call : joint.kernels)
      call.setTable(tables->begin(here[joint.rank].card));
  takeWorkspaces();
}

/// For the libraries' calls of a lane, which run one after another.
void StepWork::takeWorkspaces() {
  std::map<LaneOfRank, size_t> most;
  for (const Item &item : work)
    if (size_t size = item.calls.library ? item.calls.library->workspaceBytes() : 0; size > 0)
      most[laneOf(item)] = std::max(most[laneOf(item)], size);
  for (auto [lane, size] : most)
    if (std::unique_ptr<CudaAllocation> &memory = workspaces[lane]; !memory || memory->size() < size)
      memory = allocateOn(cards, here[lane.first].card, size, "what a library works in");
}

CUdeviceptr StepWork::workspaceOf(const Item &item) const {
  auto workspace = workspaces.find(laneOf(item));
  return workspace == workspaces.end() ? 0 : workspace->second->pointer();
}

void StepWork::takeStaging() {
  for (PartCommand at : order)
    for (uint32_t place = 0; place < here.size(); ++place)
      for (bool isSent : {false, true})
        if (isSent ? sends(at, here[place].part) : here[place].part == at.part) {
          Item item{at, place, isSent, {}, 0, 0};
          messages.add(laneOf(item), here[place].card, transferOf(item));
        }
  messages.take(*copies);
}

/// Whether a part sends what a command receives.
bool StepWork::sends(PartCommand at, uint32_t part) const {
  const plan::ReceiveT *receive = plans[at.part]->commands[at.command]->action.AsReceive();
  return receive && channels.sender(receive->channel) == part;
}

LaneOfRank StepWork::laneOf(const Item &item) const {
  return {item.rank,
          item.isSent ? UINT32_MAX : plans[item.command.part]->commands[item.command.command]->lane};
}

/// Makes the calls of an item for other addresses. Whether these take the place of the old ones: there are as
/// many, and lists are as long.
bool StepWork::remake(uint32_t index) {
  Item &item = work[index];
  Item made{item.command, item.rank, item.isSent, {}, 0, 0};
  Tables lists(cards);
  make(made, lists);
  if (made.calls.isOwn() != item.calls.isOwn() || made.tableBytes != item.tableBytes ||
      made.calls.kernels.size() != item.calls.kernels.size() ||
      made.calls.packs.size() != item.calls.packs.size())
    return false;
  uint32_t card = here[item.rank].card;
  tables->replace(card, item.table, lists, *copies);
  item.calls = std::move(made.calls);
  for (auto *kernels : {&item.calls.packs, &item.calls.kernels})
    for (KernelCall &call : *kernels)
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

/// Those of the step are on their way, and memory is given back while nothing is.
void StepWork::awaitArguments() {
  const Driver &api = cards->driver();
  cards->use(0);
  api.check(api.cuStreamSynchronize(cards->steps()), "arguments did not come to the device");
}

/// The calls of all items that are about some buffers.
StepWork::Change StepWork::makeAgain(const std::vector<uint32_t> &buffers) {
  for (uint32_t buffer : buffers)
    changedItems.insert(changedItems.end(), readers[buffer].begin(), readers[buffer].end());
  std::ranges::sort(changedItems);
  changedItems.erase(std::ranges::unique(changedItems).begin(), changedItems.end());
  bool areOwn = std::ranges::all_of(changedItems, [&](uint32_t item) { return work[item].calls.isOwn(); });
  if (!areOwn)
    awaitArguments();
  if (std::ranges::all_of(changedItems, [&](uint32_t item) { return remake(item); })) {
    remakeJoints();
    takeWorkspaces();
    return Change::calls;
  }
  awaitArguments();
  makeAll();
  return Change::items;
}

StepWork::Change StepWork::bind(std::span<const AddressTable *const> meshes) {
  std::vector<uint32_t> buffers = takeAddresses(meshes);
  bool wasBound = std::exchange(isBound, false); // if it throws, what is made is for nothing
  changedItems.clear();
  if (!wasBound || !buffers.empty())
    conditions->bind([&](uint32_t rank, uint32_t buffer) { return bound[firstBuffer[rank] + buffer]; },
                     *copies);
  Change change = Change::items;
  if (wasBound)
    change = makeAgain(buffers);
  else
    makeAll();
  isBound = true;
  return change;
}

} // namespace epl::runtime::cuda
