//===- MemberMeeting.cpp - A member's part in a call ----------------------===//

#include "test/cuda/libraries/nccl/MemberMeeting.h"

#include <algorithm>
#include <sstream>

using namespace nccl_double;

void nccl_double::report(const std::string &text) { eplCudaReport("nccl", text.c_str()); }

static bool overlap(cuda_double::ByteRange a, cuda_double::ByteRange b) {
  return a.begin < b.begin + b.size && b.begin < a.begin + a.size;
}

void nccl_double::checkOverlaps(cuda_double::MeetingWork &work, bool isInPlace) {
  for (auto *ranges : {&work.reads, &work.writes})
    std::erase_if(*ranges, [](cuda_double::ByteRange range) { return range.size == 0; });
  bool doOverlap = false;
  for (size_t i = 0; i < work.writes.size(); ++i) {
    for (size_t j = 0; j < i; ++j)
      doOverlap |= overlap(work.writes[i], work.writes[j]);
    for (cuda_double::ByteRange read : work.reads)
      doOverlap |= !isInPlace && overlap(work.writes[i], read);
  }
  if (doOverlap)
    report(work.name + ": what it writes overlaps what it reads or writes");
}

void MemberMeeting::refuse(const std::string &text) const {
  report(text);
  own->fail(Status::invalidUsage, text);
}

/// What another member does before it leaves, or fails, it has done: so that has to be looked at once more.
MemberMeeting::State MemberMeeting::ask() {
  if (!own->isSound())
    return State::failed;
  State state = look();
  if (state != State::waits)
    return state;
  std::optional<std::string> failure = own->findFailure();
  std::set<int> missing = getMissing();
  bool isAlone = std::ranges::any_of(missing, [&](int other) { return own->hasLeft(other); });
  if (failure || isAlone)
    state = look();
  if (state != State::waits)
    return state;
  if (failure) {
    say("member " + std::to_string(own->member) + " gives up " + describe() + ": " + *failure);
    own->fail(Status::remoteError, *failure);
    return State::failed;
  }
  std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begun;
  if (isAlone || waited.count() >= getPatience())
    return giveUp(isAlone ? Status::remoteError : Status::systemError);
  return State::waits;
}

MemberMeeting::State MemberMeeting::giveUp(Status status) const {
  std::ostringstream text;
  text << "member " << own->member << " of " << own->members << " waits in " << describe();
  const char *before = ", for member ";
  for (int other : getMissing()) {
    text << before << other << ", " << own->describeOther(other);
    before = ", and for member ";
  }
  say(text.str());
  report(text.str());
  own->fail(status, text.str());
  return State::failed;
}
