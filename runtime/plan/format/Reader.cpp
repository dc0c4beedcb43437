#include "runtime/plan/format/Reader.h"

#include "runtime/plan/format/Error.h"
#include "runtime/plan/format/Hash.h"
#include "runtime/plan/format/Vectors.h"
#include "runtime/plan/format/Writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace epl::runtime {
namespace {

[[noreturn]] void fail(const std::string &name, const std::string &message) {
  throw PlanError("plan file \"" + name + "\" " + message);
}

/// Checks the frame of a plan file and returns the bytes of the plan in it. The hash comes before anything
/// that depends on the plan's content.
std::span<const uint8_t> openFrame(std::span<const uint8_t> bytes, const std::string &name) {
  constexpr size_t prefix = sizeof(flatbuffers::uoffset_t);
  // Prefix, root offset, identifier.
  if (bytes.size() < 3 * prefix || !plan::SizePrefixedPlanFileBufferHasIdentifier(bytes.data()))
    fail(name, bytes.empty() ? "is empty" : "is not an EPL plan");
  size_t expected = size_t(flatbuffers::GetPrefixedSize(bytes.data())) + prefix;
  if (bytes.size() < expected)
    fail(name, "is truncated: expected " + std::to_string(expected) + " bytes, found " +
                   std::to_string(bytes.size()));
  if (bytes.size() > expected || bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    fail(name, "is too long: expected " + std::to_string(expected) + " bytes, found " +
                   std::to_string(bytes.size()));
  flatbuffers::Verifier frame(bytes.data(), bytes.size());
  if (!plan::VerifySizePrefixedPlanFileBuffer(frame))
    fail(name, "is damaged: its frame is malformed");

  const plan::PlanFile &file = *plan::GetSizePrefixedPlanFile(bytes.data());
  std::span<const uint8_t> content(file.plan()->data(), file.plan()->size());
  Hash128 stored{file.hash_low(), file.hash_high()}, computed = hashBytes(content);
  if (stored != computed)
    fail(name, "has changed since it was written: hash differs, expected " + stored.text() + ", found " +
                   computed.text());
  // Bytes of the frame that the hash does not cover (padding, offsets) have one legal value.
  if (!std::ranges::equal(sealPlan(content), bytes))
    fail(name, "has changed since it was written: its frame is not canonical");
  return content;
}

/// Whether all vectors of eight-byte numbers may be read in place.
bool hasAlignedVectors(const plan::Plan &plan) {
  auto isAlignedShape = [](const auto *action) { return !action || isAligned(action->shape()); };
  auto isAlignedAction = [&](const plan::Command *command) {
    const plan::Contract *contract = command->action_as_Contract();
    const plan::ReduceBlocks *reduce = command->action_as_ReduceBlocks();
    return (!contract || isAligned(contract->batch())) &&
           (!reduce || holdsForAll(reduce->tensors(), isAlignedShape)) &&
           isAlignedShape(command->action_as_ExchangeBlocks()) && isAlignedShape(command->action_as_Send()) &&
           isAlignedShape(command->action_as_Receive());
  };
  auto isAlignedSlot = [](const plan::Slot *slot) {
    return isAligned(slot->shape()) && isAligned(slot->caller_shape()) &&
           holdsForAll(slot->caller_parts(),
                       [](const plan::CallerParts *parts) { return isAligned(parts->extents()); });
  };
  auto isAlignedPart = [](const plan::Part *part) { return hasAlignedVectors(*part->plan()); };
  return holdsForAll(plan.parts(), isAlignedPart) && holdsForAll(plan.slots(), isAlignedSlot) &&
         holdsForAll(plan.kernels(),
                     [](const plan::Kernel *kernel) { return isAligned(kernel->operand_sizes()); }) &&
         holdsForAll(plan.commands(), isAlignedAction);
}

/// Whether the kind of each action is one that this version has: FlatBuffers' verifier lets others pass, and
/// what it reads of them is nothing, which cannot be written again.
bool hasKnownActions(const plan::Plan &plan) {
  auto isKnown = [](const plan::Command *command) {
    return command->action_type() != plan::Action::NONE && command->action_type() <= plan::Action::MAX;
  };
  auto isKnownPart = [](const plan::Part *part) { return hasKnownActions(*part->plan()); };
  return holdsForAll(plan.parts(), isKnownPart) && holdsForAll(plan.commands(), isKnown);
}

/// Whether all of a plan may be read.
bool isWellFormed(std::span<const uint8_t> content) {
  flatbuffers::Verifier verifier(content.data(), content.size(), /*max_depth=*/16, maxTables(content.size()));
  if (!verifier.VerifyBuffer<plan::Plan>(nullptr))
    return false;
  const plan::Plan &plan = *flatbuffers::GetRoot<plan::Plan>(content.data());
  return hasAlignedVectors(plan) && hasKnownActions(plan);
}

} // namespace

plan::PlanT parsePlanUnverified(std::span<const uint8_t> bytes, const std::string &name) {
  // The frame aligns its fields and the plan relative to its own start; a caller's buffer may start anywhere.
  std::vector<uint8_t> file(bytes.begin(), bytes.end());
  std::span<const uint8_t> content = openFrame(file, name);
  if (!isWellFormed(content))
    fail(name, "is damaged: its plan is malformed");
  const plan::Plan &root = *flatbuffers::GetRoot<plan::Plan>(content.data());
  if (root.version() != planVersion)
    fail(name, "has version " + std::to_string(root.version()) + ": expected version " +
                   std::to_string(planVersion));
  plan::PlanT plan;
  root.UnPackTo(&plan);
  return plan;
}

std::vector<uint8_t> readBytes(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  auto check = [&](bool good) {
    if (!good)
      throw PlanError("cannot read \"" + path.string() + "\": " + std::strerror(errno));
  };
  check(file.is_open());
  check(!std::filesystem::is_directory(path) || (errno = EISDIR, false));
  std::vector<uint8_t> bytes(size_t(std::max<std::streamoff>(file.tellg(), 0)));
  file.seekg(0);
  check(bool(file.read(reinterpret_cast<char *>(bytes.data()), std::streamsize(bytes.size()))));
  return bytes;
}

} // namespace epl::runtime
