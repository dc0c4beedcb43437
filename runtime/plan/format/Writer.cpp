#include "runtime/plan/format/Writer.h"

#include "runtime/plan/format/Error.h"
#include "runtime/plan/format/Hash.h"
#include "runtime/plan/format/TemporaryFile.h"

namespace epl::runtime {
namespace {

std::vector<uint8_t> bytesOf(const flatbuffers::FlatBufferBuilder &builder) {
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

} // namespace

std::vector<uint8_t> sealPlan(std::span<const uint8_t> plan) {
  Hash128 hash = hashBytes(plan);
  flatbuffers::FlatBufferBuilder builder(plan.size() + 128);
  // The plan lies at a multiple of its widest scalar, so that it can be read in place.
  builder.ForceVectorAlignment(plan.size(), 1, alignof(uint64_t));
  auto bytes = builder.CreateVector(plan.data(), plan.size());
  plan::FinishSizePrefixedPlanFileBuffer(builder, plan::CreatePlanFile(builder, hash.low, hash.high, bytes));
  return bytesOf(builder);
}

std::vector<uint8_t> serializePlan(const plan::PlanT &plan) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(plan::Plan::Pack(builder, &plan));
  return sealPlan(bytesOf(builder));
}

void writePlan(const plan::PlanT &plan, const std::filesystem::path &path) {
  writeFile(serializePlan(plan), path);
}

void writeFile(std::span<const uint8_t> bytes, const std::filesystem::path &path) {
  TemporaryFile file(path);
  file.write(bytes);
  file.commit();
}

} // namespace epl::runtime
