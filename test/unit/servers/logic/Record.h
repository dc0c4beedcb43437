// What a simulated run has done, and which rules it has broken.

#ifndef EPL_TEST_UNIT_SERVERS_LOGIC_RECORD_H
#define EPL_TEST_UNIT_SERVERS_LOGIC_RECORD_H

#include "test/unit/servers/logic/Scenario.h"

#include "runtime/servers/logic/ServerActions.h"

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace epl::runtime::servers::test {

/// Elements of a block. Sums wrap, so that every order of them is the same.
using Values = std::vector<uint32_t>;

void addTo(Values &sum, const Values &values);
/// The gradient of a block that a worker has in a step of a life; of a part of a table as many bytes as a
/// push of some rows has.
Values gradientOf(const Scenario &scenario, uint32_t worker, uint64_t life, uint64_t step, uint32_t block);
/// Of a part of a table: nothing.
Values initialOf(const Scenario &scenario, uint32_t block);
/// The rows of ids, of a part of a table that has a value: others for all other ids and values.
Values rowsOf(const Scenario &scenario, uint32_t block, const Values &value, const Values &ids);

class Record {
public:
  explicit Record(const Scenario &scenario);

  /// A rule is broken.
  template <typename... Parts> void fault(const Parts &...parts) {
    std::ostringstream text;
    (text << ... << parts);
    if (faults.size() < 10)
      faults.push_back(text.str());
  }

  /// A worker has made a gradient, which may be merged before it is sent.
  void pushed(uint32_t worker, uint64_t life, uint32_t block, const Values &gradient);
  /// A server has updated a block to a version with these.
  void updated(uint32_t block, uint64_t version, const std::vector<GradientKey> &keys,
               const std::vector<Values> &gradients, double factor, const Values &value);
  /// A worker has got a value for a step.
  void got(uint32_t worker, uint64_t step, uint32_t block, uint64_t version, const Values &value);
  /// The same of the rows of ids.
  void gotRows(uint32_t worker, uint64_t step, uint32_t block, uint64_t version, const Values &rows,
               const Values &ids);
  /// A server has done a task for a life of a worker.
  void ranTask(uint32_t worker, uint64_t life, const frames::RunTaskT &task);
  void begun(uint32_t worker, uint64_t life, uint64_t step);
  /// A process has ended; without an error: its work is done. `stopped`: it has stood still for a while.
  void workerEnded(uint32_t worker, uint64_t life, uint64_t step, bool stopped, const std::string &error);
  void serverEnded(uint32_t server, const std::string &error);

  /// Looks at all of it once the run is over.
  void conclude();

  std::vector<std::string> faults;

private:
  using Life = std::pair<uint32_t, uint64_t>;
  struct Span {
    uint64_t first, end;
  };

  bool hasVersion(uint32_t worker, uint64_t step, uint32_t block, uint64_t version);
  bool mayEnd(uint64_t life, bool stopped) const;
  void checkSync(uint32_t block, uint64_t version, const std::vector<GradientKey> &keys,
                 const std::vector<Values> &gradients, double factor);
  void checkSums(const Life &life);
  void checkSteps(const Life &life, const Span &span);
  void checkLoop(uint32_t block);

  const Scenario &scenario;
  std::set<GradientKey> applied;
  std::set<std::tuple<uint32_t, uint64_t, uint64_t>> tasks;         ///< worker, life, number
  bool serversDone = false;                                         ///< at least one
  std::map<std::pair<Life, uint32_t>, Values> made, added;          ///< sums of a life, by block
  std::vector<std::vector<Values>> history;                         ///< by block and version
  std::vector<std::map<uint64_t, std::set<uint32_t>>> contributors; ///< by block and step
  std::map<Life, uint64_t> firstSteps;
  std::map<Life, Span> done; ///< lives that have said goodbye, with their steps
};

} // namespace epl::runtime::servers::test

#endif // EPL_TEST_UNIT_SERVERS_LOGIC_RECORD_H
