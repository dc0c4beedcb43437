// A server of a simulated job: its logic, and tensors of integers.

#ifndef EPL_TEST_UNIT_SERVERS_LOGIC_SIMULATEDSERVER_H
#define EPL_TEST_UNIT_SERVERS_LOGIC_SIMULATEDSERVER_H

#include "test/unit/servers/logic/Network.h"
#include "test/unit/servers/logic/Record.h"

#include "runtime/servers/logic/GatherServer.h"
#include "runtime/servers/logic/ServerLogic.h"

#include <optional>

namespace epl::runtime::servers::test {

/// Bytes of a frame's payload in simulated runs: so few that tensors have several pieces.
inline constexpr uint64_t simulatedPayload = 16;

/// Bytes that come in pieces.
struct Buffer {
  std::vector<std::byte> bytes;

  void store(uint64_t offset, uint64_t total, const Payload &piece);
  Values values() const;
};
std::vector<std::byte> bytesOf(const Values &values);

/// The bytes of plan `index` as worker 0 sends it.
std::vector<std::byte> planBytes(uint32_t index);

/// How many rows a simulated task is done with.
inline uint64_t rowsOfTask(const frames::RunTaskT &task) { return task.block * 1000 + task.unseen; }

class SimulatedServer : public Process {
public:
  SimulatedServer(uint32_t server, const Scenario &scenario, Network &network, Record &record);

  void received(uint64_t stream, const NetworkFrame &frame) override;
  void broke(uint64_t stream) override;
  void stop(Milliseconds length);

  bool hasEnded() const { return logic.hasEnded(); }
  /// Whether the worker has come.
  bool knows(uint32_t worker) const { return gather.presenceOf(worker) == Presence::running; }

private:
  /// What the server has of a block.
  struct Block {
    Values value;
    uint64_t version = 0;
    uint32_t count = 0; ///< the state "count"
    bool updating = false;
    std::map<uint32_t, Values> backups;
  };

  void tick();
  void act(std::vector<ServerAction> actions);
  void act(const GatherServer::Actions &actions);
  void operator()(const server_actions::SendFrame &action);
  void operator()(const server_actions::CloseStream &action);
  void operator()(const server_actions::StoreSetup &action);
  void operator()(const server_actions::LoadJob &action);
  void operator()(const server_actions::StoreGradient &action);
  void operator()(const server_actions::DiscardGradient &action);
  void operator()(const server_actions::UpdateBlock &action);
  void operator()(const server_actions::SendValue &action);
  void operator()(const server_actions::StoreIds &action);
  void operator()(const server_actions::SendRows &action);
  void operator()(const server_actions::RunTask &action);
  void operator()(const server_actions::EndServer &action);
  void send(StreamId stream, uint32_t block, int32_t state, uint64_t version, const Values &value);
  void load();
  void update(const server_actions::UpdateBlock &action);

  uint32_t server;
  const Scenario &scenario;
  Network &network;
  Record &record;
  GatherServer gather;
  ServerLogic logic;
  std::map<std::tuple<int, uint32_t, int32_t>, Buffer> setup;
  std::map<GradientKey, Buffer> gradients;
  std::map<uint32_t, Block> blocks;
  std::map<std::pair<uint32_t, uint32_t>, Buffer> ids; ///< that rows are asked for by: worker and block
};

} // namespace epl::runtime::servers::test

#endif // EPL_TEST_UNIT_SERVERS_LOGIC_SIMULATEDSERVER_H
