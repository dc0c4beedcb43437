//===- EplDialect.td - The epl dialect ------------------------------------===//
#ifndef EPL_DIALECT
#define EPL_DIALECT

include "mlir/IR/OpBase.td"

def Epl_Dialect : Dialect {
  let name = "epl";
  let cppNamespace = "::mlir::epl";
  let summary = "Parallelization of training steps";
  let description = [{
    A training step for one device goes in, with scopes that say how to parallelize its parts; a local
    program for the devices of a mesh comes out. The dialect has three levels, marked by op traits and
    checked between the phases of the compiler (`dialect/Levels.h`):

    1. *scope*: what users and front ends write: `epl.replicate`, `epl.split`.
    2. *global*: a flat list of ops on global tensors. Each op has its `#epl.work`; shardings, explicit
       `epl.reshard`s and `epl.constrain`s, which users write, say how values are distributed, but types and
       meaning stay those of one device.
    3. *local*: `epl.task`s on local tensors with collectives between them, then kernels.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Argument attribute: "state", "batch" or "constant".
    static constexpr llvm::StringLiteral kRoleAttr = "epl.role";
    /// Argument attribute of a batch, or of what comes by a channel: the dimension that counts samples.
    static constexpr llvm::StringLiteral kBatchDimAttr = "epl.batch_dim";
    /// Argument and result attribute: the name that the user knows it by.
    static constexpr llvm::StringLiteral kNameAttr = "epl.name";
    /// Argument and result attribute: the shape that the caller sees; the program's type has the same elements,
    /// with dimensions of segments or parts taken apart, in the same order but for `epl.caller_parts`.
    static constexpr llvm::StringLiteral kCallerShapeAttr = "epl.caller_shape";
    /// Argument and result attribute: for each dimension of the program's type a list, empty or of the extents of
    /// parts that the caller sees one behind the other in this dimension and the next. These are (shares, extent
    /// of one), and each share has an equal piece of each part, in their order.
    static constexpr llvm::StringLiteral kCallerPartsAttr = "epl.caller_parts";
    /// Argument and result attribute, [first, count]: the value is those of the caller's `count` rows (dimension 0)
    /// that begin with the first.
    static constexpr llvm::StringLiteral kCallerRowsAttr = "epl.caller_rows";
    /// Argument and result attribute (unit): a closed-over array that the front end hoisted; what the front end
    /// reports of a step (values that are printed, checks) beside what the step returns.
    static constexpr llvm::StringLiteral kHiddenAttr = "epl.hidden";
    /// Result attribute: the index of the state argument of which this is the next value.
    static constexpr llvm::StringLiteral kUpdatesAttr = "epl.updates";
    /// Function attribute, where there are several meshes: the one that the function is computed on.
    static constexpr llvm::StringLiteral kMeshAttr = "epl.mesh";
    /// Argument and result attribute of functions that were one, or whose stacks were cut: its position among those
    /// of the caller.
    static constexpr llvm::StringLiteral kPositionAttr = "epl.position";
    /// Argument and result attribute: the number of the channel by which the value comes from the function of
    /// another mesh, or goes to it.
    static constexpr llvm::StringLiteral kChannelAttr = "epl.channel";
    /// Function attribute: the strategy of ops outside every scope.
    static constexpr llvm::StringLiteral kDefaultStrategyAttr = "epl.default_strategy";
    /// Function attribute: what the scope ids in location name stacks mean.
    static constexpr llvm::StringLiteral kScopesAttr = "epl.scopes";
    /// Attribute of every op of a global program: the work that it belongs to.
    static constexpr llvm::StringLiteral kWorkAttr = "epl.work";
    /// Attribute (unit) of ops of a global program: a sum over samples that iterations over micro-batches read is
    /// that of each micro-batch, as the user has said (`epl.per_micro_batch()`). Means nothing to one micro-batch.
    static constexpr llvm::StringLiteral kPerMicroBatchAttr = "epl.per_micro_batch";
    /// Attribute (unit) of ops of a global program: what they make is kept where the rest is computed again, as the
    /// user has said (`epl.checkpoint`). From flatten-scopes to recompute.
    static constexpr llvm::StringLiteral kCheckpointAttr = "epl.checkpoint";
    /// Shardings of an op's results (an array), from propagate to form-tasks, or of an argument, until localize.
    static constexpr llvm::StringLiteral kShardingAttr = "epl.sharding";
    /// Argument attribute, in input: the sharding that the devices hold the argument in already, on a mesh
    /// that is named so for that. A preference: the step has that mesh and that sharding where both are possible.
    static constexpr llvm::StringLiteral kArrivesAttr = "epl.arrives";
    /// Argument attribute of a state, in input, i64: where `epl-assign-owners` gives states to devices, the one that
    /// gets this state and what is updated with it, by its coordinate. Until that pass.
    static constexpr llvm::StringLiteral kOwnerAttr = "epl.owner";
    /// Result attribute, in input: the sharding in which another step wants the value, on a mesh of the module. The
    /// result has that sharding.
    static constexpr llvm::StringLiteral kWantedAttr = "epl.wanted";
    /// Attribute of ops of a global program that is propagated: which factor of the op's rule each axis shards, a
    /// dictionary by the axes' names. An axis that shards none is not in it.
    static constexpr llvm::StringLiteral kFactorsAttr = "epl.factors";
    /// Attribute of reshards, and of the collectives that they become: for people, which tensor moves and which
    /// ops are why, a string.
    static constexpr llvm::StringLiteral kCauseAttr = "epl.cause";
    /// Attribute of tasks, and of ops between them, that are done in a branch only: an array of #epl.guard, all
    /// of which must hold. Where one does not, the op is not done and its results hold nothing.
    static constexpr llvm::StringLiteral kGuardsAttr = "epl.guards";

    /// Module attribute: what its devices can do, an #epl.machine.
    static constexpr llvm::StringLiteral kMachineAttr = "epl.machine";

    void registerAttrs();
    void registerTypes();
  }];
}

// Levels: which phase of the compiler an op lives in (dialect/Levels.h).
class Epl_LevelTrait<string name> : NativeOpTrait<name> {
  let cppNamespace = "::mlir::epl";
}
def Epl_ScopeLevel : Epl_LevelTrait<"ScopeLevel">;
def Epl_GlobalLevel : Epl_LevelTrait<"GlobalLevel">;
def Epl_LocalLevel : Epl_LevelTrait<"LocalLevel">;
def Epl_TaskLevel : Epl_LevelTrait<"TaskLevel">;
def Epl_KernelLevel : Epl_LevelTrait<"KernelLevel">;
def Epl_LoopEdge : Epl_LevelTrait<"LoopEdge">;
def Epl_TensorLevel : Epl_LevelTrait<"TensorLevel">;

class Epl_Op<string mnemonic, list<Trait> traits = []> : Op<Epl_Dialect, mnemonic, traits>;

#endif // EPL_DIALECT
