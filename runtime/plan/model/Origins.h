// Whose values commands read: the program's dataflow, recorded in the plan and held against it.
//
// Problem: a plan without races computes the same on every run, but is it what the program says? A command
// that reads a state after its update instead of before, or a sum without its last part, breaks no order.
// Method: recordOrigins replays the program before lanes, waits and memory are planned, one command after
// another on buffers that share nothing and for all ranks at once (CaseMap.h), and writes down which commands
// wrote what each operand and each result holds. The verifier meets the same pairs in its own replay of the
// finished plan, or rejects it. Invariant out: no order and no layout that passes the verifier feeds a
// command another value. Reference: A. Pnueli, M. Siegel, E. Singerman, Translation validation, 1998.

#ifndef EPL_RUNTIME_PLAN_MODEL_ORIGINS_H
#define EPL_RUNTIME_PLAN_MODEL_ORIGINS_H

#include "runtime/plan/model/Access.h"

#include <cstdint>
#include <string>
#include <vector>

namespace epl::runtime {

/// Sets the origins of every command and every result. Needs a plan that passes verifyTables.
void recordOrigins(plan::PlanT &plan);

/// Who made a value: a command with one of its outputs, or the caller (-1) with one of its slots.
struct Writer {
  int64_t command;
  uint32_t output;

  bool operator==(const Writer &) const = default;
};

/// The origins that a plan records, ticked off as a replay meets them. Needs origins in ascending order.
class OriginList {
public:
  explicit OriginList(const plan::PlanT &plan);

  /// Whether the plan says that the command reads there what `writer` wrote; ticks it off.
  bool meet(uint32_t command, const Access &read, Writer writer);
  /// The same of a result slot.
  bool meetResult(uint32_t slot, Writer writer);

  bool isMet(uint32_t command, size_t index) const { return commands[command][index]; }
  bool isResultMet(uint32_t slot, size_t index) const { return slots[slot][index]; }

private:
  const plan::PlanT &plan;
  std::vector<std::vector<bool>> commands, slots; // what has been met
};

/// Whether `a` comes before `b` in a list of origins.
bool ascend(const plan::Origin &a, const plan::Origin &b);

/// A writer for people: output 0 of command #3 "add".
std::string writerName(const plan::PlanT &plan, Writer writer);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_ORIGINS_H
