//===- NameStack.cpp - Scopes and phases in the names of locations --------===//
//
// Problem: find the scope and the phase of an op in its location.
// Method: walk the location from the outermost call inwards, which gives the segments of the name stack, and
// scan each by the grammar
//
//   stack     ::= entry ("/" entry)*
//   entry     ::= transform "(" stack? ")" | name
//   transform ::= "jvp" | "transpose" | "vmap"
//
// A name may hold anything, parentheses and "jit(step)" included: whatever is no transform is a name. JAX
// puts a transform round the first name below it only, "transpose(jvp(Dense_0))/epl.s0/mul", so a marker
// counts for all that follows, not only for what it encloses.
//
// Which scope wins: what was traced inside the function that is transposed. A gradient may be taken inside
// another scope ("epl.later/transpose(jvp(epl.a))": a), and a custom rule may enter a scope of its own. So
// scopes within the parentheses of the outermost `transpose` win over those behind it, and these over those
// before.
//
//===----------------------------------------------------------------------===//

#include "passes/annotate/NameStack.h"

#include "dialect/Epl.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::epl;

namespace {
constexpr StringLiteral kScopePrefix = "epl.";
constexpr StringLiteral kRecomputed = "rematted_computation";

/// Where a scope stands with respect to the outermost `transpose`; a later place wins.
enum class Place { before, behind, within };

struct PlacedScope {
  ScopeEntry entry;
  Place place;
};

/// Scans the segments of one stack, outermost first.
class Scanner {
public:
  Scanner(MLIRContext *context, function_ref<bool(StringRef)> isScope) : context(context), isScope(isScope) {}

  /// Scans the names of `loc`; false if it has none.
  bool scan(Location loc);
  NameStack finish() const;

private:
  void scan(StringRef text);
  void closeName(StringRef name);
  void openTransform(StringRef name);
  Place getPlace() const;

  MLIRContext *context;
  function_ref<bool(StringRef)> isScope;
  SmallVector<Attribute> callPath;
  SmallVector<PlacedScope> scopes;
  AutodiffPhase phase = AutodiffPhase::none;
  bool recomputed = false, perMicroBatch = false;
  unsigned depth = 0;                     // open parentheses of transforms
  std::optional<unsigned> transposeDepth; // where the outermost `transpose` opened
  bool transposeClosed = false;
};
} // namespace

void Scanner::scan(StringRef text) {
  depth = 0;
  unsigned nested = 0; // parentheses that belong to a name
  size_t begin = 0;
  auto take = [&](size_t end) { return text.slice(std::exchange(begin, end + 1), end); };
  for (auto [pos, c] : llvm::enumerate(text)) {
    if (c == '/') {
      closeName(take(pos));
      nested = 0;
    } else if (c == '(') {
      StringRef word = text.slice(begin, pos);
      if (nested == 0 && llvm::is_contained({"jvp", "transpose", "vmap"}, word))
        openTransform(take(pos));
      else
        ++nested;
    } else if (c == ')' && nested > 0) {
      --nested;
    } else if (c == ')' && depth > 0) {
      closeName(take(pos));
      --depth;
      transposeClosed |= transposeDepth == depth;
    }
  }
  closeName(text.drop_front(begin));
  transposeClosed |= transposeDepth.has_value();
}

void Scanner::openTransform(StringRef name) {
  if (name != "vmap" && phase == AutodiffPhase::none)
    phase = name == "transpose" ? AutodiffPhase::backward : AutodiffPhase::forward;
  if (name == "transpose" && !transposeDepth)
    transposeDepth = depth;
  ++depth;
}

void Scanner::closeName(StringRef name) {
  recomputed |= name == kRecomputed;
  perMicroBatch |= name == EplDialect::kPerMicroBatchAttr;
  if (name.consume_front(kScopePrefix) && isScope(name))
    scopes.push_back({{name, ArrayAttr::get(context, callPath)}, getPlace()});
}

Place Scanner::getPlace() const {
  if (!transposeDepth)
    return Place::before;
  return transposeClosed ? Place::behind : Place::within;
}

NameStack Scanner::finish() const {
  NameStack stack;
  stack.phase = phase == AutodiffPhase::backward && recomputed ? AutodiffPhase::recompute : phase;
  stack.perMicroBatch = perMicroBatch;
  Place best = Place::before;
  for (const PlacedScope &scope : scopes)
    best = std::max(best, scope.place);
  for (const PlacedScope &scope : scopes)
    if (scope.place == best && !llvm::is_contained(stack.scopes, scope.entry))
      stack.scopes.push_back(scope.entry);
  return stack;
}

/// The lines of the source that a location stands for, below its names.
static LocationAttr getFrames(LocationAttr loc) {
  while (true) {
    if (auto name = dyn_cast<NameLoc>(loc))
      loc = name.getChildLoc();
    else if (auto call = dyn_cast<CallSiteLoc>(loc))
      loc = call.getCallee();
    else
      return loc;
  }
}

/// The outermost call first. The child of a name is the outer part of the stack if it is a name as well;
/// anything else there is frames of the source. Of fused locations the first that has a name speaks for all.
bool Scanner::scan(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc)) {
    if (isa<NameLoc>(name.getChildLoc()))
      scan(name.getChildLoc());
    scan(name.getName().getValue());
    return true;
  }
  if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    bool outer = scan(call.getCaller());
    callPath.push_back(getFrames(call.getCaller()));
    return scan(call.getCallee()) || outer;
  }
  auto fused = dyn_cast<FusedLoc>(loc);
  return fused && llvm::any_of(fused.getLocations(), [&](Location part) { return scan(part); });
}

NameStack mlir::epl::parseNameStack(Location loc, function_ref<bool(StringRef)> isScope) {
  Scanner scanner(loc.getContext(), isScope);
  scanner.scan(loc);
  return scanner.finish();
}

Location mlir::epl::renamePrimitive(Location location, StringRef primitive) {
  MLIRContext *context = location.getContext();
  if (auto name = dyn_cast<NameLoc>(location); name && name.getName().getValue().contains('/'))
    return NameLoc::get(
        StringAttr::get(context, name.getName().getValue().rsplit('/').first + "/" + primitive),
        name.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return CallSiteLoc::get(renamePrimitive(call.getCallee(), primitive), call.getCaller());
  auto fused = dyn_cast<FusedLoc>(location);
  return fused && !fused.getLocations().empty() ? renamePrimitive(fused.getLocations().front(), primitive)
                                                : location;
}
