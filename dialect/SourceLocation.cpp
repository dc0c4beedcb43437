//===- SourceLocation.cpp - What users call an op --------------------------===//

#include "dialect/SourceLocation.h"

#include "dialect/Loops.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Path.h"

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

Location mlir::epl::getUserLocation(Location location) {
  SmallVector<FileLineColRange> frames;
  collectFrames(location, frames);
  SmallVector<Location> shown;
  llvm::copy_if(frames, std::back_inserter(shown),
                [](Location frame) { return !isInPackage(cast<FileLineColRange>(LocationAttr(frame))); });
  if (shown.empty() || shown.front() == frames.front())
    return location;
  return shown.size() == 1 ? shown.front()
                           : Location(CallSiteLoc::get(shown.front(), ArrayRef(shown).drop_front()));
}

std::string mlir::epl::getShortSourceLine(Location location) {
  return llvm::sys::path::filename(getSourceLine(location)).str();
}

/// The innermost name of a name stack that ends with a primitive: "jit(step)/jvp(epl.s0)/add".
static StringRef getPrimitive(Location location) {
  if (auto name = dyn_cast<NameLoc>(location))
    if (StringRef stack = name.getName(); stack.contains('/'))
      return stack.rsplit('/').second.rtrim(':');
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return getPrimitive(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(location))
    if (!fused.getLocations().empty())
      return getPrimitive(fused.getLocations().front());
  return {};
}

std::string mlir::epl::getOpName(Operation *op) {
  if (StringRef primitive = getPrimitive(op->getLoc()); !primitive.empty() && !getEdgeLoop(op))
    return primitive.str();
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic)
    return op->getName().stripDialect().str();
  if (linalg::isaContractionOpInterface(generic))
    return "contraction";
  Block &body = *generic.getBody();
  return body.without_terminator().empty() ? "copy"
                                           : std::prev(body.end(), 2)->getName().stripDialect().str();
}

std::string mlir::epl::describeOp(Operation *op) {
  std::string line = getShortSourceLine(op->getLoc());
  return line.empty() ? getOpName(op) : getOpName(op) + " " + line;
}
