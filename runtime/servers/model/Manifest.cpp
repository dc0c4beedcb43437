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

constexpr auto isAlignedShape = [](const auto *table) { return isAligned(table->shape()); };

bool hasAlignedVectors(const manifest::Parameter *parameter) {
  return isAlignedShape(parameter) && holdsForAll(parameter->states(), isAlignedShape) &&
         holdsForAll(parameter->pushes(), isAlignedShape) && holdsForAll(parameter->blocks(), isAlignedShape);
}

bool hasAlignedSlots(const manifest::Table *table) { return holdsForAll(table->slots(), isAlignedShape); }

/// Whether all of a manifest may be read.
bool isWellFormed(std::span<const uint8_t> bytes) {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), /*max_depth=*/8, maxTables(bytes.size()));
  if (!manifest::VerifyManifestBuffer(verifier))
    return false;
  const manifest::Manifest *read = manifest::GetManifest(bytes.data());
  return holdsForAll(read->parameters(), hasAlignedVectors) && holdsForAll(read->tables(), hasAlignedSlots);
}

uint64_t bytesOf(std::span<const int64_t> shape, plan::ElementType type) {
  return elementCount(shape) * elementBytes(type);
}

/// Where the tensors of a push begin.
constexpr uint64_t kPushAlignment = 64;

uint64_t aligned(uint64_t bytes) { return (bytes + kPushAlignment - 1) / kPushAlignment * kPushAlignment; }

std::vector<int64_t> shapeIn(const manifest::BlockT &block, std::vector<int64_t> shape, bool sliced) {
  if (sliced)
    shape[0] = block.shape[0];
  return shape;
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

bool isFloat(plan::ElementType type) {
  using enum plan::ElementType;
  return type == f16 || type == bf16 || type == f32 || type == f64;
}

BlockTable::BlockTable(const manifest::ManifestT &manifest) : manifest(manifest) {
  for (uint32_t parameter = 0; parameter < manifest.parameters.size(); ++parameter)
    for (uint32_t index = 0; index < manifest.parameters[parameter]->blocks.size(); ++index) {
      places.push_back({parameter, index, 0});
      PushPart last = pushParts(size() - 1).back();
      places.back().pushBytes = last.offset + last.bytes;
    }
}

const manifest::BlockT &BlockTable::operator[](uint32_t block) const {
  return *parameter(block).blocks[places[block].index];
}

const manifest::ParameterT &BlockTable::parameter(uint32_t block) const {
  return *manifest.parameters[places[block].parameter];
}

uint32_t BlockTable::serverOf(uint32_t block) const {
  return isPart(block) ? (block - size()) % manifest.servers : (*this)[block].server;
}

std::string BlockTable::text(uint32_t block) const {
  return isPart(block) ? "table " + quoted(table(block).name) : "block " + quoted((*this)[block].name);
}

std::vector<uint32_t> BlockTable::allOfServer(uint32_t server) const {
  std::vector<uint32_t> result = ofServer(server);
  for (uint32_t table = 0; table < manifest.tables.size(); ++table)
    result.push_back(partOf(table, server));
  return result;
}

uint64_t BlockTable::bytes(uint32_t block) const {
  return (*this)[block].size * elementBytes(parameter(block).type);
}

uint64_t BlockTable::firstRow(uint32_t block) const {
  uint64_t row = rowElements(parameter(block).shape);
  return row == 0 ? 0 : (*this)[block].begin / row;
}

uint64_t BlockTable::stateBytes(uint32_t block, uint32_t state) const {
  const manifest::StateT &kept = *parameter(block).states[state];
  return bytesOf(shapeIn((*this)[block], kept), kept.type);
}

std::vector<PushPart> BlockTable::pushParts(uint32_t block) const {
  std::vector<PushPart> parts;
  uint64_t next = 0;
  for (const auto &pushed : parameter(block).pushes) {
    std::vector<int64_t> shape = shapeIn((*this)[block], *pushed);
    uint64_t bytes = bytesOf(shape, pushed->type);
    parts.push_back({pushed->type, shape, elementCount(shape), next, bytes});
    next = aligned(next + bytes);
  }
  return parts;
}

std::vector<uint32_t> BlockTable::ofServer(uint32_t server) const {
  std::vector<uint32_t> result;
  for (uint32_t block = 0; block < size(); ++block)
    if ((*this)[block].server == server)
      result.push_back(block);
  return result;
}

std::vector<int64_t> shapeIn(const manifest::BlockT &block, const manifest::StateT &state) {
  return shapeIn(block, state.shape, state.sliced);
}

std::vector<int64_t> shapeIn(const manifest::BlockT &block, const manifest::PushedT &pushed) {
  return shapeIn(block, pushed.shape, pushed.sliced);
}

std::vector<int64_t> shapeOfRows(std::span<const int64_t> row) {
  std::vector<int64_t> shape = {kRowsAtOnce};
  shape.insert(shape.end(), row.begin(), row.end());
  return shape;
}

uint64_t rowBytes(const manifest::TableT &table) { return table.dim * elementBytes(table.type); }

RowsPush RowsPush::of(uint64_t rows, uint64_t rowBytes) {
  uint64_t offset = aligned(rows * sizeof(int64_t));
  return {rows, offset, offset + rows * rowBytes};
}

std::optional<RowsPush> RowsPush::withBytes(uint64_t bytes, uint64_t rowBytes) {
  // Without the zeros it would be as many rows, with them it is some fewer.
  for (uint64_t rows = bytes / (sizeof(int64_t) + rowBytes);; --rows) {
    RowsPush push = of(rows, rowBytes);
    if (push.bytes == bytes)
      return push;
    if (push.bytes < bytes || rows == 0)
      return std::nullopt;
  }
}

} // namespace epl::runtime::servers
