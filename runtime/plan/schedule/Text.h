// Tables as people write them.
//
//     # two stages, two micro-batches
//     s0.F.m0 s0.F.m1 s0.B.m0 s0.B.m1
//     s1.F.m0 s1.B.m0 s1.F.m1 s1.B.m1
//
// A line for each mesh, a word for each unit: stage, kind, micro-batch. `#` begins a comment; lines without a
// unit are none.

#ifndef EPL_RUNTIME_PLAN_SCHEDULE_TEXT_H
#define EPL_RUNTIME_PLAN_SCHEDULE_TEXT_H

#include "runtime/plan/schedule/Table.h"

#include <string_view>

namespace epl::runtime::schedule {

/// `parse` makes the same table of it, if each mesh has a unit.
std::string write(const Table &table);

/// Throws PlanError: for each word that is no unit with `file`, line and word, both counted from 1; if there
/// is none at all. The table is not checked.
WrittenTable parse(std::string_view text, const std::string &file);

/// The table in a file, not checked either. Throws PlanError if it cannot be read, too.
WrittenTable readTable(const std::string &file);

} // namespace epl::runtime::schedule

#endif // EPL_RUNTIME_PLAN_SCHEDULE_TEXT_H
