//===- MemberMeeting.h - A member's part in a call --------------*- C++ -*-===//
#pragma once

#include "test/cuda/driver/Meeting.h"
#include "test/cuda/libraries/nccl/Communicator.h"

#include <chrono>

namespace nccl_double {

/// What is the same for collectives and messages: it is over, too, when its member or another one has failed,
/// when it is aborted, and when it has waited for too long.
class MemberMeeting : public cuda_double::Meeting {
public:
  explicit MemberMeeting(std::shared_ptr<Communicator> own) : own(std::move(own)) { ++this->own->numBegun; }
  ~MemberMeeting() override { --own->numBegun; }

  State ask() final;

protected:
  /// Whether all have come.
  virtual State look() = 0;
  /// "call 3, all-reduce of 8 f32 (sum)".
  virtual std::string describe() const = 0;
  /// Whom it waits for.
  virtual std::set<int> getMissing() const = 0;

  /// A mistake of callers: a finding.
  void refuse(const std::string &text) const;

  const std::shared_ptr<Communicator> own;

private:
  State giveUp(Status status) const;

  const std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
};

/// A finding of this library.
void report(const std::string &text);

struct Collective {
  Call call;
  const void *from;
  void *to;
};

struct Message {
  bool isSend;
  int other;
  void *address;
  Content content;
};

/// A member's work. What is read and written is exact: what is not moved, as it is where it belongs, is not
/// touched.
cuda_double::MeetingWork makeWork(const std::shared_ptr<Communicator> &own, const Collective &collective);
/// Of all messages of a group: they go on together.
cuda_double::MeetingWork makeWork(const std::shared_ptr<Communicator> &own,
                                  const std::vector<Message> &messages);

/// Drops ranges without bytes. What is written overlaps nothing else, unless results are where their operand
/// was: a finding.
void checkOverlaps(cuda_double::MeetingWork &work, bool isInPlace);

/// Begins a meeting of `Kind`, of these arguments, if the communicator is sound; else one that is over.
template <typename Kind, typename What>
std::unique_ptr<cuda_double::Meeting> begin(const std::shared_ptr<Communicator> &own, const What &what) {
  struct Over : cuda_double::Meeting {
    State ask() override { return State::failed; }
    void end() override {}
  };
  if (own->isDestroyed())
    report("work of member " + std::to_string(own->member) + " begins after its communicator was destroyed");
  if (!own->isSound())
    return std::make_unique<Over>();
  return std::make_unique<Kind>(own, what);
}

} // namespace nccl_double
