// Figures of a plan that reports show.

#ifndef EPL_RUNTIME_PLAN_MODEL_SUMMARY_H
#define EPL_RUNTIME_PLAN_MODEL_SUMMARY_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>
#include <string>

namespace epl::runtime {

/// Of a plan with parts: counts of all of them, bytes of the rank that has most.
struct Summary {
  uint32_t devices;
  uint32_t kernels = 0;       // distinct
  uint32_t launches = 0;      // of kernels, in a step of one rank
  uint32_t contractions = 0;  // library calls, in a step of one rank
  uint32_t collectives = 0;   // in a step; an all-reduce counts once
  uint32_t transfers = 0;     // between parts, in a step
  uint64_t arenaBytes = 0;    // of one rank
  uint64_t stateBytes = 0;    // that one rank keeps between steps
  uint64_t hostBytes = 0;     // of these, those in memory of the host, whence devices copy them
  uint64_t receivedBytes = 0; // by one rank from others in a step, of all branches
  std::string layout;
};

Summary summarize(const plan::PlanT &plan);

/// The devices that a plan runs on, as Devices::parse takes them: "cpu:4"; with the nodes where the plan's
/// order of devices depends on them.
std::string devicesText(const plan::PlanT &plan);

/// The axes for people: "cpu:4 = data 2, model 2"; "cpu:3 = [data 1] + [data 1, model 2]" of two
/// parts; "cpu:1" without axes.
std::string layoutLine(const plan::PlanT &plan);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_SUMMARY_H
