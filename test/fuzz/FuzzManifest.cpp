// Any bytes as a manifest of parameter servers.

#include "runtime/Error.h"
#include "runtime/servers/model/Manifest.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace epl::runtime;
  try {
    servers::manifest::ManifestT manifest = servers::parseManifest({data, size}, "fuzz");
    servers::BlockTable blocks(manifest);
    for (uint32_t block = 0; block < blocks.size(); ++block) {
      if (blocks[block].server >= manifest.servers || blocks.bytes(block) >= uint64_t(1) << 49 ||
          blocks.pushBytes(block) >= uint64_t(1) << 49)
        std::abort();
      for (uint32_t state = 0; state < blocks.parameter(block).states.size(); ++state)
        if (blocks.stateBytes(block, state) >= uint64_t(1) << 49)
          std::abort();
    }
    for (uint32_t part = blocks.size(); part < blocks.total(); ++part)
      if (blocks.serverOf(part) >= manifest.servers || servers::rowBytes(blocks.table(part)) == 0 ||
          servers::rowBytes(blocks.table(part)) >= uint64_t(1) << 25)
        std::abort();
  } catch (const Error &) {
  }
  return 0;
}
