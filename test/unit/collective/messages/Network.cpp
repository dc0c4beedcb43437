#include "Network.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace epl::runtime::test {

class Network::Member final : public Transport {
public:
  Member(Network &network, uint32_t index, uint32_t own) : network(network), index(index), own(own) {}

  void send(uint32_t to, uint32_t number, std::span<const std::byte> data,
            std::atomic<uint32_t> &left) override {
    std::lock_guard lock(network.mutex);
    network.sends.push_back(
        {index, own, to, number, const_cast<std::byte *>(data.data()), data.size(), &left});
  }
  void receive(uint32_t from, uint32_t number, std::span<std::byte> data,
               std::atomic<uint32_t> &left) override {
    std::lock_guard lock(network.mutex);
    network.receives.push_back({index, from, own, number, data.data(), data.size(), &left});
  }
  void progress() override { network.progress(); }
  bool cancel(const std::atomic<uint32_t> &left) noexcept override {
    std::lock_guard lock(network.mutex);
    bool haveEnded = true;
    for (std::vector<End> *ends : {&network.sends, &network.receives})
      for (End &end : *ends)
        if (end.left == &left) {
          end.left = nullptr;
          haveEnded &= !network.keepsGivenUp;
        }
    if (haveEnded)
      for (std::vector<End> *ends : {&network.sends, &network.receives})
        std::erase_if(*ends, [](const End &end) { return end.left == nullptr; });
    return haveEnded;
  }
  bool isIdle() const noexcept override { return openMessages().empty(); }
  uint64_t numMoved() const noexcept override { return network.moved; }
  std::vector<OpenMessage> openMessages() const override {
    std::lock_guard lock(network.mutex);
    std::vector<OpenMessage> open;
    for (const End &end : network.sends)
      if (end.transport == index && end.from == own && end.left)
        open.push_back({end.to, end.number, true, end.size});
    for (const End &end : network.receives)
      if (end.transport == index && end.to == own && end.left)
        open.push_back({end.from, end.number, false, end.size});
    return open;
  }

private:
  Network &network;
  const uint32_t index, own;
};

class Network::Group final : public ProcessGroup {
public:
  Group(Network &network, uint32_t own) : network(network), own(own) {}

  uint32_t process() const override { return own; }
  uint32_t numProcesses() const override { return network.processes; }
  std::shared_ptr<Transport> open() override { return std::make_shared<Member>(network, opened++, own); }

private:
  Network &network;
  const uint32_t own;
  uint32_t opened = 0;
};

std::shared_ptr<ProcessGroup> Network::join(uint32_t process) {
  return std::make_shared<Group>(*this, process);
}

size_t Network::numOpen() {
  std::lock_guard lock(mutex);
  return sends.size() + receives.size();
}

/// Brings the first message that was sent for this receive; whether there is one.
bool Network::deliver(std::vector<End>::iterator receive) {
  auto send = std::ranges::find_if(sends, [&](const End &other) { return areOfOne(other, *receive); });
  if (send == sends.end())
    return false;
  if (send->size != receive->size)
    throw std::logic_error("a message of " + std::to_string(send->size) + " bytes where " +
                           std::to_string(receive->size) + " are expected");
  Fault now = moved == faulty ? std::exchange(fault, Fault::none) : Fault::none;
  if (now == Fault::lose) {
    send->count();
    sends.erase(send);
    return true;
  }
  std::memcpy(receive->data, send->data, send->size);
  receive->count();
  ++moved;
  End sent = *send;
  sends.erase(send);
  if (now == Fault::repeat)
    repeat(sent);
  sent.count(); // its bytes may be overwritten from here on
  receives.erase(receive);
  return true;
}

/// It comes before all that is sent later.
void Network::repeat(const End &send) {
  repeated.emplace_back(send.data, send.data + send.size);
  End again = send;
  again.data = repeated.back().data();
  again.left = nullptr;
  sends.insert(sends.begin(), again);
}

void Network::progress() {
  ++looks;
  std::lock_guard lock(mutex);
  if (receives.empty() || generator() % 4 != 0)
    return;
  size_t first = generator() % receives.size(); // messages of one number come in their order all the same
  for (size_t i = 0; i < receives.size(); ++i) {
    auto receive = receives.begin() + ptrdiff_t((first + i) % receives.size());
    auto isEarlier = [&](const End &other) { return areOfOne(other, *receive); };
    if (deliver(std::ranges::find_if(receives, isEarlier)))
      return;
  }
}

} // namespace epl::runtime::test
