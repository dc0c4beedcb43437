//===- Passes.td - Passes of passes/shard/microbatch ----------------------===//
#ifndef EPL_SHARD_MICROBATCH_PASSES
#define EPL_SHARD_MICROBATCH_PASSES

include "mlir/Pass/PassBase.td"

def FormMicroBatchesPass : Pass<"epl-form-micro-batches", "::mlir::ModuleOp"> {
  let summary = "Writes a step as loops over micro-batches";
  let description = [{
    Cuts each batch into `count` micro-batches, which are done one after another: gradients are added up, results
    with samples are joined, and what depends on no sample is done once. What the step computes is the same. A sum
    over the batch that samples read, such as the count of a masked mean, is made in a loop before, if that takes
    at most a sixteenth of the multiply-adds; else it is an error at the reader. Where parameters are updated before
    samples read them, all iterations end before, and there is a loop behind. Of one micro-batch nothing happens.

    A sum over samples of ops with `epl.per_micro_batch` is that of each micro-batch, times `count`, where samples
    read it; a state that is updated by it is carried. The attribute is gone afterwards.

    ```mlir
    func.func @main(%w: tensor<4xf32> {epl.role = "state"},
                    %x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<4xf32> {
      %0 = linalg.generic {... reduction over dimension 0 ...} ins(%x : tensor<8x4xf32>) outs(%zero : tensor<4xf32>)
      %1 = linalg.generic {... %w - %0 ...}
      return %1 : tensor<4xf32>
    }
    ```
    ~~> (count = 2)
    ```mlir
    func.func @main(%w: tensor<4xf32> {epl.role = "state"},
                    %x: tensor<2x4x4xf32> {epl.role = "batch", epl.batch_dim = 1 : i64, epl.caller_shape = array<i64: 8, 4>}) -> tensor<4xf32> {
      %0 = epl.loop_slice <0, trip_count = 2, micro_batches = true> %x : tensor<2x4x4xf32> -> tensor<4x4xf32>
      %1 = linalg.generic {... reduction over dimension 0 ...} ins(%0 : tensor<4x4xf32>) outs(%zero : tensor<4xf32>)
      %2 = epl.loop_carry <0, trip_count = 2, micro_batches = true> 0 %zeros : tensor<4xf32> -> tensor<4xf32>
      %3 = linalg.generic {... %2 + %1 ...}
      %4 = epl.loop_last <0, trip_count = 2, micro_batches = true> 0 %3 : tensor<4xf32>
      %5 = linalg.generic {... %w - %4 ...}
      return %5 : tensor<4xf32>
    }
    ```
  }];
  let options = [Option<"count", "count", "int64_t", "1", "How many micro-batches the batch is cut into.">];
  let dependentDialects = ["EplDialect", "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

#endif // EPL_SHARD_MICROBATCH_PASSES
