//===- Collective.cpp - A collective of one member ------------------------===//
//
// Each member contributes a file when its work begins, and has its results when it has seen the files of all.
//
//===----------------------------------------------------------------------===//

#include "test/cuda/libraries/nccl/MemberMeeting.h"
#include "test/cuda/libraries/nccl/Reduce.h"

#include <algorithm>
#include <cstring>

using namespace nccl_double;
using cuda_double::ByteRange;
using cuda_double::MeetingWork;

namespace {

/// What a file of a call begins with; what is contributed follows.
struct Head {
  Call call;
  uint64_t ended; ///< calls that the member has ended
};

class CollectiveMeeting : public MemberMeeting {
public:
  CollectiveMeeting(std::shared_ptr<Communicator> own, const Collective &collective);

  void end() override;

private:
  State look() override;
  std::string describe() const override;
  std::set<int> getMissing() const override;

  bool contributes() const;
  bool see(int other, File file);
  std::vector<std::byte> fetch(int from, size_t begin, size_t size) const;
  std::vector<std::vector<std::byte>> fetchAll(size_t begin, size_t size) const;
  void reduceAll() const;
  void reduceOne(size_t begin) const;
  void gather() const;

  const Call call;
  const std::byte *const from;
  std::byte *const to;
  const size_t bytes; ///< of `count` elements
  const uint64_t number;
  std::map<int, File> seen;
};

} // namespace

CollectiveMeeting::CollectiveMeeting(std::shared_ptr<Communicator> communicator, const Collective &collective)
    : MemberMeeting(std::move(communicator)), call(collective.call),
      from(static_cast<const std::byte *>(collective.from)), to(static_cast<std::byte *>(collective.to)),
      bytes(call.count * sizeOf(call.type)), number(own->beginCall()) {
  size_t size = call.kind == Kind::reduceScatter ? bytes * static_cast<size_t>(own->members) : bytes;
  std::span<const std::byte> part(from, contributes() ? size : 0);
  if (!own->place.put(own->nameOfCall(number, own->member), bytesOf(Head{call, own->getEnded()}), part))
    own->fail(Status::systemError, "it cannot write to " + own->place.getPath());
}

bool CollectiveMeeting::contributes() const {
  if (call.kind == Kind::broadcast)
    return own->member == call.root;
  return call.kind != Kind::reduce || own->member != call.root;
}

std::string CollectiveMeeting::describe() const {
  return "call " + std::to_string(number + 1) + ", " + nccl_double::describe(call);
}

std::set<int> CollectiveMeeting::getMissing() const {
  std::set<int> missing;
  for (int other = 0; other < own->members; ++other)
    if (other != own->member && !seen.contains(other))
      missing.insert(other);
  return missing;
}

/// False if the other member has asked for something else.
bool CollectiveMeeting::see(int other, File file) {
  std::optional<Head> head = file.readHead<Head>();
  if (head && head->call == call) {
    own->seeEnded(other, head->ended);
    seen.emplace(other, std::move(file));
    return true;
  }
  std::string theirs = head ? nccl_double::describe(head->call) : "unreadable",
              ours = nccl_double::describe(call);
  auto [first, last] = std::minmax(other, own->member);
  refuse("call " + std::to_string(number + 1) + " of member " + std::to_string(first) + " is " +
         (first == other ? theirs : ours) + ", of member " + std::to_string(last) + " " +
         (first == other ? ours : theirs));
  return false;
}

CollectiveMeeting::State CollectiveMeeting::look() {
  for (int other : getMissing())
    if (std::optional<File> file = own->place.open(own->nameOfCall(number, other)))
      if (!see(other, std::move(*file)))
        return State::failed;
  return getMissing().empty() ? State::complete : State::waits;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Bytes of what a member contributes.
std::vector<std::byte> CollectiveMeeting::fetch(int member, size_t begin, size_t size) const {
  if (member == own->member)
    return {from + begin, from + begin + size};
  std::vector<std::byte> result(size);
  if (!seen.at(member).read(sizeof(Head) + begin, result))
    own->fail(Status::systemError, "what member " + std::to_string(member) + " contributes cannot be read");
  return result;
}

std::vector<std::vector<std::byte>> CollectiveMeeting::fetchAll(size_t begin, size_t size) const {
  std::vector<std::vector<std::byte>> all(static_cast<size_t>(own->members));
  for (int member = 0; member < own->members; ++member)
    all[static_cast<size_t>(member)] = fetch(member, begin, size);
  return all;
}

static std::vector<const std::byte *> addressesOf(const std::vector<std::vector<std::byte>> &all,
                                                  size_t offset) {
  std::vector<const std::byte *> addresses(all.size());
  std::ranges::transform(all, addresses.begin(), [&](const auto &each) { return each.data() + offset; });
  return addresses;
}

/// A chunk for each member, at which the sum ends: a ring reduces them at a time.
void CollectiveMeeting::reduceAll() const {
  auto members = static_cast<uint64_t>(own->members), most = (call.count + members - 1) / members;
  std::vector<std::vector<std::byte>> all = fetchAll(0, bytes);
  for (uint64_t chunk = 0; chunk < members; ++chunk) {
    uint64_t begin = std::min(chunk * most, call.count), count = std::min(most, call.count - begin);
    size_t offset = begin * sizeOf(call.type);
    std::vector<const std::byte *> parts = addressesOf(all, offset);
    reduceInRing(call.type, call.reduction, parts, static_cast<int>((chunk + 1) % members), count,
                 to + offset);
  }
}

/// The sum ends at the member whose it is.
void CollectiveMeeting::reduceOne(size_t begin) const {
  std::vector<std::vector<std::byte>> all = fetchAll(begin, bytes);
  std::vector<const std::byte *> parts = addressesOf(all, 0);
  reduceInRing(call.type, call.reduction, parts, (own->member + 1) % own->members, call.count, to);
}

void CollectiveMeeting::gather() const {
  std::vector<std::vector<std::byte>> all = fetchAll(0, bytes);
  std::byte *next = to;
  for (const auto &each : all)
    next = std::copy(each.begin(), each.end(), next);
}

void CollectiveMeeting::end() {
  if (call.kind == Kind::allReduce)
    reduceAll();
  else if (call.kind == Kind::allGather)
    gather();
  else if (call.kind == Kind::reduceScatter)
    reduceOne(bytes * static_cast<size_t>(own->member));
  else if (call.kind == Kind::broadcast)
    std::ranges::copy(fetch(call.root, 0, bytes), to);
  else if (own->member == call.root)
    reduceOne(0);
  own->endCall(number);
}

//===----------------------------------------------------------------------===//
// What is touched
//===----------------------------------------------------------------------===//

static uint64_t addressOf(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }

/// Where the part of a member is its own part of the whole, nothing is written there.
static void addGathered(const Collective &collective, const Communicator &own, uint64_t size,
                        MeetingWork &work) {
  uint64_t from = addressOf(collective.from), to = addressOf(collective.to);
  auto members = static_cast<uint64_t>(own.members), member = static_cast<uint64_t>(own.member);
  work.reads = {{from, size}};
  work.writes = {{to, size * members}};
  if (from == to + size * member)
    work.writes = {{to, size * member}, {from + size, size * (members - 1 - member)}};
}

static void addRanges(const Collective &collective, const Communicator &own, MeetingWork &work) {
  const Call &call = collective.call;
  uint64_t size = call.count * sizeOf(call.type);
  ByteRange from{addressOf(collective.from), size}, to{addressOf(collective.to), size};
  bool isRoot = own.member == call.root;
  switch (call.kind) {
  case Kind::allReduce:
    work.reads = {from}, work.writes = {to};
    break;
  case Kind::reduce:
    work.reads = {from};
    if (isRoot)
      work.writes = {to};
    break;
  case Kind::broadcast:
    if (isRoot)
      work.reads = {from};
    if (!isRoot || from.begin != to.begin)
      work.writes = {to};
    break;
  case Kind::allGather:
    addGathered(collective, own, size, work);
    break;
  case Kind::reduceScatter:
    from.size *= static_cast<uint64_t>(own.members);
    work.reads = {from}, work.writes = {to};
    break;
  }
}

/// Whether results of a reduction are where a member's own part was.
static bool isInPlace(const Collective &collective, const Communicator &own) {
  const Call &call = collective.call;
  uint64_t offset = call.kind == Kind::reduceScatter
                        ? call.count * sizeOf(call.type) * static_cast<uint64_t>(own.member)
                        : 0;
  return call.kind != Kind::broadcast && call.kind != Kind::allGather &&
         addressOf(collective.from) + offset == addressOf(collective.to);
}

MeetingWork nccl_double::makeWork(const std::shared_ptr<Communicator> &own, const Collective &collective) {
  MeetingWork work{describe(collective.call) + " of member " + std::to_string(own->member),
                   own->device,
                   {},
                   {},
                   [own, collective] { return begin<CollectiveMeeting>(own, collective); }};
  addRanges(collective, *own, work);
  checkOverlaps(work, isInPlace(collective, *own));
  return work;
}
