// Devices and collectives that compute nothing: their commands complete when a test says so.
#ifndef EPL_TEST_UNIT_EXECUTOR_FAKEBACKEND_H
#define EPL_TEST_UNIT_EXECUTOR_FAKEBACKEND_H

#include "runtime/executor/Backend.h"

#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace epl::runtime::test {

/// What happens to a command on a rank of a plan or a part.
struct Event {
  enum Kind { started, asked, done, canceled } kind;
  const plan::PlanT *plan;
  uint32_t rank, command;
  bool operator==(const Event &) const = default;
};

/// Events as they happen, in all threads.
class EventLog {
public:
  /// The number of the event.
  size_t add(const Event &event);
  std::vector<Event> all() const;
  size_t count(Event::Kind kind) const;
  /// Whether it has happened.
  bool has(const Event &event) const;

private:
  mutable std::mutex mutex;
  std::vector<Event> events;
};

/// Says how often a command that was started on a rank is to be asked before it is complete; 0: at once.
/// Called when it starts. May throw Error: the command fails.
using Delay = std::function<uint32_t(uint32_t rank, uint32_t command)>;

/// Never, in any test.
inline constexpr uint32_t kNever = UINT32_MAX;

/// Memory is the host's; the devices that have some are in `allocated`.
class FakeBackend {
public:
  explicit FakeBackend(Delay delay) : delay(std::move(delay)) {}

  /// Must not outlive this.
  Backend backend();

  EventLog log;
  std::map<uint32_t, size_t> allocated; // bytes of each device, of all that was ever allocated

private:
  class Devices;
  class Collective;
  class FakeCode;
  class FakeCollectives;
  class FakeCommand;

  Delay delay;
};

} // namespace epl::runtime::test

#endif // EPL_TEST_UNIT_EXECUTOR_FAKEBACKEND_H
