//===- Join.cpp - How members come together -------------------------------===//
//
// The members that one thread begins in a group wait together: each for those of the others, too.
//
//===----------------------------------------------------------------------===//

#include "test/cuda/libraries/nccl/Communicator.h"

#include <chrono>
#include <sstream>
#include <thread>

using namespace nccl_double;
using Clock = std::chrono::steady_clock;

/// `inProgress` while some are missing, and nobody has failed.
static Status look(std::span<const std::shared_ptr<Communicator>> communicators) {
  Status status = Status::success;
  for (const auto &each : communicators) {
    Status own = each->findMembers();
    if (own == Status::success)
      continue;
    if (own != Status::inProgress)
      return own;
    if (std::optional<std::string> failure = each->findFailure()) {
      say("member " + std::to_string(each->member) + " does not begin: " + *failure);
      return Status::remoteError;
    }
    status = Status::inProgress;
  }
  return status;
}

static void sayWhoIsMissing(const Communicator &communicator, const char *what) {
  std::ostringstream text;
  text << "member " << communicator.member << " of " << communicator.members << " has waited "
       << getPatience() << " s for " << communicator.describeMissing(what) << " to come";
  say(text.str());
}

/// What `ask` says when it is no longer `inProgress`.
template <typename Ask> static Status waitFor(Ask ask) {
  auto until = Clock::now() + std::chrono::duration<double>(getPatience());
  Status status = Status::inProgress;
  while (Clock::now() < until && (status = ask()) == Status::inProgress)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  return status;
}

static Status waitForAll(std::span<const std::shared_ptr<Communicator>> communicators) {
  for (const auto &each : communicators)
    if (Status status = each->announce(); status != Status::success)
      return status;
  if (Status status = waitFor([&] { return look(communicators); }); status != Status::inProgress)
    return status;
  for (const auto &each : communicators)
    if (each->findMembers() == Status::inProgress)
      sayWhoIsMissing(*each, "member");
  return Status::systemError;
}

Status nccl_double::join(std::span<const std::shared_ptr<Communicator>> communicators) {
  Status status = waitForAll(communicators);
  if (status == Status::success)
    return status;
  for (const auto &each : communicators) {
    each->fail(status, "it could not begin");
    each->destroy();
  }
  return status;
}

Status nccl_double::connect(std::span<const std::shared_ptr<Communicator>> communicators) {
  std::vector<std::shared_ptr<Communicator>> waiting;
  for (const auto &each : communicators)
    if (each->beginConnecting())
      waiting.push_back(each);
  for (const auto &each : waiting) {
    Status status = waitFor([&] { return each->findConnected(); });
    if (status == Status::success)
      continue;
    if (status == Status::inProgress) {
      sayWhoIsMissing(*each, "connects");
      status = Status::systemError;
    }
    each->fail(status, "it could not connect");
    return status;
  }
  return Status::success;
}
