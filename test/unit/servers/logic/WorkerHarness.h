// The logic of a worker, for tests that write the frames of its servers by hand.

#ifndef EPL_TEST_UNIT_SERVERS_LOGIC_WORKERHARNESS_H
#define EPL_TEST_UNIT_SERVERS_LOGIC_WORKERHARNESS_H

#include "test/unit/servers/Manifests.h"

#include "runtime/servers/logic/WorkerLogic.h"

#include <map>

namespace epl::runtime::servers::test {

/// A worker with two servers, of which tests write the frames by hand: "a" and "c" are on server 0, "b" on
/// server 1.
class WorkerHarness {
public:
  explicit WorkerHarness(manifest::Mode mode = manifest::Mode::sync, uint32_t number = 1,
                         WorkerOptions options = {})
      : WorkerHarness(makeManifest({{"a", {1}}, {"b", {1}}, {"c", {1}}}, {.servers = 2}, mode, /*workers=*/3),
                      number, options) {}
  /// `manifest`: such a one, changed.
  WorkerHarness(manifest::ManifestT manifest, uint32_t number, WorkerOptions options)
      : job(std::make_shared<Job>(std::move(manifest))) {
    options.worker = number, options.addresses = {"one:6174", "two:6174"};
    options.timing.deadline = 10'000;
    logic = std::make_unique<WorkerLogic>(job, options, now);
    act(logic->tick(now));
  }

  void receive(uint32_t server, const Message &message, std::span<const std::byte> payload = {}) {
    act(logic->received({server, streams[server]}, encode(message), payload, now));
  }

  void welcome(uint32_t server, uint64_t step = 0, bool ready = true) {
    frames::WelcomeT welcome;
    welcome.server = server, welcome.step = step;
    receive(server, welcome);
    if (ready)
      receive(server, frames::ReadyT());
  }

  void begin(uint64_t step = 0) {
    for (uint32_t server : {0, 1})
      welcome(server, step);
  }

  void acknowledge(uint32_t server, uint64_t step, uint32_t block) {
    frames::AcknowledgeT acknowledge;
    acknowledge.step = step, acknowledge.block = block;
    receive(server, acknowledge);
  }

  void answer(uint32_t server, uint32_t block, uint64_t version, size_t bytes = 4) {
    frames::ValueT value;
    value.block = block, value.version = version, value.total = bytes;
    receive(server, value, std::vector<std::byte>(bytes));
  }

  void push(uint64_t step, uint32_t block, GradientHandle gradient) {
    act(logic->push(step, block, gradient));
  }
  void pull(uint64_t step, std::vector<uint32_t> blocks) { act(logic->pull(step, blocks)); }
  void breakStream(uint32_t server) { act(logic->broke({server, streams[server]}, "reset by peer", now)); }

  /// Time passes, with heartbeats of these servers.
  void pass(Milliseconds time, const std::vector<uint32_t> &beating = {0, 1}) {
    for (Milliseconds until = now + time; now < until && !logic->hasEnded();) {
      now += 100;
      for (uint32_t server : beating)
        receive(server, frames::HeartbeatT());
      act(logic->tick(now));
    }
  }

  void act(WorkerLogic::Actions done) {
    for (WorkerAction &action : done) {
      if (auto *open = std::get_if<worker_actions::OpenStream>(&action))
        streams[open->link.server] = open->link.stream;
      if (auto *send = std::get_if<worker_actions::SendFrame>(&action))
        frames[send->link.server].push_back(std::get<Message>(decode(send->head, 0)));
      if (auto *end_ = std::get_if<worker_actions::EndWorker>(&action))
        end = end_->error;
      actions.push_back(std::move(action));
    }
  }

  template <typename T> std::vector<T> done() const { return only<T>(actions); }
  template <typename T> std::vector<T> sent(uint32_t server) const {
    auto found = frames.find(server);
    return found == frames.end() ? std::vector<T>() : only<T>(found->second);
  }
  /// "stream/step/block" of each gradient that was sent.
  std::vector<std::string> pushes() const {
    std::vector<std::string> result;
    for (const worker_actions::SendGradient &send : done<worker_actions::SendGradient>())
      result.push_back(std::to_string(send.link.stream) + "/" + std::to_string(send.step) + "/" +
                       job->blocks[send.block].name);
    return result;
  }

  std::shared_ptr<const Job> job;
  Milliseconds now = 1000;
  std::unique_ptr<WorkerLogic> logic;
  std::map<uint32_t, uint32_t> streams;
  std::map<uint32_t, std::vector<Message>> frames;
  std::vector<WorkerAction> actions;
  std::optional<std::string> end;

private:
  template <typename T, typename Variants> static std::vector<T> only(const Variants &list) {
    std::vector<T> result;
    for (const auto &one : list)
      if (auto *found = std::get_if<T>(&one))
        result.push_back(*found);
    return result;
  }
};

} // namespace epl::runtime::servers::test

#endif // EPL_TEST_UNIT_SERVERS_LOGIC_WORKERHARNESS_H
