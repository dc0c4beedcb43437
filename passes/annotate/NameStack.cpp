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

/// Part of a name stack that one location contributes, and the frames (file and line) that it stands for.
struct Segment {
  StringRef text;
  Attribute frames;
};

/// Scans the segments of one stack, outermost first.
class Scanner {
public:
  explicit Scanner(function_ref<bool(StringRef)> isScope) : isScope(isScope) {}

  void scan(StringRef text, ArrayAttr callPath);
  NameStack finish() const;

private:
  void closeName(StringRef name, ArrayAttr callPath);
  void openTransform(StringRef name);
  Place getPlace() const;

  function_ref<bool(StringRef)> isScope;
  SmallVector<PlacedScope> scopes;
  AutodiffPhase phase = AutodiffPhase::none;
  bool recomputed = false;
  unsigned depth = 0;                     // open parentheses of transforms
  std::optional<unsigned> transposeDepth; // where the outermost `transpose` opened
  bool transposeClosed = false;
};
} // namespace

void Scanner::scan(StringRef text, ArrayAttr callPath) {
  depth = 0;
  unsigned nested = 0; // parentheses that belong to a name
  size_t begin = 0;
  auto take = [&](size_t end) { return text.slice(std::exchange(begin, end + 1), end); };
  for (auto [pos, c] : llvm::enumerate(text)) {
    if (c == '/') {
      closeName(take(pos), callPath);
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
      closeName(take(pos), callPath);
      --depth;
      transposeClosed |= transposeDepth == depth;
    }
  }
  closeName(text.drop_front(begin), callPath);
  transposeClosed |= transposeDepth.has_value();
}

void Scanner::openTransform(StringRef name) {
  if (name != "vmap" && phase == AutodiffPhase::none) {
    phase = name == "transpose" ? AutodiffPhase::backward : AutodiffPhase::forward;
  }
  if (name == "transpose" && !transposeDepth)
    transposeDepth = depth;
  ++depth;
}

void Scanner::closeName(StringRef name, ArrayAttr callPath) {
  recomputed |= name == kRecomputed;
  if (name.consume_front(kScopePrefix) && isScope(name))
    scopes.push_back({{name, callPath}, getPlace()});
}

Place Scanner::getPlace() const {
  if (!transposeDepth)
    return Place::before;
  return transposeClosed ? Place::behind : Place::within;
}

NameStack Scanner::finish() const {
  NameStack stack;
  stack.phase = phase == AutodiffPhase::backward && recomputed ? AutodiffPhase::recompute : phase;
  Place best = Place::before;
  for (const PlacedScope &scope : scopes)
    best = std::max(best, scope.place);
  for (const PlacedScope &scope : scopes)
    if (scope.place == best && !llvm::is_contained(stack.scopes, scope.entry))
      stack.scopes.push_back(scope.entry);
  return stack;
}

/// Appends the segments of `loc`, outermost call first. Below a name stand the frames of the source, whose
/// function names are no part of the stack. Of fused locations the first that has a name speaks for all.
static void collectSegments(Location loc, SmallVectorImpl<Segment> &segments) {
  if (auto name = dyn_cast<NameLoc>(loc)) {
    segments.push_back({name.getName().getValue(), LocationAttr(name.getChildLoc())});
  } else if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    collectSegments(call.getCaller(), segments);
    collectSegments(call.getCallee(), segments);
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    size_t before = segments.size();
    for (Location part : fused.getLocations())
      if (segments.size() == before)
        collectSegments(part, segments);
  }
}

NameStack mlir::epl::parseNameStack(Location loc, function_ref<bool(StringRef)> isScope) {
  SmallVector<Segment> segments;
  collectSegments(loc, segments);
  Scanner scanner(isScope);
  SmallVector<Attribute> callPath;
  for (const Segment &segment : segments) {
    scanner.scan(segment.text, ArrayAttr::get(loc.getContext(), callPath));
    callPath.push_back(segment.frames);
  }
  return scanner.finish();
}
