#include "runtime/servers/drive/Gather.h"

#include "runtime/servers/drive/LogicDriver.h"
#include "runtime/servers/drive/SendPieces.h"

namespace epl::runtime::servers {

namespace act = gather_actions;

static constexpr auto kWelcome = std::chrono::seconds(10); // for servers to come that a worker leaves at once
static constexpr auto kFarewell = std::chrono::seconds(1); // for the end of its streams to arrive

class Gather::Driver final : public CallerDriver {
public:
  Driver(std::shared_ptr<StreamTransport> transport, const GatherOptions &options,
         const std::vector<std::string> &addresses, const StreamOptions &streamOptions,
         std::function<void()> whileWaiting)
      : CallerDriver(std::move(transport), streamOptions, options.timing, std::move(whileWaiting)),
        addresses(addresses), logic(options, addresses, Ticker::now()) {
    startTicking(options.timing);
  }

  ~Driver() override {
    stopTicking();
    streams.destroyAll();
  }

  uint64_t begin() {
    std::unique_lock lock(mutex);
    await(lock, [&] { return logic.first().has_value(); });
    return *logic.first();
  }

  std::vector<std::vector<std::byte>> share(const std::string &what, std::vector<std::byte> bytes,
                                            int32_t from) {
    std::unique_lock lock(mutex);
    await(lock, [&] { return logic.first() && !logic.isOpen(); }); // of a wait that was interrupted
    perform(logic.share(what, std::make_shared<const std::vector<std::byte>>(std::move(bytes)), from));
    await(lock, [&] { return !logic.isOpen(); });
    return logic.results();
  }

  void knows(bool goesOn) {
    std::scoped_lock lock(mutex);
    logic.knows(goesOn);
  }

  void check() {
    std::scoped_lock lock(mutex);
    if (!failure().empty())
      throw Error(failure());
  }

  void leave(const std::string &failure) {
    std::unique_lock lock(mutex);
    // Servers that have not heard of this worker would wait for it.
    changed.wait_for(lock, kWelcome, [&] { return logic.first() || !logic.error().empty(); });
    perform(logic.leave(failure));
    changed.wait_for(lock, kFarewell, [&] { return streams.empty(); });
  }

private:
  const std::string &failure() const override { return logic.error(); }

  void opened(uint64_t stream) noexcept override {
    std::scoped_lock lock(mutex);
    logic.accepted(stream, Ticker::now());
  }

  void received(uint64_t stream, std::span<const std::byte> head, const Payload &payload) override {
    std::scoped_lock lock(mutex);
    perform(logic.received(stream, head, payload, Ticker::now()));
    changed.notify_all();
  }

  void broke(uint64_t stream, const Ending &ending) override {
    std::scoped_lock lock(mutex);
    perform(ending.isFinal ? logic.refused(stream, ending.why)
                           : logic.broke(stream, ending.why, Ticker::now()));
    changed.notify_all();
  }

  void look() override { perform(logic.tick(Ticker::now())); }

  void perform(const Membership::Actions &actions) {
    for (const GatherAction &action : actions)
      std::visit([&](const auto &each) { perform(each); }, action);
  }

  void perform(const act::OpenStream &action) {
    open(action.stream, addresses[linkOf(action.stream).server],
         [&](const std::string &why) { perform(logic.refused(action.stream, why)); });
  }
  void perform(const act::CloseStream &action) { streams.close(action.stream, action.atOnce); }
  void perform(const act::SendFrame &action) { streams.send(action.stream, action.head); }
  void perform(const act::SendBytes &action) { sendBytes(streams, action); }

  const std::vector<std::string> addresses;
  Membership logic;
};

Gather::Gather(std::shared_ptr<StreamTransport> transport, const GatherOptions &options,
               const std::vector<std::string> &addresses, const StreamOptions &streams,
               std::function<void()> whileWaiting)
    : driver(std::make_unique<Driver>(std::move(transport), options, addresses, streams,
                                      std::move(whileWaiting))) {}
Gather::~Gather() = default;

uint64_t Gather::begin() { return driver->begin(); }
std::vector<std::vector<std::byte>> Gather::share(const std::string &what, std::vector<std::byte> bytes,
                                                  int32_t from) {
  return driver->share(what, std::move(bytes), from);
}
void Gather::knows(bool goesOn) { driver->knows(goesOn); }
void Gather::check() { driver->check(); }
void Gather::leave(const std::string &failure) { driver->leave(failure); }

} // namespace epl::runtime::servers
