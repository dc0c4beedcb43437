#include "runtime/device/cuda/collectives/Peers.h"

#include "runtime/Error.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <thread>

namespace epl::runtime::cuda {

/// For another process that is about to do the same.
static constexpr std::chrono::minutes kPatience{5};

static std::span<const std::byte> bytesOf(const std::string &text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

static std::string textOf(const Exchange::Bytes &bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// The same in all processes of a machine; containers may have one name and be different machines.
static std::string nameOfHost() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return std::string(name.data()) + " " + boot;
}

Peers::Peers(const Devices &devices, std::shared_ptr<ProcessGroup> processes)
    : deviceCount(devices.count), division{0, devices.count} {
  if (!processes || processes->numProcesses() == 1)
    return;
  uint32_t count = processes->numProcesses();
  if (devices.count % count != 0)
    throw Error("\"" + devices.str() + "\" are divided among " + std::to_string(count) +
                " processes, expected a number of devices that this divides");
  division = {processes->process(), devices.count / count};
  exchange = std::make_unique<Exchange>(std::move(processes));
  std::string own = nameOfHost();
  std::vector<Exchange::Bytes> hosts = say(bytesOf(own));
  place = uint32_t(std::count_if(hosts.begin(), hosts.begin() + division.own,
                                 [&](const Exchange::Bytes &host) { return textOf(host) == own; }));
}

std::vector<Exchange::Bytes> Peers::say(std::span<const std::byte> own) const {
  if (!exchange)
    return {Exchange::Bytes(own.begin(), own.end())};
  return exchange->exchange(own, kPatience,
                            [] { std::this_thread::sleep_for(std::chrono::microseconds(50)); });
}

void Peers::shareCards(const std::vector<std::string> &own) {
  std::string said;
  for (const std::string &name : own)
    said += name + '\n';
  std::vector<std::string> names; // of each device's card
  for (const Exchange::Bytes &bytes : say(bytesOf(said))) {
    std::string text = textOf(bytes);
    for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
      names.push_back(text.substr(begin, text.find('\n', begin) - begin));
  }
  cards.clear();
  for (const std::string &name : names)
    cards.push_back(uint32_t(std::ranges::find(names, name) - names.begin()));
}

} // namespace epl::runtime::cuda
