// A worker of a simulated job: its logic, and steps that make gradients of integers.

#ifndef EPL_TEST_UNIT_SERVERS_LOGIC_SIMULATEDWORKER_H
#define EPL_TEST_UNIT_SERVERS_LOGIC_SIMULATEDWORKER_H

#include "test/unit/servers/logic/SimulatedServer.h"

#include "runtime/servers/logic/Membership.h"
#include "runtime/servers/logic/WorkerLogic.h"

#include <optional>
#include <set>

namespace epl::runtime::servers::test {

class SimulatedWorker : public Process {
public:
  using Servers = std::vector<std::unique_ptr<SimulatedServer>>;

  SimulatedWorker(uint32_t worker, uint64_t life, const Scenario &scenario, Network &network, Record &record,
                  Servers &servers);

  void opened(uint64_t stream) override;
  void received(uint64_t stream, const NetworkFrame &frame) override;
  void broke(uint64_t stream) override;

  bool hasEnded() const { return endedEarly || (logic && logic->hasEnded()); }
  uint64_t life() const { return ownLife; }
  /// Whether the server has been there.
  bool knows(uint32_t server) const { return known.contains(server); }

private:
  void start();
  void look();
  void tick();
  void beginStep();
  void pullRows();
  void endStep();
  void save();
  void act(std::vector<WorkerAction> actions);
  void act(const Membership::Actions &actions);
  void operator()(const worker_actions::OpenStream &action);
  void operator()(const worker_actions::CloseStream &action);
  void operator()(const worker_actions::SendFrame &action);
  void operator()(const worker_actions::SendSetup &action);
  void operator()(const worker_actions::SendGradient &action);
  void operator()(const worker_actions::SendIds &action);
  void operator()(const worker_actions::MergeGradient &action);
  void operator()(const worker_actions::ReleaseGradient &action);
  void operator()(const worker_actions::BeginSteps &action);
  void operator()(const worker_actions::StoreValue &action);
  void operator()(const worker_actions::HaveValue &action);
  void operator()(const worker_actions::HaveTask &action);
  void operator()(const worker_actions::EndWorker &action);
  void haveOne();
  std::vector<std::byte> itemBytes(const SetupItem &item) const;
  void sendPieces(LinkId link, const Message &head, std::span<const std::byte> bytes);

  uint32_t worker;
  uint64_t ownLife;
  const Scenario &scenario;
  Network &network;
  Record &record;
  Servers &servers;
  Membership membership;
  std::optional<WorkerLogic> logic; ///< once the step is compiled
  std::set<uint32_t> known;         ///< servers
  bool endedEarly = false;          ///< before that
  bool hasBegun = false;
  std::map<uint64_t, uint64_t> memberLinks, memberStreams;   ///< of the network to the membership's, and back
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> streams; ///< of the network, by link
  std::map<uint64_t, LinkId> links;                          ///< and back
  std::map<GradientHandle, Values> gradients;
  GradientHandle lastHandle = 0;
  std::map<uint32_t, Values> ids; ///< asked for in this step, by part of a table
  std::map<std::pair<uint32_t, int32_t>, Buffer> values;
  std::map<uint32_t, uint64_t> versions;
  size_t awaited = 0; ///< values
  uint64_t step = 0;
  bool saving = false;
};

} // namespace epl::runtime::servers::test

#endif // EPL_TEST_UNIT_SERVERS_LOGIC_SIMULATEDWORKER_H
