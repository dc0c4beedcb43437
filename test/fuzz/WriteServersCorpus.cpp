// Writes the seeds for what parameter servers read: a frame of each kind, manifests of each mode.
//
//   EplWriteServersCorpus FuzzFrames|FuzzManifest FOLDER

#include "test/unit/servers/Manifests.h"
#include "test/unit/servers/protocol/Messages.h"

#include "runtime/plan/format/Writer.h"

#include <filesystem>
#include <string_view>

namespace epl::runtime::servers::test {
namespace {

void writeFrames(const std::filesystem::path &folder) {
  for (const Example &example : exampleMessages()) {
    std::vector<uint8_t> bytes = {uint8_t(example.payloadBytes), uint8_t(example.payloadBytes >> 8)};
    for (std::byte byte : encode(example.message))
      bytes.push_back(uint8_t(byte));
    writeFile(bytes, folder / messageName(example.message));
  }
}

void writeManifests(const std::filesystem::path &folder) {
  for (manifest::Mode mode : manifest::EnumValuesMode()) {
    manifest::ManifestT manifest =
        makeManifest({{"b", {3}}, {"w", {4, 2}}, {"scale", {}}}, {.servers = 2, .minBlockSize = 1}, mode);
    if (mode == manifest::Mode::async)
      addNumber(manifest);
    if (mode == manifest::Mode::sync || mode == manifest::Mode::half_async)
      addTable(manifest, "user", 4);
    writeFile(serializeManifest(manifest), folder / manifest::EnumNameMode(mode));
  }
}

} // namespace
} // namespace epl::runtime::servers::test

int main(int count, char **arguments) {
  using namespace epl::runtime::servers::test;
  if (count != 3)
    return 2;
  if (std::string_view(arguments[1]) == "FuzzFrames")
    writeFrames(arguments[2]);
  else
    writeManifests(arguments[2]);
}
