#include "runtime/plan/schedule/Generators.h"

#include "runtime/plan/format/Error.h"
#include "runtime/plan/format/Quoted.h"

#include <algorithm>

namespace epl::runtime::schedule {

using Lane = std::vector<Unit>;

static Table gpipe(const Shape &shape) {
  Table table(shape.meshes);
  for (uint32_t mesh = 0; mesh < shape.meshes; ++mesh)
    for (Kind kind : {Kind::forward, Kind::backward})
      for (uint32_t i = 0; i < shape.microBatches; ++i)
        table[mesh].push_back({mesh, kind, i});
  return table;
}

/// `ahead` forwards, then a backward and a forward in turn, then the backwards that are left.
static Lane alternate(uint32_t stage, uint32_t microBatches, uint32_t ahead) {
  ahead = std::min(ahead, microBatches);
  Lane lane;
  for (uint32_t i = 0; i < ahead; ++i)
    lane.push_back({stage, Kind::forward, i});
  for (uint32_t i = 0; i < microBatches; ++i) {
    lane.push_back({stage, Kind::backward, i});
    if (ahead + i < microBatches)
      lane.push_back({stage, Kind::forward, ahead + i});
  }
  return lane;
}

static Table oneForwardOneBackward(const Shape &shape) {
  Table table;
  for (uint32_t mesh = 0; mesh < shape.meshes; ++mesh)
    table.push_back(alternate(mesh, shape.microBatches, shape.meshes - mesh));
  return table;
}

/// EPL lets a stage begin one forward more, so that its gradients wait for no backward of the next stage.
static Table preferBackwardOptimizer(const Shape &shape) {
  Table table;
  for (uint32_t mesh = 0; mesh < shape.meshes; ++mesh) {
    bool isLast = mesh + 1 == shape.meshes;
    table.push_back(alternate(mesh, shape.microBatches, isLast ? 1 : shape.meshes - mesh + 1));
  }
  return table;
}

/// 1F1B in which W of a mesh is put off by as many micro-batches as there are meshes before it: so all keep
/// as many activations as there are meshes, which the first one keeps in any case.
static Lane zeroBubbleLane(uint32_t mesh, const Shape &shape) {
  uint32_t count = shape.microBatches, ahead = std::min(count, shape.meshes - mesh);
  Lane lane;
  for (uint32_t i = 0; i < ahead; ++i)
    lane.push_back({mesh, Kind::forward, i});
  for (uint32_t i = 0; i < count; ++i) {
    lane.push_back({mesh, Kind::input, i});
    if (i >= mesh)
      lane.push_back({mesh, Kind::weight, i - mesh});
    if (ahead + i < count)
      lane.push_back({mesh, Kind::forward, ahead + i});
  }
  for (uint32_t i = count - std::min(mesh, count); i < count; ++i)
    lane.push_back({mesh, Kind::weight, i});
  return lane;
}

static Table zeroBubbleH1(const Shape &shape) {
  Table table;
  for (uint32_t mesh = 0; mesh < shape.meshes; ++mesh)
    table.push_back(zeroBubbleLane(mesh, shape));
  return table;
}

/// The n-th unit of a kind on a mesh: groups of micro-batches go through one stage of the mesh after another.
static Unit interleavedUnit(const Shape &shape, uint32_t mesh, Kind kind, uint32_t n) {
  uint32_t perGroup = shape.meshes * shape.stagesPerMesh;
  uint32_t group = n / perGroup, turn = n % perGroup / shape.meshes;
  if (kind == Kind::backward)
    turn = shape.stagesPerMesh - 1 - turn;
  return {turn * shape.meshes + mesh, kind, group * shape.meshes + n % shape.meshes};
}

static Lane interleavedLane(const Shape &shape, uint32_t mesh) {
  uint32_t total = shape.microBatches * shape.stagesPerMesh;
  uint32_t ahead =
      std::min(total, 2 * (shape.meshes - mesh - 1) + (shape.stagesPerMesh - 1) * shape.meshes + 1);
  Lane lane;
  for (uint32_t n = 0; n < ahead; ++n)
    lane.push_back(interleavedUnit(shape, mesh, Kind::forward, n));
  for (uint32_t n = 0; n < total; ++n) {
    lane.push_back(interleavedUnit(shape, mesh, Kind::backward, n));
    if (ahead + n < total)
      lane.push_back(interleavedUnit(shape, mesh, Kind::forward, ahead + n));
  }
  return lane;
}

static Table interleaved(const Shape &shape) {
  if (shape.microBatches % shape.meshes != 0)
    throw PlanError("schedule \"interleaved\" on " + std::to_string(shape.meshes) +
                    " meshes needs a multiple of " + std::to_string(shape.meshes) + " micro-batches, found " +
                    std::to_string(shape.microBatches));
  Table table;
  for (uint32_t mesh = 0; mesh < shape.meshes; ++mesh)
    table.push_back(interleavedLane(shape, mesh));
  return table;
}

const std::vector<Generator> &getGenerators() {
  static const std::vector<Generator> generators = {
      {"gpipe", "all forwards, then all backwards", false, gpipe},
      {"1f1b", "a backward as soon as there is one, and a forward in turn", false, oneForwardOneBackward},
      {"interleaved", "1f1b of several stages on each mesh, for multiples of as many micro-batches as meshes",
       true, interleaved},
      {"zb-h1", "1f1b in which gradients of parameters (W) fill what would be idle", false, zeroBubbleH1},
      {"preferforward", "EPL's name for gpipe", false, gpipe},
      {"preferbackward", "EPL's name for 1f1b", false, oneForwardOneBackward},
      {"preferbackwardoptimizer", "1f1b with a forward more ahead on each mesh but the last", false,
       preferBackwardOptimizer},
  };
  return generators;
}

static std::string toLower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return 'A' <= c && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return lower;
}

/// How much of two names is alike, from 0 to 1: letters of a longest common subsequence, of all.
static double likeness(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1); // of prefixes of b
  for (char letter : a) {
    size_t diagonal = 0;
    for (size_t i = 0; i < b.size(); ++i) {
      size_t longer = letter == b[i] ? diagonal + 1 : std::max(row[i], row[i + 1]);
      diagonal = row[i + 1];
      row[i + 1] = longer;
    }
  }
  return 2 * double(row.back()) / double(a.size() + b.size());
}

[[noreturn]] static void throwUnknown(std::string_view name) {
  const std::vector<Generator> &all = getGenerators();
  std::string lower = toLower(name), known;
  auto nearest = std::max_element(all.begin(), all.end(), [&](const Generator &a, const Generator &b) {
    return likeness(lower, a.name) < likeness(lower, b.name);
  });
  for (const Generator &generator : all)
    known += (known.empty() ? "" : ", ") + std::string(generator.name);
  throw PlanError("unknown schedule " + quoted(std::string(name)) + ", did you mean \"" +
                  std::string(nearest->name) + "\": schedules are " + known);
}

static const Generator *find(std::string_view name) {
  const std::vector<Generator> &all = getGenerators();
  auto found = std::find_if(all.begin(), all.end(), [lower = toLower(name)](const Generator &generator) {
    return generator.name == lower;
  });
  return found == all.end() ? nullptr : &*found;
}

bool isGenerator(std::string_view name) { return find(name) != nullptr; }

/// The names of generators that put several stages on each mesh, or of the others.
static std::string listNames(bool severalStages) {
  std::string names;
  for (const Generator &generator : getGenerators())
    if (generator.hasSeveralStages == severalStages)
      names += (names.empty() ? "" : ", ") + std::string(generator.name);
  return names;
}

static void checkShape(const Generator &generator, const Shape &shape) {
  std::string schedule = "schedule \"" + std::string(generator.name) + "\"";
  uint32_t stages = shape.stagesPerMesh;
  if (shape.meshes == 0 || stages == 0 || shape.microBatches == 0)
    throw PlanError(schedule + " of " + std::to_string(shape.microBatches) + " micro-batches on " +
                    std::to_string(shape.meshes) + " meshes of " + std::to_string(stages) +
                    " stages: expected 1 or more of each");
  if (generator.hasSeveralStages != (stages > 1))
    throw PlanError(schedule + " has " + (generator.hasSeveralStages ? "2 or more stages" : "1 stage") +
                    " on each mesh, found " + std::to_string(stages) + "; those with as many are " +
                    listNames(stages > 1));
  if (shape.meshes > maxMeshes)
    throw PlanError(schedule + " is of " + std::to_string(shape.meshes) + " meshes, expected at most " +
                    std::to_string(maxMeshes) + ", as each has devices of its own");
  if (uint64_t(shape.meshes) * stages > maxPairs ||
      uint64_t(shape.meshes) * stages * shape.microBatches > maxPairs)
    throw PlanError(schedule + " of " + std::to_string(shape.microBatches) + " micro-batches on " +
                    std::to_string(shape.meshes) + " meshes of " + std::to_string(stages) +
                    " stages: expected at most " + std::to_string(maxPairs) + " micro-batches of all stages");
}

Table generate(std::string_view name, const Shape &shape) {
  const Generator *generator = find(name);
  if (generator == nullptr)
    throwUnknown(name);
  checkShape(*generator, shape);
  return generator->make(shape);
}

} // namespace epl::runtime::schedule
