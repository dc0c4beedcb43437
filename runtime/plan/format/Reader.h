// The bytes of plan files to plans. What is read here is well-formed, and no more: ReadVerified.h gives plans
// that are proved.

#ifndef EPL_RUNTIME_PLAN_FORMAT_READER_H
#define EPL_RUNTIME_PLAN_FORMAT_READER_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace epl::runtime {

/// Reads a plan from the bytes of a plan file, without the plan verifier: for tools that show what is wrong
/// with a plan. `name` stands for the bytes in errors. Throws PlanError if they are damaged or of another
/// version.
plan::PlanT parsePlanUnverified(std::span<const uint8_t> bytes, const std::string &name);

/// The bytes of a file. Throws PlanError.
std::vector<uint8_t> readBytes(const std::filesystem::path &path);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_FORMAT_READER_H
