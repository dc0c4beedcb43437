// What a stream of the runtime carries, beside a bare stream of gRPC: bytes there and back over the loopback,
// from a tensor into another one, and through one at the server.
#include "BareGrpc.h"
#include "test/benchmarks/Report.h"

#include "runtime/servers/OpenTransport.h"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <stdexcept>

using namespace epl::benchmark;
using namespace epl::runtime::servers;

namespace {

constexpr size_t kHead = 64; // what a head has about

/// Sends all frames back, from a tensor of its own.
class Echo : public StreamReader {
public:
  explicit Echo(size_t size) : tensor(size) {}
  std::unique_ptr<Stream> stream;

  void received(std::span<const std::byte> head, const Payload &payload) override {
    if (at + payload.size() > tensor.size())
      at = 0;
    std::span<std::byte> place = std::span(tensor).subspan(at, payload.size());
    at += payload.size();
    payload.copyTo(place);
    stream->send({{head.begin(), head.end()}, place, nullptr});
  }
  void closed(const Ending &) override {}

private:
  std::vector<std::byte> tensor;
  size_t at = 0;
};

/// Takes frames to one place after another.
class Taker : public StreamReader {
public:
  void received(std::span<const std::byte>, const Payload &payload) override {
    std::lock_guard lock(mutex);
    payload.copyTo(left);
    left = left.subspan(payload.size());
    if (left.empty())
      changed.notify_all();
  }
  void closed(const Ending &) override {}

  void expect(std::span<std::byte> target) {
    std::lock_guard lock(mutex);
    left = target;
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return left.empty(); });
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::span<std::byte> left;
};

class Ours {
public:
  explicit Ours(size_t size) {
    auto accept = [size](std::unique_ptr<Stream> stream) {
      auto echo = std::make_shared<Echo>(size);
      echo->stream = std::move(stream);
      return echo;
    };
    listener = transport->listen("127.0.0.1:0", accept, {});
    stream = transport->connect(listener->address(), taker, {});
  }

  void exchange(std::span<const std::byte> there, std::span<std::byte> back, size_t chunk) {
    taker->expect(back);
    for (size_t at = 0; at < there.size(); at += chunk)
      stream->send({std::vector<std::byte>(kHead), there.subspan(at, chunk), nullptr});
    taker->wait();
  }

private:
  std::shared_ptr<StreamTransport> transport = openStreamTransport();
  std::unique_ptr<Listener> listener;
  std::shared_ptr<Taker> taker = std::make_shared<Taker>();
  std::unique_ptr<Stream> stream;
};

/// `exchange` of somebody, whose bytes must come as they went.
template <typename Who> Run runOf(Who &who, size_t size, size_t chunk) {
  return [&who, there = std::vector<std::byte>(size), back = std::vector<std::byte>(size),
          chunk](uint32_t count) mutable {
    for (uint32_t i = 0; i < count; ++i) {
      for (size_t at = 0; at < there.size(); at += 4096)
        there[at] = static_cast<std::byte>(at / 4096 + i);
      who.exchange(there, back, chunk);
      if (std::memcmp(there.data(), back.data(), there.size()) != 0)
        throw std::runtime_error("other bytes came back than went");
    }
  };
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    std::cerr << "usage: streams BYTES ROUNDS COUNT\n";
    return 1;
  }
  size_t size = std::stoul(argv[1]);
  size_t chunk = kMaxFrame - kHead;
  size -= size % chunk; // whole chunks
  Ours ours(size);
  BareGrpc bare(size);
  std::vector<Contender> contenders = {{"ours", runOf(ours, size, chunk)},
                                       {"bare", runOf(bare, size, chunk)}};
  interleave(contenders, std::stoul(argv[2]), std::stoul(argv[3]));
  report("there and back", contenders);
}
