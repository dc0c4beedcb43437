// Server 0 and workers that share in rounds of all-gathers, over a simulated network.

#ifndef EPL_TEST_UNIT_SERVERS_LOGIC_SIMULATEDGATHER_H
#define EPL_TEST_UNIT_SERVERS_LOGIC_SIMULATEDGATHER_H

#include "runtime/servers/logic/GatherServer.h"
#include "runtime/servers/logic/GatherWorker.h"
#include "test/unit/servers/logic/Network.h"

#include <functional>
#include <memory>
#include <string>

namespace epl::runtime::servers::test {

class GatheringServer final : public Process {
public:
  explicit GatheringServer(Network &network) : network(network), logic({}) { tick(); }

  void received(uint64_t stream, const NetworkFrame &frame) override;
  void broke(uint64_t stream) override { act(logic.broke(stream, "reset")); }
  void end(const std::string &error) { act(logic.end(error)); }

private:
  void tick();
  void act(const GatherServer::Actions &actions);

  Network &network;
  GatherServer logic;
};

/// Gives "WORKER/ROUND" to some rounds, after times that are drawn, and notes what comes.
class Sharer final : public Process {
public:
  Sharer(Network &network, GatheringServer &server, uint32_t number, uint32_t workers, uint64_t rounds,
         uint64_t life = 1);

  void received(uint64_t stream, const NetworkFrame &frame) override;
  void broke(uint64_t stream) override;
  /// Gives to no further round.
  void leave();

  /// Of a round, what it is for, and whose part alone is wanted.
  std::function<std::string(uint64_t round)> what = [](uint64_t) { return "a sum"; };
  std::function<int32_t(uint64_t round)> from = [](uint64_t) { return -1; };
  bool leaves = false;           ///< once it is over
  std::vector<std::string> came; ///< of each round: what all have given, or the error
  bool isOver() const { return came.size() == rounds || !logic.error().empty(); }
  /// The number of the round that `came[0]` is of.
  uint64_t first() const { return logic.first().value_or(0); }
  uint64_t life() const { return ownLife; }
  const std::string &error() const { return logic.error(); }

private:
  void tick();
  void act(const GatherServer::Actions &actions);
  void goOn();
  void share();
  void note();

  Network &network;
  GatheringServer &server;
  uint32_t number;
  uint64_t rounds, ownLife;
  GatherWorker logic;
  std::map<uint64_t, uint64_t> links, streams; ///< of the network to the logic's, and back
  bool waits = false, given = false, left = false;
};

} // namespace epl::runtime::servers::test

#endif // EPL_TEST_UNIT_SERVERS_LOGIC_SIMULATEDGATHER_H
