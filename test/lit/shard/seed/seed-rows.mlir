// RUN: epl-opt %s -split-input-file -epl-seed-batch -epl-seed-rows | FileCheck %s
// RUN: epl-opt %s -split-input-file -epl-seed-batch -epl-seed-rows -epl-propagate -epl-place -epl-verify-sharded | FileCheck %s --check-prefix=PLACED

#backward = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// 16 rows of 8 elements and their positions are 576 bytes, the sum of a table of 512 rows is twice 16 KiB.
// CHECK-LABEL: func.func @embedding
// CHECK-DAG: %[[ROWS:.*]] = epl.constrain %arg1 to <[{}, {}], whole = {"data"}> {epl.work = #epl.work<@tg0, backward>}
// CHECK-DAG: %[[IDS:.*]] = epl.constrain %arg2 to <[{}], whole = {"data"}> {epl.work = #epl.work<@tg0, backward>}
// CHECK: epl.scatter add %[[ROWS]] into %{{.*}}[%[[IDS]]]
// CHECK-NOT: epl.sharding = [
// PLACED-LABEL: func.func @embedding
// PLACED-DAG: %[[ROWS:.*]] = epl.reshard %arg1 to <@mesh, [{}, {}]>
// PLACED-DAG: %[[IDS:.*]] = epl.reshard %arg2 to <@mesh, [{}]>
// PLACED: %[[GRADIENT:.*]] = epl.scatter add %[[ROWS]] into %{{.*}}[%[[IDS]]] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}, {}]>]
// PLACED-NOT: epl.reshard
// PLACED: return
func.func @embedding(%table: tensor<512x8xf32> {epl.role = "state"},
                     %rows: tensor<16x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                     %ids: tensor<16xi32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<512x8xf32> {epl.updates = 0 : i64}) {
  %zeros = arith.constant {epl.work = #backward} dense<0.0> : tensor<512x8xf32>
  %0 = epl.scatter add %rows into %zeros[%ids] of [0] operand_dims [-1, 1] index_dims [0] {epl.work = #backward}
    : (tensor<16x8xf32>, tensor<512x8xf32>, tensor<16xi32>) -> tensor<512x8xf32>
  %1 = arith.addf %table, %0 {epl.work = #apply} : tensor<512x8xf32>
  return %1 : tensor<512x8xf32>
}

// Positions of any rank.
// CHECK-LABEL: func.func @sequences
// CHECK-DAG: %[[ROWS:.*]] = epl.constrain %arg1 to <[{}, {}, {}], whole = {"data"}>
// CHECK-DAG: %[[IDS:.*]] = epl.constrain %arg2 to <[{}, {}], whole = {"data"}>
// CHECK: epl.scatter add %[[ROWS]] into %{{.*}}[%[[IDS]]]
func.func @sequences(%table: tensor<512x8xf32> {epl.role = "state"},
                     %rows: tensor<4x4x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                     %ids: tensor<4x4xi32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<512x8xf32> {epl.updates = 0 : i64}) {
  %zeros = arith.constant {epl.work = #backward} dense<0.0> : tensor<512x8xf32>
  %0 = epl.scatter add %rows into %zeros[%ids] of [0] operand_dims [-1, 2] index_dims [0, 1] {epl.work = #backward}
    : (tensor<4x4x8xf32>, tensor<512x8xf32>, tensor<4x4xi32>) -> tensor<512x8xf32>
  %1 = arith.addf %table, %0 {epl.work = #apply} : tensor<512x8xf32>
  return %1 : tensor<512x8xf32>
}

// Two scatters of one sum, which stays pending unless both are whole.
// CHECK-LABEL: func.func @read_twice
// CHECK-COUNT-4: epl.constrain {{.*}} whole = {"data"}
// CHECK: return
// PLACED-LABEL: func.func @read_twice
// PLACED-NOT: partial
// PLACED: return
func.func @read_twice(%table: tensor<512x8xf32> {epl.role = "state"},
                      %rows: tensor<16x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                      %ids: tensor<16xi32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                      %others: tensor<16xi32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<512x8xf32> {epl.updates = 0 : i64}) {
  %zeros = arith.constant {epl.work = #backward} dense<0.0> : tensor<512x8xf32>
  %0 = epl.scatter add %rows into %zeros[%ids] of [0] operand_dims [-1, 1] index_dims [0] {epl.work = #backward}
    : (tensor<16x8xf32>, tensor<512x8xf32>, tensor<16xi32>) -> tensor<512x8xf32>
  %1 = epl.scatter add %rows into %zeros[%others] of [0] operand_dims [-1, 1] index_dims [0] {epl.work = #backward}
    : (tensor<16x8xf32>, tensor<512x8xf32>, tensor<16xi32>) -> tensor<512x8xf32>
  %2 = arith.addf %0, %1 {epl.work = #backward} : tensor<512x8xf32>
  %3 = arith.addf %table, %2 {epl.work = #apply} : tensor<512x8xf32>
  return %3 : tensor<512x8xf32>
}

// A part of the gradient on each device, as ZeRO asks for: each adds what of all rows lies in its part.
// CHECK-LABEL: func.func @parts
// CHECK-COUNT-2: epl.constrain {{.*}} whole = {"data"}
// PLACED-LABEL: func.func @parts
// PLACED: epl.scatter add {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}, {}]>]
func.func @parts(%momentum: tensor<512x8xf32> {epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>},
                 %rows: tensor<16x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                 %ids: tensor<16xi32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<512x8xf32> {epl.updates = 0 : i64}) {
  %zeros = arith.constant {epl.work = #backward} dense<0.0> : tensor<512x8xf32>
  %0 = epl.scatter add %rows into %zeros[%ids] of [0] operand_dims [-1, 1] index_dims [0] {epl.work = #backward}
    : (tensor<16x8xf32>, tensor<512x8xf32>, tensor<16xi32>) -> tensor<512x8xf32>
  %1 = arith.addf %momentum, %0 {epl.work = #apply} : tensor<512x8xf32>
  return %1 : tensor<512x8xf32>
}

// Twice as many rows as the table has.
// CHECK-LABEL: func.func @small
// CHECK-NOT: epl.constrain
// CHECK: return
func.func @small(%table: tensor<32x64xf32> {epl.role = "state"},
                 %rows: tensor<64x64xf32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                 %ids: tensor<64xi32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<32x64xf32> {epl.updates = 0 : i64}) {
  %zeros = arith.constant {epl.work = #backward} dense<0.0> : tensor<32x64xf32>
  %0 = epl.scatter add %rows into %zeros[%ids] of [0] operand_dims [-1, 1] index_dims [0] {epl.work = #backward}
    : (tensor<64x64xf32>, tensor<32x64xf32>, tensor<64xi32>) -> tensor<32x64xf32>
  %1 = arith.addf %table, %0 {epl.work = #apply} : tensor<32x64xf32>
  return %1 : tensor<32x64xf32>
}

// The head is the table, too: its gradient is a sum anyway.
// CHECK-LABEL: func.func @tied
// CHECK-NOT: epl.constrain
// CHECK: return
func.func @tied(%table: tensor<512x8xf32> {epl.role = "state"},
                %rows: tensor<16x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                %ids: tensor<16xi32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                %logits: tensor<16x512xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<512x8xf32> {epl.updates = 0 : i64}) {
  %zeros = arith.constant {epl.work = #backward} dense<0.0> : tensor<512x8xf32>
  %0 = epl.scatter add %rows into %zeros[%ids] of [0] operand_dims [-1, 1] index_dims [0] {epl.work = #backward}
    : (tensor<16x8xf32>, tensor<512x8xf32>, tensor<16xi32>) -> tensor<512x8xf32>
  %1 = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%logits, %rows : tensor<16x512xf32>, tensor<16x8xf32>) outs(%zeros : tensor<512x8xf32>) attrs = {epl.work = #backward} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<512x8xf32>
  %2 = arith.addf %0, %1 {epl.work = #backward} : tensor<512x8xf32>
  %3 = arith.addf %table, %2 {epl.work = #apply} : tensor<512x8xf32>
  return %3 : tensor<512x8xf32>
}

// What is there before is no zero, and no sum is pending: rows are gathered anyway, and nothing need say it.
// CHECK-LABEL: func.func @added
// CHECK-NOT: epl.constrain
// CHECK: return
func.func @added(%table: tensor<512x8xf32> {epl.role = "state"},
                 %rows: tensor<16x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                 %ids: tensor<16xi32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<512x8xf32> {epl.updates = 0 : i64}) {
  %0 = epl.scatter add %rows into %table[%ids] of [0] operand_dims [-1, 1] index_dims [0] {epl.work = #apply}
    : (tensor<16x8xf32>, tensor<512x8xf32>, tensor<16xi32>) -> tensor<512x8xf32>
  return %0 : tensor<512x8xf32>
}

// Squares are read of the whole gradient, so that it is complete before them in any case.
// CHECK-LABEL: func.func @squares
// CHECK-COUNT-2: epl.constrain {{.*}} whole = {"data"}
func.func @squares(%table: tensor<512x8xf32> {epl.role = "state"},
                %rows: tensor<16x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64},
                %ids: tensor<16xi32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<512x8xf32> {epl.updates = 0 : i64}) {
  %zeros = arith.constant {epl.work = #backward} dense<0.0> : tensor<512x8xf32>
  %0 = epl.scatter add %rows into %zeros[%ids] of [0] operand_dims [-1, 1] index_dims [0] {epl.work = #backward}
    : (tensor<16x8xf32>, tensor<512x8xf32>, tensor<16xi32>) -> tensor<512x8xf32>
  %1 = arith.mulf %0, %0 {epl.work = #apply} : tensor<512x8xf32>
  %2 = arith.addf %table, %1 {epl.work = #apply} : tensor<512x8xf32>
  return %2 : tensor<512x8xf32>
}
