//===- SourceLocation.cpp - The user's line of an op ----------------------===//

#include "passes/emit/SourceLocation.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

/// The frames of a location, the innermost first.
static void collectFrames(Location location, SmallVectorImpl<FileLineColRange> &frames) {
  llvm::TypeSwitch<LocationAttr>(location)
      .Case([&](FileLineColRange range) { frames.push_back(range); })
      .Case([&](NameLoc name) { collectFrames(name.getChildLoc(), frames); })
      .Case([&](CallSiteLoc call) {
        collectFrames(call.getCallee(), frames);
        collectFrames(call.getCaller(), frames);
      })
      .Case([&](FusedLoc fused) {
        for (Location part : fused.getLocations())
          collectFrames(part, frames);
      });
}

/// Whether a frame is in a Python package that is installed, not in the user's own code.
static bool isInPackage(FileLineColRange frame) {
  StringRef file = frame.getFilename().getValue();
  return file.contains("/site-packages/") || file.contains("/dist-packages/");
}

std::string mlir::epl::getSourceLine(Location location) {
  SmallVector<FileLineColRange> frames;
  collectFrames(location, frames);
  if (frames.empty())
    return {};
  auto user = llvm::find_if_not(frames, isInPackage);
  FileLineColRange frame = user == frames.end() ? frames.front() : *user;
  return (frame.getFilename().getValue() + ":" + Twine(frame.getStartLine())).str();
}
