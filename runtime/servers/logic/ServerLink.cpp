#include "runtime/servers/logic/ServerLink.h"

#include "runtime/servers/logic/Text.h"

#include <algorithm>

namespace epl::runtime::servers {
namespace {

/// Between two tries of a server that has never been there.
constexpr Milliseconds maxBackoff = 2000;

} // namespace

uint32_t ServerLink::opened(Milliseconds time) {
  now = State::greeting;
  tried = told = time;
  return ++number;
}

void ServerLink::broke(Milliseconds time, std::mt19937_64 &random) {
  now = State::waiting;
  Milliseconds wait = std::min(timing.backoff << std::min(breaks, 10u), maxBackoff);
  ++breaks;
  due = time + wait / 2 + std::uniform_int_distribution<Milliseconds>(0, wait)(random);
}

ServerLink::Due ServerLink::tick(Milliseconds time, bool waits) {
  if (waits && !waited)
    asked = time;
  waited = waits;
  if (now == State::waiting)
    return time >= due ? Due::open : Due::nothing;
  // A connection that hangs while the server is not there yet: who takes it and is silent is lost.
  if (now == State::greeting && !known && time > tried + timing.silence)
    return Due::reopen;
  if (now != State::welcomed || !waits || time <= asked + timing.deadline)
    return Due::nothing;
  ++timeouts;
  asked = time;
  return Due::reopen;
}

std::string ServerLink::fault(Milliseconds time) const {
  if (now == State::closed)
    return "";
  if (!known)
    return time > started + timing.arrival ? textOf("has not been there for ", seconds(timing.arrival), " s")
                                           : "";
  if (time > heard + timing.silence)
    return textOf("has been silent for ", seconds(timing.silence), " s");
  if (breaks > timing.retries)
    return "has lost the connection " + std::to_string(breaks) + " times in a row";
  if (timeouts > timing.retries)
    return textOf("has not answered within ", seconds(timing.deadline), " s, ") + std::to_string(timeouts) +
           " times in a row";
  return "";
}

bool ServerLink::beats(Milliseconds time) {
  if (now != State::welcomed || time < told + timing.heartbeat)
    return false;
  told = time;
  return true;
}

} // namespace epl::runtime::servers
