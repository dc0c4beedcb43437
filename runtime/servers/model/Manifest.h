// Manifests as bytes, and the blocks in them. The schema: manifest.fbs.

#ifndef EPL_RUNTIME_SERVERS_MODEL_MANIFEST_H
#define EPL_RUNTIME_SERVERS_MODEL_MANIFEST_H

#include "runtime/plan/format/Hash.h"
#include "runtime/servers/model/manifest_generated.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace epl::runtime::servers {

/// The version of the schema that this library writes and reads.
inline constexpr uint32_t manifestVersion = 4;

/// The bytes of a manifest. Equal manifests give equal bytes; their hash (hashBytes) names the job.
std::vector<uint8_t> serializeManifest(const manifest::ManifestT &manifest);

/// Reads a manifest and verifies it (VerifyManifest.h). `name` stands for the bytes in errors. Throws Error.
manifest::ManifestT parseManifest(std::span<const uint8_t> bytes, const std::string &name);

/// Whether tensors of the type are floats: sums and averages of others are none of what workers mean by them.
bool isFloat(plan::ElementType type);

/// One of the tensors that a push of a block is made of.
struct PushPart {
  plan::ElementType type;
  std::vector<int64_t> shape;
  uint64_t elements;
  uint64_t offset, bytes; ///< in the push
};

/// How many rows of a table its plan updates at once.
inline constexpr uint32_t kRowsAtOnce = 256;

/// The blocks of all parameters of a valid manifest, numbered parameter after parameter; behind them the
/// parts of tables, table after table, of which each server has one. It keeps a reference to the manifest.
class BlockTable {
public:
  explicit BlockTable(const manifest::ManifestT &manifest);

  /// How many blocks parameters have.
  uint32_t size() const { return uint32_t(places.size()); }
  /// How many blocks and parts of tables there are.
  uint32_t total() const { return size() + uint32_t(manifest.tables.size()) * manifest.servers; }

  // Of blocks and parts of tables.

  bool isPart(uint32_t block) const { return block >= size(); }
  uint32_t serverOf(uint32_t block) const;
  /// What it is called in messages: block "w.block0", table "user".
  std::string text(uint32_t block) const;
  /// The blocks and parts of a server, ascending.
  std::vector<uint32_t> allOfServer(uint32_t server) const;

  // Of parts of tables.

  uint32_t servers() const { return manifest.servers; }

  uint32_t partOf(uint32_t table, uint32_t server) const {
    return size() + table * manifest.servers + server;
  }
  uint32_t tableNumber(uint32_t part) const { return (part - size()) / manifest.servers; }
  const manifest::TableT &table(uint32_t part) const { return *manifest.tables[tableNumber(part)]; }

  // Of blocks of parameters.

  const manifest::BlockT &operator[](uint32_t block) const;
  const manifest::ParameterT &parameter(uint32_t block) const;

  uint64_t bytes(uint32_t block) const;
  /// The row of its parameter that the block begins with.
  uint64_t firstRow(uint32_t block) const;
  /// Of what a server has of a state of the parameter: the block's rows of it, or all of it.
  uint64_t stateBytes(uint32_t block, uint32_t state) const;

  /// What a push of the block is made of, in the order of the parameter's pushes: one tensor behind the
  /// other, each at a multiple of 64 bytes, which kernels read as it lies.
  std::vector<PushPart> pushParts(uint32_t block) const;
  uint64_t pushBytes(uint32_t block) const { return places[block].pushBytes; }

  /// The blocks of parameters of a server, ascending; it may have none.
  std::vector<uint32_t> ofServer(uint32_t server) const;

private:
  struct Place {
    uint32_t parameter, index;
    uint64_t pushBytes; ///< asked for with each frame
  };

  const manifest::ManifestT &manifest;
  std::vector<Place> places;
};

/// The shape of what a block has of a state, or of what is pushed: its rows, or all of it.
std::vector<int64_t> shapeIn(const manifest::BlockT &block, const manifest::StateT &state);
std::vector<int64_t> shapeIn(const manifest::BlockT &block, const manifest::PushedT &pushed);

/// The shape that a plan's argument has for something of one row of that shape.
std::vector<int64_t> shapeOfRows(std::span<const int64_t> row);

/// Bytes of a row's value.
uint64_t rowBytes(const manifest::TableT &table);

/// A push of a part of a table: ids, ascending, zeros up to a multiple of 64 bytes, and the rows of their
/// gradients in that order.
struct RowsPush {
  uint64_t rows;
  uint64_t offset; ///< where the gradients begin
  uint64_t bytes;

  static RowsPush of(uint64_t rows, uint64_t rowBytes);
  /// The one that has so many bytes; nothing if none has.
  static std::optional<RowsPush> withBytes(uint64_t bytes, uint64_t rowBytes);
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_MODEL_MANIFEST_H
