//===- Communicator.h - A member of a communicator --------------*- C++ -*-===//
//
// Members meet in the folder that the unique id names (Place.h). `R` is a member, `N` counts from 0:
//
//   member.R        it has come: how many it expects, on which device it is, in which process
//   connects.R      it has made its first collective
//   call-N.R        its N-th collective: what is asked for, what it contributes
//   message-R-S-N   what R sends to S the N-th time; S removes it
//   talk.R          which messages it waits with, in words
//   error.R         it has failed: why
//   left.R          it is destroyed or aborted
//
// All members look at all files call-N.* before any of them goes on. A file may go when the others say that
// they have ended call N: each call tells how many have. Who leaves last removes the folder; a process that
// has died has left.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/cuda/libraries/nccl/Call.h"
#include "test/cuda/libraries/nccl/Place.h"

#include <atomic>
#include <map>
#include <memory>
#include <set>

namespace nccl_double {

class Communicator {
public:
  Communicator(std::string path, int members, int member, int device)
      : members(members), member(member), device(device), place(std::move(path)),
        endedBy(static_cast<size_t>(members)) {}

  const int members, member, device;
  const Place place;

  // How it begins.
  Status announce();
  /// Whether all have come, as they should; `inProgress` if some are missing.
  Status findMembers() const;
  /// The members that have not yet said something.
  std::string describeMissing(const char *what) const;
  /// Before its first collective: whether it has to wait for the others.
  bool beginConnecting();
  /// `inProgress` until all members have made their first collective.
  Status findConnected();

  // Calls. For meetings, which the driver's lock keeps apart.
  uint64_t beginCall();
  void endCall(uint64_t number);
  /// All calls before this one have ended.
  uint64_t getEnded() const { return open.empty() ? numCalls : *open.begin(); }
  void seeEnded(int other, uint64_t ended);
  std::string nameOfCall(uint64_t number, int of) const;
  /// The file of what is sent, or received, next.
  std::string nameOfNextMessage(bool isSend, int other);
  /// What another member does, as far as one can see.
  std::string describeOther(int other) const;

  // What goes wrong. From any thread.
  Status getStatus() const { return status; }
  /// It has not failed, and nobody has ended it.
  bool isSound() const { return status == Status::success && state == State::open; }
  /// The first reason is kept, and told the others.
  void fail(Status why, const std::string &text);
  /// What others have failed with.
  std::optional<std::string> findFailure() const;
  /// Whether a member has ended its part: nothing more comes of it.
  bool hasLeft(int other) const;

  // How it ends.
  bool isDestroyed() const { return state == State::destroyed; }
  void destroy();
  void abort();
  std::atomic<int> numBegun = 0; ///< meetings that have begun and are not over

private:
  enum class State { open, destroyed, aborted };

  void removeOldCalls();
  bool isGone(int other) const;
  void leave() const;

  bool isConnected = false;
  bool hasCome = false; ///< so that the files of this member are its own
  std::atomic<Status> status = Status::success;
  std::atomic<State> state = State::open;
  uint64_t numCalls = 0, numRemoved = 0;
  std::set<uint64_t> open; ///< calls that have begun and are not over
  std::vector<uint64_t> endedBy;
  std::map<std::pair<bool, int>, uint64_t> numMessages; ///< by direction and member
};

/// All that one thread begins together: waits until their members have come. Who is missing is said after a
/// while.
Status join(std::span<const std::shared_ptr<Communicator>> communicators);
/// The same for the first collectives of communicators, which connect them.
Status connect(std::span<const std::shared_ptr<Communicator>> communicators);

/// How long a member waits for others: EPL_NCCL_SECONDS, or 20.
double getPatience();
/// A line on stderr.
void say(const std::string &text);

} // namespace nccl_double
