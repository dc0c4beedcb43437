// Manifests as bytes, and the blocks in them. The schema: manifest.fbs.

#ifndef EPL_RUNTIME_SERVERS_MODEL_MANIFEST_H
#define EPL_RUNTIME_SERVERS_MODEL_MANIFEST_H

#include "runtime/plan/format/Hash.h"
#include "runtime/servers/model/manifest_generated.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace epl::runtime::servers {

/// The version of the schema that this library writes and reads.
inline constexpr uint32_t manifestVersion = 2;

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

/// The blocks of all parameters of a valid manifest, numbered parameter after parameter. It keeps a reference
/// to the manifest.
class BlockTable {
public:
  explicit BlockTable(const manifest::ManifestT &manifest);

  uint32_t size() const { return uint32_t(places.size()); }
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

  /// The blocks of a server, ascending; it may have none.
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

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_MODEL_MANIFEST_H
