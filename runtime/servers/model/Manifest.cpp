#include "runtime/servers/model/Manifest.h"

#include "runtime/Error.h"
#include "runtime/plan/format/Quoted.h"
#include "runtime/plan/format/Vectors.h"
#include "runtime/plan/model/Mesh.h"
#include "runtime/servers/model/Slices.h"
#include "runtime/servers/model/VerifyManifest.h"

#include <algorithm>

namespace epl::runtime::servers {
namespace {

bool hasAlignedVectors(const manifest::Parameter *parameter) {
  auto isAlignedShape = [](const auto *table) { return isAligned(table->shape()); };
  return isAlignedShape(parameter) && holdsForAll(parameter->states(), isAlignedShape) &&
         holdsForAll(parameter->blocks(), isAlignedShape);
}

/// Whether all of a manifest may be read.
bool isWellFormed(std::span<const uint8_t> bytes) {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), /*max_depth=*/8, maxTables(bytes.size()));
  return manifest::VerifyManifestBuffer(verifier) &&
         holdsForAll(manifest::GetManifest(bytes.data())->parameters(), hasAlignedVectors);
}

uint64_t bytesOf(std::span<const int64_t> shape, plan::ElementType type) {
  return elementCount(shape) * elementBytes(type);
}

} // namespace

std::vector<uint8_t> serializeManifest(const manifest::ManifestT &manifest) {
  flatbuffers::FlatBufferBuilder builder;
  manifest::FinishManifestBuffer(builder, manifest::Manifest::Pack(builder, &manifest));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

manifest::ManifestT parseManifest(std::span<const uint8_t> bytes, const std::string &name) {
  auto fail = [&](const std::string &message) { throw Error("manifest \"" + name + "\" " + message); };
  // Fields are aligned relative to the first byte; a caller's buffer may start anywhere.
  std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  if (copy.size() >= FLATBUFFERS_MAX_BUFFER_SIZE || !isWellFormed(copy))
    fail("is damaged or none");
  manifest::ManifestT result;
  manifest::GetManifest(copy.data())->UnPackTo(&result);
  if (std::vector<std::string> faults = faultsOf(result); !faults.empty()) {
    std::string text = "is not valid:";
    for (const std::string &fault : faults)
      text += "\n" + fault;
    fail(text);
  }
  // One manifest has one encoding, and so one hash.
  if (!std::ranges::equal(serializeManifest(result), copy))
    fail("is damaged: its encoding is not canonical");
  return result;
}

BlockTable::BlockTable(const manifest::ManifestT &manifest) : manifest(manifest) {
  for (uint32_t parameter = 0; parameter < manifest.parameters.size(); ++parameter)
    for (uint32_t index = 0; index < manifest.parameters[parameter]->blocks.size(); ++index)
      places.push_back({parameter, index});
}

const manifest::BlockT &BlockTable::operator[](uint32_t block) const {
  return *parameter(block).blocks[places[block].index];
}

const manifest::ParameterT &BlockTable::parameter(uint32_t block) const {
  return *manifest.parameters[places[block].parameter];
}

uint64_t BlockTable::bytes(uint32_t block) const {
  return (*this)[block].size * elementBytes(parameter(block).type);
}

uint64_t BlockTable::stateBytes(uint32_t block, uint32_t state) const {
  const manifest::StateT &kept = *parameter(block).states[state];
  return bytesOf(stateShape((*this)[block], kept), kept.type);
}

std::vector<uint32_t> BlockTable::ofServer(uint32_t server) const {
  std::vector<uint32_t> result;
  for (uint32_t block = 0; block < size(); ++block)
    if ((*this)[block].server == server)
      result.push_back(block);
  return result;
}

std::vector<int64_t> stateShape(const manifest::BlockT &block, const manifest::StateT &state) {
  std::vector<int64_t> shape = state.shape;
  if (state.sliced)
    shape[0] = block.shape[0];
  return shape;
}

} // namespace epl::runtime::servers
