// A worker's connection with one server: when it is opened again, and when the server is given up.

#ifndef EPL_RUNTIME_SERVERS_LOGIC_SERVERLINK_H
#define EPL_RUNTIME_SERVERS_LOGIC_SERVERLINK_H

#include "runtime/servers/logic/Timing.h"

#include <cstdint>
#include <random>
#include <string>

namespace epl::runtime::servers {

class ServerLink {
public:
  /// closed: not open, and not to be opened again.
  enum class State { waiting, greeting, welcomed, closed };

  /// What tick asks for.
  enum class Due { nothing, open, reopen };

  ServerLink(Timing timing, Milliseconds time) : timing(timing), started(time), due(time), heard(time) {}

  State state() const { return now; }
  uint32_t stream() const { return number; }

  /// A stream has been opened: its number.
  uint32_t opened(Milliseconds time);
  /// The server has taken the stream: it is there, if it says nothing yet.
  void accepted(Milliseconds time) { breaks = known ? breaks : 0, known = true, heard = time; }
  /// A frame has come, and so has what has been asked for, or a part of it.
  void heardOf(Milliseconds time) { accepted(time), breaks = now == State::welcomed ? 0 : breaks; }
  void answered(Milliseconds time) { asked = time, timeouts = 0; }
  /// The server has greeted. With `progress`: it has more of what was sent than the last time.
  void welcomed(bool progress) { now = State::welcomed, breaks = progress ? 0 : breaks; }
  void close() { now = State::closed; }

  /// The stream is gone: it is opened again after a while, longer each time, by chance up to half more or
  /// less.
  void broke(Milliseconds time, std::mt19937_64 &random);

  /// What is to be done, where something has been asked for or not.
  Due tick(Milliseconds time, bool waits);
  /// Why the server is given up, for behind its name; empty: it is not.
  std::string fault(Milliseconds time) const;
  /// Whether a heartbeat is to be sent, which counts as sent then.
  bool beats(Milliseconds time);
  /// Time in which this process has stood still does not count.
  void shift(Milliseconds time) { heard += time, asked += time, started += time; }

private:
  Timing timing;
  State now = State::waiting;
  uint32_t number = 0;
  Milliseconds started, due, heard;
  Milliseconds asked = 0; ///< when something was asked for, or the last answer came
  Milliseconds told = 0, tried = 0;
  uint32_t breaks = 0;   ///< of streams, since a frame has come behind a welcome
  uint32_t timeouts = 0; ///< of requests, since an answer has come
  bool known = false;    ///< the server has been there
  bool waited = false;   ///< something was asked for at the last tick
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_LOGIC_SERVERLINK_H
