//===- FuseCollectives.cpp - Collectives of several tensors ---------------===//
//
// Problem: every collective makes its members wait for each other, and a step has one for each parameter.
// Method: walk the collectives in program order, and keep the last bucket of each kind (op, axes, reduction,
// owner, guards, loop). A collective joins the bucket in one of two places:
//
//   where the bucket stands, if its operands        where it stands itself: the bucket comes down, if
//   are made before:                                nothing that reads the bucket stands in between:
//
//     bucket {a}                                      bucket {a}   ──┐
//     b = all_reduce %b   ──> bucket {a, b}           ...            ▼
//     ...                                             b = all_reduce %b ──> bucket {a, b}
//     use of a                                        use of a
//
// So what depends on a member of a bucket never joins it, and no reader waits for what the program makes
// after the reader. A bucket that comes down is less overlapped with computation, and holds more before its
// first member is read; so its bytes are bounded by what the link moves in its latency. A tensor of a few
// bytes always joins, since the wait is all that it costs (Machine.h). What goes to another mesh is still
// made before what may be made of it there is read (Channels.h). Each element is combined as before, in the
// order of the members.
//   Who says into how many groups gradients are joined (`max-splits`, EPL's `communication.max_splits`) has
// them in buckets of their own, whose bytes follow from that as in EPL: of k groups each has at most a
// (k - 1)th of all, but for single tensors that are larger. Two that follow one another have more than that,
// so that there are at most 2k - 3, and about k - 1 if tensors are small; dependences may make more.
//
// Invariant in and out: level "tasks". Reference: S. Li et al., PyTorch Distributed: Experiences on
// Accelerating Data Parallel Training, 2020 (buckets of gradients).
//
//===----------------------------------------------------------------------===//

#include "dialect/Bytes.h"
#include "dialect/Channels.h"
#include "dialect/Gradients.h"
#include "dialect/Loops.h"
#include "dialect/Machine.h"
#include "dialect/Sharding.h"
#include "passes/pipeline/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-fuse-collectives"

namespace mlir::epl {
#define GEN_PASS_DEF_FUSECOLLECTIVESPASS
#include "passes/pipeline/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numBefore, "Collectives that there were");
ALWAYS_ENABLED_STATISTIC(numAfter, "Collectives that are left");
ALWAYS_ENABLED_STATISTIC(numFusedBytes, "Bytes on a device that collectives of several tensors combine");

/// Bytes of the operands on a device.
static int64_t getOperandBytes(Operation *op) {
  int64_t bytes = 0;
  for (Type type : op->getOperandTypes())
    bytes += getBytes(getLocalType(op, cast<DistType>(type)));
  return bytes;
}

namespace {
/// Collectives that become one. They stand in a row.
struct Bucket {
  SmallVector<Operation *> members;
  int64_t bytes = 0;
};

class Fuser {
public:
  /// What of the pass's options a function needs.
  struct Limits {
    int64_t maxBytes, smallBytes;
    bool broadcasts;
    int64_t maxSplits; ///< of gradients; 0: as the machine wants it
  };

  Fuser(Block &body, Limits limits)
      : body(body), loops(body), channels(cast<FunctionOpInterface>(body.getParentOp())), limits(limits) {}

  void run() {
    SmallVector<Operation *> all;
    for (Operation &op : body)
      if (isa<AllReduceOp, ReduceScatterOp, AllGatherOp, ReduceOp>(op) ||
          (limits.broadcasts && isa<BroadcastOp>(op)))
        all.push_back(&op);
    if (limits.maxSplits > 0)
      findGradients(all);
    llvm::for_each(all, [&](Operation *op) { insert(op); });
    for (const Bucket &bucket : buckets) {
      ++numAfter;
      numBefore += bucket.members.size();
      if (bucket.members.size() == 1)
        continue;
      LDBG() << bucket.members.size() << " of " << bucket.members.front()->getName() << ", " << bucket.bytes
             << " bytes";
      numFusedBytes += bucket.bytes;
      fuse(bucket.members);
    }
  }

private:
  /// Finds the sums of gradients, and how many bytes a bucket of them may have.
  void findGradients(ArrayRef<Operation *> all) {
    DenseMap<Attribute, int64_t> bytes;
    for (Operation *op : all)
      if (completesGradient(op)) {
        gradients.insert(op);
        bytes[getKey(op)] += getOperandBytes(op);
      }
    for (auto [key, total] : bytes)
      gradientBytes[key] =
          limits.maxSplits == 1 ? std::numeric_limits<int64_t>::max() : total / (limits.maxSplits - 1);
  }

  /// Equal for collectives that may be one.
  Attribute getKey(Operation *op) const {
    Builder builder(op->getContext());
    Attribute none = builder.getUnitAttr(), guards = op->getAttr(EplDialect::kGuardsAttr);
    LoopAttr loop = loops.getLoop(op);
    SmallVector<Attribute> key{builder.getStringAttr(op->getName().getStringRef()),
                               cast<DistType>(op->getOperand(0).getType()).getSharding().getMesh(),
                               guards ? guards : none, loop ? Attribute(loop) : none, getOwners(op)};
    if (gradients.contains(op))
      key.push_back(builder.getUnitAttr());
    if (isOfMicroBatches(loop)) // forward and backward work of an iteration is done at different times
      key.push_back(op->getAttr(EplDialect::kWorkAttr));
    llvm::TypeSwitch<Operation *>(op)
        .Case<AllReduceOp, ReduceScatterOp>([&](auto reduce) {
          key.push_back(builder.getStrArrayAttr(reduce.getReducedAxes()));
          key.push_back(builder.getI64IntegerAttr(int64_t(reduce.getReduction())));
        })
        .Case([&](ReduceOp reduce) {
          key.push_back(builder.getI64IntegerAttr(int64_t(reduce.getReduction())));
        })
        .Case([&](AllGatherOp gather) {
          key.push_back(builder.getStrArrayAttr(gather.getGatheredAxes()));
          key.push_back(gather.getDimAttr());
        });
    return builder.getArrayAttr(key);
  }

  /// The owners of what a collective reads and makes.
  static Attribute getOwners(Operation *op) {
    Builder builder(op->getContext());
    auto getOwner = [&](Type type) -> Attribute {
      OwnerAttr owner = cast<DistType>(type).getSharding().getOwner();
      return owner ? Attribute(owner) : builder.getUnitAttr();
    };
    return builder.getArrayAttr({getOwner(op->getOperandTypes()[0]), getOwner(op->getResultTypes()[0])});
  }

  void insert(Operation *op) {
    int64_t bytes = getOperandBytes(op);
    Attribute key = getKey(op);
    auto [last, isFirst] = open.try_emplace(key, buckets.size());
    if (!isFirst && mayJoin(key, bytes, buckets[last->second]) && moveTogether(op, buckets[last->second])) {
      buckets[last->second].members.push_back(op);
      buckets[last->second].bytes += bytes;
      return;
    }
    last->second = buckets.size();
    buckets.push_back({{op}, bytes});
  }

  bool mayJoin(Attribute key, int64_t bytes, const Bucket &bucket) const {
    if (auto most = gradientBytes.find(key); most != gradientBytes.end())
      return bytes <= most->second - bucket.bytes;
    return bytes <= limits.smallBytes || bucket.bytes + bytes <= limits.maxBytes;
  }

  /// Moves `op` or the bucket so that `op` stands right behind it, if the program allows it.
  bool moveTogether(Operation *op, const Bucket &bucket) const {
    if (isReadyAt(op, bucket.members.front())) {
      op->moveAfter(bucket.members.back());
      return true;
    }
    if (!llvm::all_of(bucket.members, [&](Operation *member) { return isReadBehind(member, op); }))
      return false;
    for (Operation *member : bucket.members)
      member->moveBefore(op);
    return true;
  }

  /// Whether all operands of `op` are made before `place`, and what another mesh may make them of.
  bool isReadyAt(Operation *op, Operation *place) const {
    bool isMade = llvm::all_of(op->getOperands(), [&](Value operand) {
      Operation *maker = operand.getDefiningOp();
      return !maker || maker->isBeforeInBlock(place);
    });
    return isMade && isSentBefore(place, op);
  }

  /// Whether all that reads the results of `op`, here or on another mesh, stands behind `place`.
  bool isReadBehind(Operation *op, Operation *place) const {
    return llvm::all_of(op->getUsers(), [&](Operation *user) { return place->isBeforeInBlock(user); }) &&
           isReadAfter(op, place);
  }

  /// Whether nothing from `begin` to `op` makes what goes by a channel before the last that `op` reads.
  bool isSentBefore(Operation *begin, Operation *op) const {
    int64_t read = channels.getLastRead(op);
    return read < 0 || llvm::all_of(
                           llvm::make_range(begin->getIterator(), op->getIterator()),
                           [&](Operation &other) { return channels.getFirstSent(&other) > read; });
  }

  /// Whether nothing behind `op` up to `last` reads what comes by a channel after the first that `op` makes,
  /// or has iterations send by one: who receives these may wait for what `op` makes first.
  bool isReadAfter(Operation *op, Operation *last) const {
    int64_t sent = channels.getFirstSent(op);
    auto sendsLater = [&](Operation &other) {
      return isa<LoopStackOp>(other) && getChannelLoop(other.getResult(0)) &&
             channels.getFirstSent(&other) > sent;
    };
    return llvm::all_of(
        llvm::make_range(op->getIterator(), std::next(last->getIterator())),
        [&](Operation &other) { return channels.getLastRead(&other) < sent && !sendsLater(other); });
  }

  /// What all members have, and the causes of each.
  static DictionaryAttr getAttributes(ArrayRef<Operation *> members) {
    SetVector<StringRef> causes;
    NamedAttrList attributes(members.front()->getDiscardableAttrDictionary());
    for (Operation *member : members) {
      if (auto cause = member->getAttrOfType<StringAttr>(EplDialect::kCauseAttr))
        causes.insert(cause.getValue());
      if (member->getAttr(EplDialect::kWorkAttr) != attributes.get(EplDialect::kWorkAttr))
        attributes.erase(EplDialect::kWorkAttr);
    }
    MLIRContext *context = members.front()->getContext();
    if (!causes.empty())
      attributes.set(EplDialect::kCauseAttr, StringAttr::get(context, llvm::join(causes, " + ")));
    return attributes.getDictionary(context);
  }

  static void fuse(ArrayRef<Operation *> members) {
    SmallVector<Value> operands, results;
    SmallVector<Location> locations;
    for (Operation *member : members) {
      llvm::append_range(operands, member->getOperands());
      llvm::append_range(results, member->getResults());
      locations.push_back(member->getLoc());
    }
    OpBuilder builder(members.front());
    OperationState state(builder.getFusedLoc(locations), members.front()->getName(), operands,
                         TypeRange(ValueRange(results)));
    state.propertiesAttr = members.front()->getPropertiesAsAttribute();
    state.addAttributes(getAttributes(members).getValue());
    Operation *fused = builder.create(state);
    for (auto [old, result] : llvm::zip_equal(results, fused->getResults()))
      old.replaceAllUsesWith(result);
    llvm::for_each(members, [](Operation *member) { member->erase(); });
  }

  Block &body;
  Loops loops;
  ChannelUses channels;
  Limits limits;
  std::vector<Bucket> buckets;
  DenseMap<Attribute, size_t> open;           ///< the last bucket of each key
  DenseSet<Operation *> gradients;            ///< sums of them, if their groups are counted
  DenseMap<Attribute, int64_t> gradientBytes; ///< what a bucket of theirs may have, by key
};

struct FuseCollectivesPass : epl::impl::FuseCollectivesPassBase<FuseCollectivesPass> {
  using FuseCollectivesPassBase::FuseCollectivesPassBase;

  void runOnOperation() override {
    MachineAttr machine = getMachine(getOperation());
    int64_t most = maxBytes > 0 ? int64_t(maxBytes) : getLargestBucketBytes(machine);
    int64_t small = smallBytes > 0 ? int64_t(smallBytes) : getSmallBytes(machine);
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        Fuser(function.front(), {most, small, broadcasts, maxSplits}).run();
  }
};
} // namespace
