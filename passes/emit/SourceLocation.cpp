//===- SourceLocation.cpp - The user's line of an op ----------------------===//

#include "passes/emit/SourceLocation.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

static FileLineColLoc findFileLocation(Location location) {
  return llvm::TypeSwitch<LocationAttr, FileLineColLoc>(location)
      .Case([](FileLineColLoc file) { return file; })
      .Case([](FileLineColRange range) {
        return FileLineColLoc::get(range.getFilename(), range.getStartLine(), range.getStartColumn());
      })
      .Case([](NameLoc name) { return findFileLocation(name.getChildLoc()); })
      .Case([](CallSiteLoc call) {
        FileLineColLoc caller = findFileLocation(call.getCaller());
        return caller ? caller : findFileLocation(call.getCallee());
      })
      .Case([](FusedLoc fused) {
        for (Location part : fused.getLocations())
          if (FileLineColLoc file = findFileLocation(part))
            return file;
        return FileLineColLoc();
      })
      .Default(FileLineColLoc());
}

std::string mlir::epl::getSourceLine(Location location) {
  FileLineColLoc file = findFileLocation(location);
  return file ? (file.getFilename().getValue() + ":" + Twine(file.getLine())).str() : std::string();
}
