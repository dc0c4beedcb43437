// A schedule as users name it: one of the generators, or a file with a table.

#ifndef EPL_RUNTIME_PLAN_SCHEDULE_SCHEDULE_H
#define EPL_RUNTIME_PLAN_SCHEDULE_SCHEDULE_H

#include "runtime/plan/schedule/Generators.h"

#include <optional>

namespace epl::runtime::schedule {

class Schedule {
public:
  /// A name comes before a file that is called so. What has a point or a slash, or is there, is a file.
  /// Throws PlanError: no such name (with the nearest one); a file that cannot be read, or is no table.
  static Schedule of(const std::string &nameOrFile);

  /// In lower case if it is that of a generator.
  const std::string &name() const { return text; }
  bool isFile() const { return !written.table.empty(); }
  /// What a file has, and how many meshes; 0 of each for a generator.
  Extents extents() const { return extentsOf(written.table); }
  uint32_t numMeshes() const { return uint32_t(written.table.size()); }
  /// Whether backward work is in two parts, I and W: that of a stage, or of any.
  bool splitsBackward(std::optional<uint32_t> stage = {}) const;
  /// Whether a generator puts several stages on each mesh.
  bool hasSeveralStages() const;
  /// The mesh of each stage, as a file says it; empty for a generator, whose stages are on meshes in turn.
  std::vector<uint32_t> stageMeshes() const;
  /// Throws PlanError if a file's table is none of so many micro-batches, however many stages it has.
  void check(uint32_t microBatches) const;
  /// The table, checked. Throws PlanError if there is none for these numbers.
  Table make(uint32_t meshes, uint32_t stages, uint32_t microBatches) const;

private:
  std::string text;
  WrittenTable written; // of the file; empty for a generator
};

} // namespace epl::runtime::schedule

#endif // EPL_RUNTIME_PLAN_SCHEDULE_SCHEDULE_H
