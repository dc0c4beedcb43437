//===- Communicator.cpp - A member of a communicator ----------------------===//

#include "test/cuda/libraries/nccl/Communicator.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

using namespace nccl_double;

double nccl_double::getPatience() {
  const char *text = std::getenv("EPL_NCCL_SECONDS");
  return text ? std::strtod(text, nullptr) : 20;
}

void nccl_double::say(const std::string &text) {
  std::fprintf(stderr, "stand-in of NCCL: %s\n", text.c_str());
}

static std::string nameOf(const char *what, int member) { return what + ("." + std::to_string(member)); }

//===----------------------------------------------------------------------===//
// Its begin
//===----------------------------------------------------------------------===//

namespace {
/// What a member says of itself.
struct Presence {
  int members, device;
  pid_t process;
};
} // namespace

/// A fault on demand: what EPL_NCCL_LOST names is never said.
static bool isLost(const std::string &name) {
  const char *lost = std::getenv("EPL_NCCL_LOST");
  return lost && name == lost;
}

Status Communicator::announce() {
  if (isLost(nameOf("member", member)))
    return Status::success;
  hasCome = place.putFirst(nameOf("member", member), bytesOf(Presence{members, device, getpid()}));
  if (hasCome)
    return Status::success;
  say(place.exists() ? "member " + std::to_string(member) + " of a communicator comes twice"
                     : "no communicator has this id any more: " + place.getPath());
  return Status::invalidUsage;
}

Status Communicator::findMembers() const {
  std::map<int, int> onDevice;
  bool areAll = true;
  for (int other = 0; other < members; ++other) {
    std::optional<File> file = place.open(nameOf("member", other));
    std::optional<Presence> presence = file ? file->readHead<Presence>() : std::nullopt;
    areAll &= presence.has_value();
    if (!presence)
      continue;
    if (presence->members != members) {
      say("member " + std::to_string(other) + " is one of " + std::to_string(presence->members) +
          ", member " + std::to_string(member) + " one of " + std::to_string(members));
      return Status::invalidUsage;
    }
    auto [before, isFirst] = onDevice.insert({presence->device, other});
    if (!isFirst) {
      say("members " + std::to_string(before->second) + " and " + std::to_string(other) +
          " are on one device, " + std::to_string(presence->device));
      return Status::invalidUsage;
    }
  }
  return areAll ? Status::success : Status::inProgress;
}

std::string Communicator::describeMissing(const char *what) const {
  std::string missing;
  for (int other = 0; other < members; ++other)
    if (!place.has(nameOf(what, other)))
      missing += (missing.empty() ? "member " : ", member ") + std::to_string(other);
  return missing;
}

bool Communicator::beginConnecting() {
  std::string name = nameOf("connects", member);
  if (isConnected || !std::getenv("EPL_NCCL_CONNECTS"))
    return false;
  if (!isLost(name))
    place.put(name, {}, {});
  return true;
}

Status Communicator::findConnected() {
  isConnected = describeMissing("connects").empty();
  if (isConnected)
    return Status::success;
  return isSound() && !findFailure() ? Status::inProgress : Status::remoteError;
}

//===----------------------------------------------------------------------===//
// Its calls
//===----------------------------------------------------------------------===//

uint64_t Communicator::beginCall() {
  open.insert(numCalls);
  return numCalls++;
}

void Communicator::endCall(uint64_t number) {
  open.erase(number);
  removeOldCalls();
}

void Communicator::seeEnded(int other, uint64_t ended) {
  uint64_t &before = endedBy[static_cast<size_t>(other)];
  before = std::max(before, ended);
}

void Communicator::removeOldCalls() {
  endedBy[static_cast<size_t>(member)] = numCalls;
  for (uint64_t all = *std::min_element(endedBy.begin(), endedBy.end()); numRemoved < all; ++numRemoved)
    place.remove(nameOfCall(numRemoved, member));
}

std::string Communicator::nameOfCall(uint64_t number, int of) const {
  return nameOf(("call-" + std::to_string(number)).c_str(), of);
}

std::string Communicator::nameOfNextMessage(bool isSend, int other) {
  auto [from, to] = isSend ? std::pair(member, other) : std::pair(other, member);
  uint64_t number = numMessages[{isSend, other}]++;
  return "message-" + std::to_string(from) + "-" + std::to_string(to) + "-" + std::to_string(number);
}

std::string Communicator::describeOther(int other) const {
  if (std::optional<File> talk = place.open(nameOf("talk", other)))
    return "which waits in " + talk->readText();
  std::string left = hasLeft(other) ? "which has left and " : "";
  std::optional<uint64_t> last;
  for (std::string_view name : place.list()) {
    bool isCall = name.starts_with("call-") && name.ends_with(nameOf("", other));
    uint64_t number = isCall ? std::strtoull(name.data() + 5, nullptr, 10) : 0;
    if (isCall && number >= last.value_or(0))
      last = number;
  }
  std::optional<File> file = last ? place.open(nameOfCall(*last, other)) : std::nullopt;
  std::optional<Call> call = file ? file->readHead<Call>() : std::nullopt;
  if (!call)
    return left + "which has made no call";
  return left + "whose last one is call " + std::to_string(*last + 1) + ", " + describe(*call);
}

//===----------------------------------------------------------------------===//
// What goes wrong, and its end
//===----------------------------------------------------------------------===//

void Communicator::fail(Status why, const std::string &text) {
  Status expected = Status::success;
  if (status.compare_exchange_strong(expected, why) && hasCome)
    place.put(nameOf("error", member), std::as_bytes(std::span(text)), {});
}

std::optional<std::string> Communicator::findFailure() const {
  for (int other = 0; other < members; ++other)
    if (std::optional<File> file = other == member ? std::nullopt : place.open(nameOf("error", other)))
      return "member " + std::to_string(other) + " has failed: " + file->readText();
  return place.exists() ? std::nullopt : std::optional<std::string>("the others have left");
}

void Communicator::destroy() {
  state = State::destroyed;
  leave();
}

void Communicator::abort() {
  state = State::aborted;
  fail(Status::remoteError, "it was aborted");
  leave();
}

bool Communicator::hasLeft(int other) const { return place.has(nameOf("left", other)); }

/// It has left, has never come, or its process has died.
bool Communicator::isGone(int other) const {
  std::optional<File> file = place.open(nameOf("member", other));
  std::optional<Presence> presence = file ? file->readHead<Presence>() : std::nullopt;
  return !presence || hasLeft(other) || (kill(presence->process, 0) != 0 && errno == ESRCH);
}

void Communicator::leave() const {
  if (!hasCome)
    return;
  place.put(nameOf("left", member), {}, {});
  for (int other = 0; other < members; ++other)
    if (!isGone(other))
      return;
  place.clear();
}
