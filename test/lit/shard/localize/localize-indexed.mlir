// RUN: epl-opt %s -split-input-file -epl-propagate -epl-place -epl-verify-sharded -epl-localize -epl-verify-local \
// RUN:   | FileCheck %s

#rows = #epl.sharding<@mesh, [{"model"}, {}]>
#fwd = #epl.work<@tg0, forward>

epl.mesh @mesh axes ["data"=2, "model"=4]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// A table split by rows: each rank reads at positions that are moved into the whole table first, counts them from
// its first row, and keeps what lies in its part. The sum has every row.
// CHECK-LABEL: func.func @gather
// CHECK-DAG: %[[RANK:.*]] = epl.axis_index @mesh "model"
// CHECK-DAG: %[[TABLE:.*]] = epl.to_local {{.*}} -> tensor<16x8xf32>
// CHECK-DAG: %[[TOKENS:.*]] = epl.to_local {{.*}} -> tensor<2x3xi32>
// CHECK: %[[AT:.*]] = linalg.generic {{.*}} ins(%[[TOKENS]] : tensor<2x3xi32>) outs({{.*}} : tensor<2x3xi64>)
// CHECK-SAME: epl.work = #epl.work<@tg0, forward>
// CHECK: ^bb0(%[[TOKEN:.*]]: i32, %{{.*}}: i64):
// CHECK: %[[WIDE:.*]] = arith.extsi %[[TOKEN]]
// CHECK: %[[C0:.*]] = arith.constant 0 : i64
// CHECK: %[[LOW:.*]] = arith.maxsi %[[WIDE]], %[[C0]]
// CHECK: %[[LOW]], %c63
// CHECK: arith.muli %[[RANK]], %c16
// CHECK: arith.subi
// CHECK: %[[READ:.*]] = epl.gather %[[TABLE]][%[[AT]]] of [0] {{.*}} : (tensor<16x8xf32>, tensor<2x3xi64>) -> tensor<2x3x8xf32>
// CHECK: %[[KEPT:.*]] = linalg.generic {{.*}} ins(%[[READ]], %[[AT]] : tensor<2x3x8xf32>, tensor<2x3xi64>)
// CHECK: ^bb0(%[[ELEMENT:.*]]: f32, %[[POSITION:.*]]: i64, %{{.*}}: f32):
// CHECK: %[[ZERO:.*]] = arith.constant 0.0
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[POSITION]], %c16
// CHECK: arith.select %[[INSIDE]], %[[ELEMENT]], %[[ZERO]]
// CHECK: %[[PARTS:.*]] = epl.from_local %[[KEPT]] : tensor<2x3x8xf32> -> <tensor<4x3x8xf32>, <@mesh, [{"data"}, {}, {}], partial = sum{"model"}>>
// CHECK: epl.all_reduce %[[PARTS]]
func.func @gather(%table: tensor<64x8xf32> {epl.sharding = #rows},
                  %tokens: tensor<4x3xi32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>}) -> tensor<4x3x8xf32> {
  %0 = epl.gather %table[%tokens] of [0] operand_dims [-1, 2] index_dims [0, 1] {epl.work = #fwd} : (tensor<64x8xf32>, tensor<4x3xi32>) -> tensor<4x3x8xf32>
  return %0 : tensor<4x3x8xf32>
}

// Its gradient: each rank adds the rows of its part; the others are outside, and dropped. Ranks along "data" add
// rows of their own tokens.
// CHECK-LABEL: func.func @scatter
// CHECK-NOT: arith.maxsi
// CHECK: arith.subi
// CHECK: %[[GRADIENT:.*]] = epl.scatter add {{.*}} : (tensor<2x3x8xf32>, tensor<16x8xf32>, tensor<2x3xi64>) -> tensor<16x8xf32>
// CHECK: %[[PARTS:.*]] = epl.from_local %[[GRADIENT]] : tensor<16x8xf32> -> <tensor<64x8xf32>, <@mesh, [{"model"}, {}], partial = sum{"data"}>>
// CHECK: epl.all_reduce %[[PARTS]] {{.*}} -> !epl.dist<tensor<64x8xf32>, <@mesh, [{"model"}, {}]>>
func.func @scatter(%table: tensor<64x8xf32> {epl.sharding = #rows},
                   %tokens: tensor<4x3xi32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>},
                   %rows: tensor<4x3x8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}, {}]>}) -> tensor<64x8xf32> {
  %zero = arith.constant dense<0.0> : tensor<64x8xf32>
  %0 = epl.scatter add %rows into %zero[%tokens] of [0] operand_dims [-1, 2] index_dims [0, 1] {epl.work = #fwd} : (tensor<4x3x8xf32>, tensor<64x8xf32>, tensor<4x3xi32>) -> tensor<64x8xf32>
  %1 = arith.addf %table, %0 {epl.work = #fwd} : tensor<64x8xf32>
  return %1 : tensor<64x8xf32>
}

// -----

epl.mesh @mesh axes ["data"=2]

// Positions that the members share among them are read at from the whole table.
// CHECK-LABEL: func.func @shared_positions
// CHECK: epl.all_gather {{.*}} -> !epl.dist<tensor<64x8xf32>, <@mesh, [{}, {}]>>
// CHECK: epl.gather {{.*}} : (tensor<64x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
func.func @shared_positions(%table: tensor<64x8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>},
                            %tokens: tensor<4xi32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}) -> tensor<4x8xf32> {
  %0 = epl.gather %table[%tokens] of [0] operand_dims [-1, 1] index_dims [0] : (tensor<64x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// Positions of windows that take the dimension as a whole are the same for each part.
// CHECK-LABEL: func.func @whole_windows
// CHECK-NOT: arith.subi
// CHECK: epl.scatter add {{.*}} : (tensor<3x2xf32>, tensor<2xf32>, tensor<3xi32>) -> tensor<2xf32>
func.func @whole_windows(%x: tensor<4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>},
                         %updates: tensor<3x4xf32>, %at: tensor<3xi32>) -> tensor<4xf32> {
  %0 = epl.scatter add %updates into %x[%at] of [0] operand_dims [1] index_dims [0] : (tensor<3x4xf32>, tensor<4xf32>, tensor<3xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
