#include "Search.h"

#include <set>
#include <string>

namespace epl::runtime::schedule::test {
namespace {

/// For each stage how many F, B (or I) and W are done, then for each mesh the stage whose B is half done.
using State = std::string;
constexpr char none = -1;

class Search {
public:
  Search(const Problem &problem, uint32_t end)
      : problem(problem), stages(problem.meshOfStage.size()), meshes(problem.limits.size()),
        microBatches(int(problem.microBatches)), backwardTime(problem.isSplit ? 1 : 2), end(int(end)) {}

  bool run() {
    std::set<State> states = {State(3 * stages, 0) + State(meshes, none)};
    for (now = 0; !states.empty(); ++now) {
      std::set<State> next;
      for (const State &state : states) {
        if (isDone(state))
          return true;
        choose(state, state, 0, next);
      }
      states = std::move(next);
    }
    return false;
  }

private:
  static int forwards(const State &state, size_t stage) { return state[3 * stage]; }
  static int backwards(const State &state, size_t stage) { return state[3 * stage + 1]; }
  static int weights(const State &state, size_t stage) { return state[3 * stage + 2]; }
  char halfDone(const State &state, size_t mesh) const { return state[3 * stages + mesh]; }

  static State increased(State state, size_t count) {
    ++state[count];
    return state;
  }

  State withHalfDone(State state, size_t mesh, char stage) const {
    state[3 * stages + mesh] = stage;
    return state;
  }

  bool isDone(const State &state) const {
    for (size_t stage = 0; stage < stages; ++stage)
      if (timeLeft(state, stage) > 0)
        return false;
    return true;
  }

  int backwardTimeLeft(const State &state, size_t stage) const {
    bool half = halfDone(state, problem.meshOfStage[stage]) == char(stage);
    return backwardTime * (microBatches - backwards(state, stage)) - int(half);
  }

  int timeLeft(const State &state, size_t stage) const {
    int weightTime = problem.isSplit ? microBatches - weights(state, stage) : 0;
    return microBatches - forwards(state, stage) + backwardTimeLeft(state, stage) + weightTime;
  }

  /// Whether a state of the next time can still end: a mesh does its units one by one, and behind the last B
  /// of a stage come those of the stages before.
  bool isInTime(const State &state) const {
    std::vector<int> times(meshes, now + 1);
    for (size_t stage = 0; stage < stages; ++stage) {
      times[problem.meshOfStage[stage]] += timeLeft(state, stage);
      int back = backwardTimeLeft(state, stage);
      if (back > 0 && now + 1 + back + backwardTime * int(stage) > end)
        return false;
    }
    for (int time : times)
      if (time > end)
        return false;
    return true;
  }

  /// All choices of the meshes from `mesh` on, when those before it have made theirs: what `before` allows
  /// leads to `after`.
  void choose(const State &before, const State &after, size_t mesh, std::set<State> &next) const {
    if (mesh == meshes) {
      if (isInTime(after))
        next.insert(after);
      return;
    }
    if (char stage = halfDone(before, mesh); stage != none) {
      State done = increased(after, 3 * size_t(stage) + 1);
      choose(before, withHalfDone(done, mesh, none), mesh + 1, next);
      return;
    }
    choose(before, after, mesh + 1, next);
    for (size_t stage = 0; stage < stages; ++stage)
      if (problem.meshOfStage[stage] == mesh)
        begin(before, after, stage, next);
  }

  /// The choices to begin a unit of a stage.
  void begin(const State &before, const State &after, size_t stage, std::set<State> &next) const {
    size_t mesh = problem.meshOfStage[stage];
    if (canForward(before, stage))
      choose(before, increased(after, 3 * stage), mesh + 1, next);
    if (canBackward(before, stage))
      choose(before,
             problem.isSplit ? increased(after, 3 * stage + 1) : withHalfDone(after, mesh, char(stage)),
             mesh + 1, next);
    if (problem.isSplit && weights(before, stage) < backwards(before, stage))
      choose(before, increased(after, 3 * stage + 2), mesh + 1, next);
  }

  bool canForward(const State &state, size_t stage) const {
    int done = forwards(state, stage);
    return done < microBatches && (stage == 0 || forwards(state, stage - 1) > done) &&
           kept(state, problem.meshOfStage[stage]) < int(problem.limits[problem.meshOfStage[stage]]);
  }

  bool canBackward(const State &state, size_t stage) const {
    int done = backwards(state, stage);
    return forwards(state, stage) > done && (stage + 1 == stages || backwards(state, stage + 1) > done);
  }

  int kept(const State &state, size_t mesh) const {
    int kept = 0;
    for (size_t stage = 0; stage < stages; ++stage)
      if (problem.meshOfStage[stage] == mesh)
        kept += forwards(state, stage) - (problem.isSplit ? weights(state, stage) : backwards(state, stage));
    return kept;
  }

  const Problem &problem;
  size_t stages, meshes;
  int microBatches, backwardTime, end, now = 0;
};

} // namespace

bool canEndBy(const Problem &problem, uint32_t time) { return Search(problem, time).run(); }

} // namespace epl::runtime::schedule::test
