// A schedule as users name it: one of the generators, or a file with a table.

#ifndef EPL_RUNTIME_PLAN_SCHEDULE_SCHEDULE_H
#define EPL_RUNTIME_PLAN_SCHEDULE_SCHEDULE_H

#include "runtime/plan/schedule/Generators.h"

namespace epl::runtime::schedule {

class Schedule {
public:
  /// A name comes before a file that is called so. Throws PlanError: no such name (with the nearest one) and
  /// no such file; a file that cannot be read, or is no table.
  static Schedule of(const std::string &nameOrFile);

  /// In lower case if it is that of a generator.
  const std::string &name() const { return text; }
  /// Whether backward work is in two parts, I and W.
  bool splitsBackward() const;
  /// Whether a generator puts several stages on each mesh.
  bool hasSeveralStages() const;
  /// The mesh of each stage, as a file says it; empty for a generator, whose stages are on meshes in turn.
  std::vector<uint32_t> stageMeshes() const;
  /// The table, checked. Throws PlanError if there is none for these numbers.
  Table make(uint32_t meshes, uint32_t stages, uint32_t microBatches) const;

private:
  std::string text;
  Table table; // of the file; empty for a generator
};

} // namespace epl::runtime::schedule

#endif // EPL_RUNTIME_PLAN_SCHEDULE_SCHEDULE_H
