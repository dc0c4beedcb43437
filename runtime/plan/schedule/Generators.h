// Schedules that have a closed form, by name.
//
// References: GPipe: Y. Huang et al., 2019. 1F1B and its interleaved form: D. Narayanan et al., PipeDream,
// 2019, and Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM, 2021,
// section 2.2. ZB-H1: P. Qi et al., Zero Bubble Pipeline Parallelism, 2023. The three that prefer something:
// EPL (Whale), 2022, by the control edges that it adds.

#ifndef EPL_RUNTIME_PLAN_SCHEDULE_GENERATORS_H
#define EPL_RUNTIME_PLAN_SCHEDULE_GENERATORS_H

#include "runtime/plan/schedule/Table.h"

#include <string_view>

namespace epl::runtime::schedule {

struct Shape {
  uint32_t meshes;
  uint32_t stagesPerMesh = 1;
  uint32_t microBatches;
};

/// Most stages x micro-batches of a schedule: no memory holds a plan of as many commands.
inline constexpr uint64_t maxPairs = uint64_t(1) << 20;

struct Generator {
  std::string_view name;        // lower case
  std::string_view description; // for help texts
  bool hasSeveralStages;        // on each mesh; the others have one
  Table (*make)(const Shape &);
};

/// All of them, in the order in which help texts list them.
const std::vector<Generator> &getGenerators();

/// Whether there is a generator of this name, in letters of any case.
bool isGenerator(std::string_view name);

/// The table of a name, in letters of any case. Throws PlanError: an unknown name (with the nearest known
/// one), numbers that the schedule cannot have.
Table generate(std::string_view name, const Shape &shape);

} // namespace epl::runtime::schedule

#endif // EPL_RUNTIME_PLAN_SCHEDULE_GENERATORS_H
