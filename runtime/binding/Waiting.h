// Waiting for a call from Python.

#ifndef EPL_RUNTIME_BINDING_WAITING_H
#define EPL_RUNTIME_BINDING_WAITING_H

#include "runtime/session/Call.h"

namespace epl::runtime::binding {

/// Waits for the end of a call, well or not, without the interpreter's lock. A first Ctrl-C lets the step
/// come to its end and then raises KeyboardInterrupt (or what the signal's handler raised); a second one
/// cancels the step, which poisons the state that it writes. Lets go of the call's arguments. Null is an
/// ended call.
void waitForEnd(std::shared_ptr<Call> call);

/// The same; throws Error if the call failed.
void waitFor(const std::shared_ptr<Call> &call);

/// Has Ctrl-C seen while a thread waits without the interpreter's lock. Throws the error that a signal's
/// handler raised.
void checkSignals();

/// What a wait without the interpreter's lock calls again and again: lets other threads have the core, and
/// has Ctrl-C seen from time to time. Throws the error that a signal's handler raised.
class SignalChecks {
public:
  void operator()();

private:
  int count = 0;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now(), last = begin;
};

} // namespace epl::runtime::binding

#endif // EPL_RUNTIME_BINDING_WAITING_H
