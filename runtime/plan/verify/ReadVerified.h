// Plan files to plans that can run. Nothing is trusted: whatever the bytes are, the result is a verified plan
// or a PlanError that names the file, what was expected and what was found.

#ifndef EPL_RUNTIME_PLAN_VERIFY_READ_VERIFIED_H
#define EPL_RUNTIME_PLAN_VERIFY_READ_VERIFIED_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace epl::runtime {

/// Reads a plan from the bytes of a plan file and verifies it (Verifier.h). `name` stands for the bytes in
/// errors. Throws PlanError.
plan::PlanT parsePlan(std::span<const uint8_t> bytes, const std::string &name);

/// Reads and verifies a plan file. Throws PlanError.
plan::PlanT readPlan(const std::filesystem::path &path);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_VERIFY_READ_VERIFIED_H
