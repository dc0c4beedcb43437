//===- SourceLocation.cpp - The user's line of an op ----------------------===//

#include "passes/emit/SourceLocation.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

/// The first file range on the way in from `location`, or null.
static FileLineColRange findFileRange(Location location) {
  return llvm::TypeSwitch<LocationAttr, FileLineColRange>(location)
      .Case([](FileLineColRange range) { return range; })
      .Case([](NameLoc name) { return findFileRange(name.getChildLoc()); })
      .Case([](CallSiteLoc call) {
        FileLineColRange caller = findFileRange(call.getCaller());
        return caller ? caller : findFileRange(call.getCallee());
      })
      .Case([](FusedLoc fused) {
        for (Location part : fused.getLocations())
          if (FileLineColRange range = findFileRange(part))
            return range;
        return FileLineColRange();
      })
      .Default(FileLineColRange());
}

std::string mlir::epl::getSourceLine(Location location) {
  FileLineColRange range = findFileRange(location);
  return range ? (range.getFilename().getValue() + ":" + Twine(range.getStartLine())).str() : std::string();
}
