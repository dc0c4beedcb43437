#include "runtime/servers/drive/Streams.h"

#include <utility>

namespace epl::runtime::servers {

class Streams::Reader final : public StreamReader {
public:
  Reader(Streams &streams, uint64_t number) : streams(streams), number(number) {}

  void opened() noexcept override { streams.user.opened(number); }

  void received(std::span<const std::byte> head, const Payload &payload) override {
    streams.user.received(number, head, payload);
  }

  void closed(const Ending &ending) override {
    streams.user.broke(number, ending);
    streams.ended(number);
  }

private:
  Streams &streams;
  const uint64_t number;
};

std::shared_ptr<StreamReader> Streams::readerOf(uint64_t stream) {
  return std::make_shared<Reader>(*this, stream);
}

void Streams::add(uint64_t number, std::unique_ptr<Stream> stream) {
  std::scoped_lock lock(mutex);
  if (early.erase(number) != 0)
    over.push_back(std::move(stream));
  else
    open[number] = std::move(stream);
}

std::shared_ptr<Stream> Streams::find(uint64_t number) {
  std::scoped_lock lock(mutex);
  auto found = open.find(number);
  return found == open.end() ? nullptr : found->second;
}

void Streams::send(uint64_t number, std::vector<std::byte> head) {
  if (std::shared_ptr<Stream> stream = find(number))
    stream->send({std::move(head)});
}

void Streams::close(uint64_t number, bool atOnce) {
  if (std::shared_ptr<Stream> stream = find(number))
    atOnce ? stream->cancel() : stream->close();
}

bool Streams::empty() const {
  std::scoped_lock lock(mutex);
  return open.empty();
}

void Streams::ended(uint64_t number) {
  std::scoped_lock lock(mutex);
  auto found = open.find(number);
  if (found == open.end()) {
    early.insert(number);
    return;
  }
  over.push_back(std::move(found->second));
  open.erase(found);
}

void Streams::sweep() {
  std::vector<std::shared_ptr<Stream>> ended; // destroyed when the lock is not held any more
  std::scoped_lock lock(mutex);
  ended.swap(over);
}

void Streams::destroyAll() {
  std::map<uint64_t, std::shared_ptr<Stream>> all;
  {
    std::scoped_lock lock(mutex);
    all.swap(open);
  }
  all.clear();
  sweep();
}

StreamOptions impatient(StreamOptions options, const Timing &timing) {
  options.connectDeadline = std::chrono::milliseconds(timing.silence);
  return options;
}

} // namespace epl::runtime::servers
