// Messages that are read while they come.
#ifndef EPL_RUNTIME_COLLECTIVE_MESSAGES_STREAM_H
#define EPL_RUNTIME_COLLECTIVE_MESSAGES_STREAM_H

#include "runtime/collective/messages/Endpoint.h"
#include "runtime/device/Command.h"
#include "runtime/host/Memory.h"

#include <array>

namespace epl::runtime {

/// The messages of one command at a time, each with the same runs, for the only rank here that reads them. It
/// reads one run of all of them after the other, as they come:
///
///        read    | in a place, or on their way to it | to come
///   run 0, 1, .. | 6            7           ..       | ..
///
/// A place is free for a later run once what was there is read. So the memory stays in a cache, where what
/// has come is still when it is read, however large the messages are.
class Stream {
public:
  using Messages = std::vector<const Message *>;

  /// Whether messages can be read so.
  static bool canRead(const Messages &messages);

  explicit Stream(Endpoint &endpoint) : endpoint(endpoint) {}
  ~Stream() { abandon(); }

  /// Makes room for such messages.
  void reserve(const Messages &messages);
  /// Begins to receive messages, which outlive that.
  void begin(const Messages &messages);
  /// The run that is to be read next, if all messages have brought it; null if not, or if all were read.
  const ByteRun *front() const;
  /// Where it is.
  const FetchedBuffers &fetched() const { return places[numRead % kPlaces]; }
  /// It was read.
  void pop();
  /// Whether all runs were read.
  bool isOver() const { return !messages || numRead == numRuns(); }
  /// Gives up what has not come, of a step that was stopped.
  void abandon();

private:
  static constexpr size_t kPlaces = 4;

  size_t numRuns() const { return messages->front()->runs.size(); }
  void receive(size_t run);

  Endpoint &endpoint;
  Memory memory;
  size_t size = 0; // of a place
  const Messages *messages = nullptr;
  size_t numRead = 0;
  std::array<FetchedBuffers, kPlaces> places;
  std::array<std::atomic<uint32_t>, kPlaces> left{}; // how many messages have not come to a place
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_MESSAGES_STREAM_H
