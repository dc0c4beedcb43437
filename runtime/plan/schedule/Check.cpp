#include "runtime/plan/schedule/Check.h"

#include "runtime/plan/format/Error.h"
#include "runtime/plan/format/Report.h"
#include "runtime/plan/schedule/Flow.h"

#include <algorithm>
#include <map>
#include <set>

namespace epl::runtime::schedule {
namespace {

/// Where a unit stands in a table.
struct Place {
  size_t mesh, index;
};

/// Units that cannot be: the first one, where it stands, and how many there are.
struct Strays {
  size_t count = 0;
  Place place = {};
  Unit first = {};

  void add(Unit unit, Place where) {
    if (count++ == 0) {
      first = unit;
      place = where;
    }
  }
};

/// ", and 3 more" behind the first of `count` things; nothing for one.
std::string andMore(size_t count) { return count > 1 ? ", and " + std::to_string(count - 1) + " more" : ""; }

class Checker {
public:
  Checker(const Table &table, uint32_t stages, uint32_t microBatches, const WrittenTable *written = nullptr)
      : table(table), stages(stages), microBatches(microBatches), written(written) {}

  void run() {
    if (table.size() > maxMeshes)
      report.add(inAll(), "the table has ", table.size(), " meshes, expected at most ", maxMeshes,
                 ", as each has devices of its own");
    for (size_t mesh = 0; mesh < table.size(); ++mesh)
      visitLane(mesh);
    reportStrays();
    checkMicroBatches();
    checkStages();
    if (!report.failed())
      checkCircle();
    if (report.failed())
      throw PlanError(report.take());
  }

private:
  /// What a message begins with that is of a word, of a mesh, or of the table as a whole.
  std::string at(Place place) const {
    if (!written)
      return nameOf(place) + ": ";
    return in(place.mesh) + "word " + std::to_string(place.index + 1) + ": ";
  }
  std::string in(size_t mesh) const {
    return written ? written->file + ":" + std::to_string(written->lines[mesh]) + ": " : "";
  }
  std::string inAll() const { return written ? written->file + ": " : ""; }

  /// A place within a message.
  std::string nameOf(Place place) const {
    std::string lane =
        written ? "line " + std::to_string(written->lines[place.mesh]) : "mesh " + std::to_string(place.mesh);
    return lane + ", word " + std::to_string(place.index + 1);
  }

  void visitLane(size_t mesh) {
    if (table[mesh].empty())
      report.add(in(mesh), "mesh ", mesh, " has no unit, expected a stage on each mesh");
    for (size_t index = 0; index < table[mesh].size(); ++index)
      visit(table[mesh][index], {mesh, index});
  }

  void visit(Unit unit, Place place) {
    if (unit.stage >= stages)
      return noStage.add(unit, place);
    if (unit.microBatch >= microBatches)
      return noMicroBatch.add(unit, place);
    if (auto [first, isNew] = places.emplace(unit, place); !isNew) {
      report.add(at(place), toString(unit), " is at ", nameOf(first->second), " already, expected it once");
      return;
    }
    checkMesh(unit, place);
    checkOrder(unit, place);
  }

  void checkMesh(Unit unit, Place place) {
    size_t mesh = meshes.emplace(unit.stage, place.mesh).first->second;
    if (mesh != place.mesh)
      report.add(at(place), toString(unit), " is of a stage that is on mesh ", mesh,
                 ", expected all units of a stage on one mesh");
  }

  void checkOrder(Unit unit, Place place) {
    Unit &last = latest.emplace(std::pair(unit.stage, unit.kind), unit).first->second;
    if (unit < last)
      report.add(at(place), toString(unit), " stands behind ", toString(last),
                 ": sums out of order, expected the micro-batches of a kind to ascend");
    last = std::max(last, unit);
  }

  void reportStrays() {
    if (noStage.count > 0)
      report.add(at(noStage.place), toString(noStage.first), " is of no stage", andMore(noStage.count),
                 ": expected ", stages, " stages on ", table.size(), " meshes");
    if (noMicroBatch.count > 0)
      report.add(at(noMicroBatch.place), toString(noMicroBatch.first), " is of no micro-batch",
                 andMore(noMicroBatch.count), ": expected ", microBatches, " micro-batches");
  }

  /// Of fewer micro-batches than expected it is said once that they are missing.
  void checkMicroBatches() {
    uint32_t found = 0;
    for (const auto &[unit, place] : places)
      found = std::max(found, unit.microBatch + 1);
    if (found < microBatches && found > 0)
      report.add(inAll(), "the table has ", found, " micro-batches, expected ", microBatches);
    microBatches = found;
  }

  void checkStages() {
    uint32_t empty = 0; // the first stage that has no unit
    for (auto [stage, mesh] : meshes) {
      empty += stage == empty;
      checkKinds(stage);
    }
    if (meshes.size() < stages)
      report.add(inAll(), "stage ", empty, " has no unit", andMore(stages - meshes.size()), ": expected ",
                 stages, " stages on ", table.size(), " meshes");
  }

  /// The first unit of each kind that the stage has.
  std::vector<Unit> firstUnits(uint32_t stage) const {
    std::vector<Unit> units;
    for (uint32_t kind = 0; kind < numKinds; ++kind) {
      Unit first = {stage, static_cast<Kind>(kind), 0};
      auto found = places.lower_bound(first);
      if (found != places.end() && found->first.stage == stage && found->first.kind == first.kind)
        units.push_back(found->first);
    }
    return units;
  }

  void checkKinds(uint32_t stage) {
    std::string letters, names;
    std::vector<Unit> units = firstUnits(stage);
    for (Unit unit : units) {
      letters += letterOf(unit.kind);
      names += (names.empty() ? "" : ", ") + toString(unit);
    }
    if (letters == "FB" || letters == "FIW" || (stage == 0 && letters == "FI")) {
      for (Unit unit : units)
        checkMissing(stage, unit.kind);
      return;
    }
    report.add(in(meshes.at(stage)), "stage ", stage, " has kinds ", letters, " (", names,
               "), expected F and B, or F, I and W",
               stage == 0 ? ", or F and I, as it sends no gradient" : "");
  }

  void checkMissing(uint32_t stage, Kind kind) {
    Unit missing = {stage, kind, 0};
    size_t count = 0;
    for (auto at = places.lower_bound(missing);
         at != places.end() && at->first.stage == stage && at->first.kind == kind; ++at, ++count)
      missing.microBatch += at->first == missing;
    if (count < microBatches)
      report.add(in(meshes.at(stage)), toString(missing), " is missing", andMore(microBatches - count),
                 ": stage ", stage, " has ", letterOf(kind), " of ", count, " micro-batches, expected ",
                 microBatches);
  }

  void checkCircle();

  const Table &table;
  uint32_t stages, microBatches;
  const WrittenTable *written; // if the table is of a file
  Report report;
  Strays noStage, noMicroBatch;
  std::map<Unit, Place> places;                     // of units that can be, the first one of each
  std::map<uint32_t, size_t> meshes;                // of each stage, the first one
  std::map<std::pair<uint32_t, Kind>, Unit> latest; // of each stage and kind, the largest yet
};

/// Each lane that does not end stands before a unit that needs one which stands in such a lane as well, at
/// its head or behind it. So from lane to lane there is a way into a circle.
void Checker::checkCircle() {
  Flow flow(table);
  std::vector<size_t> counts = walk(table, flow, [](size_t, Unit) {});
  auto isDone = [&](Unit unit) { return places.at(unit).index < counts[places.at(unit).mesh]; };
  size_t mesh = 0;
  while (mesh < table.size() && counts[mesh] == table[mesh].size())
    ++mesh;
  if (mesh == table.size())
    return;
  std::vector<Unit> way; // of heads and what they need
  std::set<Unit> seen;
  for (Unit head = table[mesh][counts[mesh]]; seen.insert(head).second; head = table[mesh][counts[mesh]]) {
    std::vector<Unit> needs = flow.needs(head);
    Unit need = *std::find_if_not(needs.begin(), needs.end(), isDone);
    mesh = places.at(need).mesh;
    way.push_back(head);
    if (need != table[mesh][counts[mesh]])
      way.push_back(need);
  }
  Unit first = table[mesh][counts[mesh]];
  std::string circle;
  for (auto at = std::find(way.begin(), way.end(), first); at != way.end(); ++at)
    circle += toString(*at) + " -> ";
  report.add(
      inAll(),
      "the step never ends: units wait for each other, each for the next, which it needs or stands behind: ",
      circle, toString(first));
}

} // namespace

void check(const Table &table, uint32_t stages, uint32_t microBatches) {
  Checker(table, stages, microBatches).run();
}

void check(const WrittenTable &written, uint32_t stages, uint32_t microBatches) {
  Checker(written.table, stages, microBatches, &written).run();
}

} // namespace epl::runtime::schedule
