// The machine code of a plan, by kind.

#ifndef EPL_RUNTIME_PLAN_MODEL_IMAGES_H
#define EPL_RUNTIME_PLAN_MODEL_IMAGES_H

#include "runtime/plan/format/plan_generated.h"

#include <string>
#include <vector>

namespace epl::runtime {

/// The first image of a kind; null if there is none.
inline const plan::ImageT *findImage(const plan::PlanT &plan, plan::ImageKind kind) {
  for (const auto &image : plan.images)
    if (image->kind == kind)
      return image.get();
  return nullptr;
}

/// The CPU features that the code of a plan needs.
inline std::vector<std::string> cpuFeaturesOf(const plan::PlanT &plan) {
  const plan::ImageT *image = findImage(plan, plan::ImageKind::elf);
  return image ? image->features : std::vector<std::string>();
}

/// The entry of a phase of a kernel that a GPU runs.
inline std::string symbolOfPhase(const plan::KernelT &kernel, size_t phase) {
  return phase == 0 ? kernel.symbol : kernel.symbol + "$" + std::to_string(phase);
}

/// The entry for a list of launches of that phase; what only one launch runs has none.
inline std::string symbolOfList(const plan::KernelT &kernel, size_t phase) {
  return symbolOfPhase(kernel, phase) + "$list";
}

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_IMAGES_H
