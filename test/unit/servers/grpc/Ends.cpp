#include "Ends.h"

#include <cstring>
#include <random>
#include <thread>

namespace epl::runtime::servers {

using std::chrono::duration;

Bytes randomBytes(uint64_t seed, size_t size) {
  std::mt19937_64 random(seed);
  Bytes bytes(size);
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    uint64_t word = random();
    std::memcpy(bytes.data() + at, &word, std::min(sizeof(word), size - at));
  }
  return bytes;
}

Bytes bytesOf(const std::string &text) {
  auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Frame frameOf(Bytes head, Bytes payload) {
  auto owner = std::make_shared<const Bytes>(std::move(payload));
  return {std::move(head), *owner, owner};
}

bool eventually(const std::function<bool()> &condition) {
  for (int i = 0; i < 20'000 && !condition(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}

void Recorder::received(std::span<const std::byte> head, const Payload &payload) {
  during();
  Came came = {Bytes(head.begin(), head.end()), Bytes(payload.size())};
  payload.copyTo(came.payload);
  std::lock_guard lock(mutex);
  ++calls;
  frames.push_back(std::move(came));
  changed.notify_all();
}

void Recorder::closed(const Ending &ending) {
  std::lock_guard lock(mutex);
  ++calls;
  how = ending;
  changed.notify_all();
}

std::optional<Recorder::Came> Recorder::next() {
  std::unique_lock lock(mutex);
  changed.wait_for(lock, duration<double>(20), [&] { return !frames.empty() || how; });
  if (frames.empty())
    return std::nullopt;
  Came came = std::move(frames.front());
  frames.pop_front();
  return came;
}

std::optional<std::string> Recorder::whyClosed(double seconds) {
  std::unique_lock lock(mutex);
  changed.wait_for(lock, duration<double>(seconds), [&] { return how.has_value(); });
  return how ? std::optional(how->why) : std::nullopt;
}

bool Recorder::isFinal() {
  std::lock_guard lock(mutex);
  return how && how->isFinal;
}

size_t Recorder::numCalls() {
  std::lock_guard lock(mutex);
  return calls;
}

Acceptor::Acceptor(StreamTransport &transport, const std::string &address, const StreamOptions &options)
    : listener(transport.listen(
          address, [this](std::unique_ptr<Stream> stream) { return accept(std::move(stream)); }, options)) {}

std::shared_ptr<StreamReader> Acceptor::accept(std::unique_ptr<Stream> stream) {
  auto recorder = std::make_shared<Recorder>();
  std::lock_guard lock(mutex);
  accepted.push_back({std::move(stream), recorder});
  changed.notify_all();
  return recorder;
}

Acceptor::Accepted Acceptor::next() {
  std::unique_lock lock(mutex);
  changed.wait_for(lock, duration<double>(20), [&] { return !accepted.empty(); });
  if (accepted.empty())
    return {};
  Accepted next = std::move(accepted.front());
  accepted.pop_front();
  return next;
}

bool Acceptor::hasNext() {
  std::lock_guard lock(mutex);
  return !accepted.empty();
}

Pair::Pair(const StreamOptions &options)
    : acceptor(*transport, "127.0.0.1:0", options),
      stream(transport->connect(acceptor.address(), reader, options)), other(acceptor.next()) {}

std::optional<std::string> whyNotConnected(const std::string &address, const StreamOptions &options) {
  std::shared_ptr<StreamTransport> transport = openStreamTransport();
  auto reader = std::make_shared<Recorder>();
  std::unique_ptr<Stream> stream = transport->connect(address, reader, options);
  return reader->whyClosed();
}

} // namespace epl::runtime::servers
