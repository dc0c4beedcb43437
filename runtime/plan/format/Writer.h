// Plans to bytes and files. The reader's counterpart: Reader.h.

#ifndef EPL_RUNTIME_PLAN_FORMAT_WRITER_H
#define EPL_RUNTIME_PLAN_FORMAT_WRITER_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace epl::runtime {

/// The version of the schema that this library writes and reads.
inline constexpr uint32_t planVersion = 22;

/// The bytes of a plan file. Equal plans give equal bytes.
std::vector<uint8_t> serializePlan(const plan::PlanT &plan);

/// The PlanFile around a finished Plan: the size, its hash, the bytes.
std::vector<uint8_t> sealPlan(std::span<const uint8_t> plan);

/// Writes a file: to a temporary file beside `path` that takes the name once it is on the disk, so that
/// `path` is the old file or the whole new one. Throws PlanError and leaves nothing behind.
void writeFile(std::span<const uint8_t> bytes, const std::filesystem::path &path);

/// Writes a plan file as writeFile does.
void writePlan(const plan::PlanT &plan, const std::filesystem::path &path);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_FORMAT_WRITER_H
