// A pipeline's schedule as data: which units each mesh does, and in which order.
//
// Problem: schedules of pipelines differ in nothing but the order of the same work, and there are many of
// them. Method: a table says that order and no more. A unit is what a stage does for one micro-batch in one
// direction; a mesh does the units of its lane one after another, each as soon as those that it waits for by
// data flow have ended (Flow.h). Stages count along the model; the table says which mesh has which. So a
// schedule is made by any means (Generators.h, a file by Text.h), and what reads it knows no names of
// schedules.
// Reference: PyTorch's pipelining and DeepSeek-V3 (2024) write schedules as such tables.

#ifndef EPL_RUNTIME_PLAN_SCHEDULE_TABLE_H
#define EPL_RUNTIME_PLAN_SCHEDULE_TABLE_H

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace epl::runtime::schedule {

/// F, B, I and W in text. `backward` is all of a stage's backward work; or it is in two: `input` is what the
/// gradient that the stage sends back needs, `weight` the rest. A stage that sends none may do all of it in
/// `input`.
enum class Kind : uint8_t { forward, backward, input, weight };
inline constexpr std::string_view kindLetters = "FBIW";
inline constexpr uint32_t numKinds = kindLetters.size();

/// As many as there may be devices.
inline constexpr uint32_t maxMeshes = 1024;

struct Unit {
  uint32_t stage;
  Kind kind;
  uint32_t microBatch;

  auto operator<=>(const Unit &) const = default;
};

/// A lane for each mesh: its units in the order in which it does them.
using Table = std::vector<std::vector<Unit>>;

/// A table of a file, and where it is written there.
struct WrittenTable {
  Table table;
  std::string file;
  std::vector<size_t> lines = {}; // of each mesh, counted from 1
};

/// How many stages and micro-batches a table must have if it is whole: one more than the largest numbers.
struct Extents {
  uint32_t stages = 0, microBatches = 0;
};
Extents extentsOf(const Table &table);

char letterOf(Kind kind);

/// s0.F.m0
std::string toString(Unit unit);

} // namespace epl::runtime::schedule

#endif // EPL_RUNTIME_PLAN_SCHEDULE_TABLE_H
