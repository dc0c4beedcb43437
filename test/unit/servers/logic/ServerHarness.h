// A server's logic with a block or two of one number each, whose frames tests write by hand.

#ifndef EPL_TEST_UNIT_SERVERS_LOGIC_SERVERHARNESS_H
#define EPL_TEST_UNIT_SERVERS_LOGIC_SERVERHARNESS_H

#include "test/unit/servers/Manifests.h"

#include "runtime/servers/logic/ServerLogic.h"

#include <functional>
#include <map>

namespace epl::runtime::servers::test {

/// A manifest of one number, "w".
manifest::ManifestT makeScalar(manifest::Mode mode, uint32_t workers = 2,
                               manifest::OnLost onLost = manifest::OnLost::end_job);

class ServerHarness {
public:
  /// What an update makes of the block, of the sum times the factor, and of the backup.
  using Apply = std::function<float(float value, float gradient, float backup)>;

  explicit ServerHarness(const manifest::ManifestT &manifest, uint32_t server = 0);

  /// A worker opens a stream and says hello; the stream.
  StreamId greet(uint32_t worker, uint64_t life = 1, uint32_t opened = 1);
  /// The same with a change to what it says.
  StreamId greet(const std::function<void(frames::HelloT &)> &change);
  /// Worker 0 greets and sends all, others greet; all, or these, begin in step 0.
  void setUp();
  void setUpOf(const std::vector<uint32_t> &workers);
  void begin(uint32_t worker, uint64_t step);
  void push(uint32_t worker, uint64_t step, uint32_t block, float gradient);
  void pull(uint32_t worker, std::vector<frames::PulledBlock> blocks);
  void leave(uint32_t worker, uint64_t step);
  void receive(StreamId stream, const Message &message, std::span<const std::byte> payload = {});
  /// Ends all updates that run, and those that begin then.
  void finishUpdates();
  /// Time passes, with a heartbeat of these workers each 500 ms.
  void pass(Milliseconds time, const std::vector<uint32_t> &beating = {});
  void act(ServerLogic::Actions actions);

  /// The messages of a kind that a stream has been sent.
  template <typename T> std::vector<T> sent(StreamId stream) const {
    std::vector<T> result;
    if (auto found = frames.find(stream); found != frames.end())
      for (const Message &message : found->second)
        if (auto *body = std::get_if<T>(&message))
          result.push_back(*body);
    return result;
  }
  /// The text of the failure that a stream was sent; empty if none was.
  std::string failure(StreamId stream) const;

  Apply apply = [](float value, float gradient, float) { return value - gradient; };
  Milliseconds now = 1000;
  GatherServer gather;
  ServerLogic logic;
  std::map<uint32_t, StreamId> streams; ///< the last of each worker
  std::map<StreamId, std::vector<Message>> frames;
  std::vector<StreamId> closed;
  std::vector<server_actions::UpdateBlock> updates; ///< all that have begun
  std::vector<server_actions::SendValue> values;    ///< all that were sent
  std::vector<server_actions::SendRows> rows;       ///< all that were sent
  std::vector<int64_t> ids;                         ///< that came last
  std::vector<server_actions::RunTask> tasks;       ///< all that have begun
  std::vector<float> sentNumbers;                   ///< of `values`
  std::vector<SetupItem> items;
  std::map<uint32_t, float> numbers; ///< of blocks
  std::optional<std::string> end;

private:
  void store(const server_actions::StoreGradient &store);
  void update(const server_actions::UpdateBlock &action);

  std::shared_ptr<const Job> job;
  std::vector<uint8_t> bytes;
  uint32_t server;
  StreamId last = 0;
  size_t finished = 0;
  std::map<GradientKey, float> gradients;
  std::map<std::pair<uint32_t, uint32_t>, float> backups;
};

} // namespace epl::runtime::servers::test

#endif // EPL_TEST_UNIT_SERVERS_LOGIC_SERVERHARNESS_H
