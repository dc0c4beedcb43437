// Figures of a plan that reports show.

#ifndef EPL_RUNTIME_PLAN_SUMMARY_H
#define EPL_RUNTIME_PLAN_SUMMARY_H

#include "runtime/plan/plan_generated.h"

#include <cstdint>
#include <string>

namespace epl::runtime {

struct Summary {
  uint32_t devices;
  uint32_t kernels;       // distinct
  uint32_t launches;      // of kernels, in a step of one rank
  uint32_t contractions;  // library calls, in a step of one rank
  uint32_t collectives;   // in a step; an all-reduce counts once
  uint64_t arenaBytes;    // of one rank
  uint64_t stateBytes;    // that one rank keeps between steps
  uint64_t receivedBytes; // by one rank from others in a step, of all branches
  std::string layout;
};

Summary summarize(const plan::PlanT &plan);

/// The spatial axes for people: "cpu:4 = data 2, model 2"; "cpu:1" without axes.
std::string layoutLine(const plan::PlanT &plan);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_SUMMARY_H
