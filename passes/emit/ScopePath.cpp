//===- ScopePath.cpp - The named scopes of an op --------------------------===//
//
// Problem: people find "matmul in encoder/Dense_0" faster than the line that all layers share.
// Method: the name stack of a location is "jit(step)/jvp(encoder)/epl.s0/jit(relu)/max": the traced program,
// scopes, transformations round the first scope below them, functions, and the primitive at the end. An op
// that came in with an inlined function has its stack below that of the call. Left over are names of scopes
// and functions; the program itself, EPL's own scopes and the primitive go.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/ScopePath.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace {

/// The entries of a name stack: split at the slashes outside of parentheses.
SmallVector<StringRef> splitStack(StringRef stack) {
  SmallVector<StringRef> entries;
  size_t begin = 0, depth = 0;
  for (auto [position, letter] : llvm::enumerate(stack)) {
    depth += letter == '(';
    depth -= letter == ')' && depth > 0;
    if (letter == '/' && depth == 0)
      entries.push_back(stack.slice(std::exchange(begin, position + 1), position));
  }
  entries.push_back(stack.drop_front(begin));
  return entries;
}

/// Adds the names of an entry: that of a function, those within a transformation.
void addNames(StringRef entry, SmallVectorImpl<StringRef> &path) {
  for (StringRef wrapper : {"jvp(", "transpose(", "vmap(", "jit("})
    if (entry.starts_with(wrapper) && entry.ends_with(")")) {
      for (StringRef name : splitStack(entry.drop_front(wrapper.size()).drop_back()))
        addNames(name, path);
      return;
    }
  bool isOurs = entry.starts_with("epl.s") && llvm::all_of(entry.drop_front(5), llvm::isDigit);
  bool isPrivate = entry.empty() || entry.starts_with("_"); // helpers of a library
  if (!isOurs && !isPrivate && entry != "rematted_computation" && entry != "checkpoint")
    path.push_back(entry);
}

/// The last entry is the function that is called, or a primitive, which is no part of the path.
void addStack(StringRef stack, bool isCall, SmallVectorImpl<StringRef> &path) {
  SmallVector<StringRef> entries = splitStack(stack);
  if (!isCall)
    entries.pop_back();
  if (!entries.empty() && entries.front().starts_with("jit(") && path.empty())
    entries.erase(entries.begin()); // the step itself
  for (StringRef entry : entries)
    addNames(entry, path);
}

void collect(Location location, bool isCall, SmallVectorImpl<StringRef> &path) {
  if (auto name = dyn_cast<NameLoc>(location)) {
    if (isa<NameLoc>(name.getChildLoc()))
      collect(name.getChildLoc(), isCall, path);
    return addStack(name.getName().getValue(), isCall, path);
  }
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    collect(call.getCaller(), /*isCall=*/true, path);
    return collect(call.getCallee(), isCall, path);
  }
  if (auto fused = dyn_cast<FusedLoc>(location))
    if (!fused.getLocations().empty())
      collect(fused.getLocations().front(), isCall, path);
}

} // namespace

std::string mlir::epl::getScopePath(Location location) {
  SmallVector<StringRef> path;
  collect(location, /*isCall=*/false, path);
  path.erase(llvm::unique(path), path.end());
  return llvm::join(path, "/");
}
