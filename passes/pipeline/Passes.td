//===- Passes.td - The pipeline phase -----------------------------===//
#ifndef EPL_PIPELINE_PASSES
#define EPL_PIPELINE_PASSES

include "mlir/Pass/PassBase.td"

def FuseCollectivesPass : Pass<"epl-fuse-collectives", "::mlir::ModuleOp"> {
  let summary = "Joins collectives of the same members that nothing has to stand between";
  let description = [{
    Collectives of one kind over the same axes, by the same reduction, with the same owner and under the same guards
    become one of several tensors, at the place of one of them: all that makes its operands stands before it, all that reads its
    results behind it. The tensors of one have together at most `max-bytes` on a device; those of at
    most `small-bytes` are joined beyond that. Both follow from the latency and the bandwidth of the link between
    the devices (`#epl.machine`) where they are not said. Of `max-splits` groups of gradients, k, each has at most a (k - 1)th of the bytes of all of
    them that could be one collective, whatever the machine is like; 1 is one group.

    ```mlir
    %0:2 = epl.task <@tg0, backward> (%x) : ...
    %1 = epl.all_reduce %0#0 : !pending -> !whole
    %2 = epl.all_reduce %0#1 : !pending1 -> !whole1
    %3 = epl.task <@tg0, apply> (%1, %2) : ...
    ```
    ~~>
    ```mlir
    %0:2 = epl.task <@tg0, backward> (%x) : ...
    %1:2 = epl.all_reduce %0#0, %0#1 : !pending, !pending1 -> !whole, !whole1
    %3 = epl.task <@tg0, apply> (%1#0, %1#1) : ...
    ```
  }];
  let options = [
    Option<"maxBytes", "max-bytes", "int64_t", "0", "Of the tensors of one collective; 0: as the machine wants it">,
    Option<"maxSplits", "max-splits", "int64_t", "0",
           "Into how many groups gradients are joined, which then have buckets of their own; 0: as the machine wants it">,
    Option<"broadcasts", "broadcasts", "bool", "true", "Join broadcasts, too">,
    Option<"smallBytes", "small-bytes", "int64_t", "0", "Of a tensor that may always join; 0: as the machine wants it">
  ];
  let dependentDialects = ["EplDialect"];
}

#endif // EPL_PIPELINE_PASSES
