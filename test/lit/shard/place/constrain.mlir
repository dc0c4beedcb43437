// RUN: epl-opt %s -split-input-file -epl-propagate -verify-diagnostics | FileCheck %s --check-prefix=PROPAGATE
// RUN: epl-opt %s -split-input-file -epl-propagate -epl-place -epl-verify-sharded | FileCheck %s --implicit-check-not=epl.constrain

epl.mesh @mesh axes ["data"=2, "model"=2]

#rows = #epl.sharding<@mesh, [{"data"}, {}]>
#whole = #epl.sharding<@mesh, [{}, {}]>

// A constraint gives what it says and leaves the axis "data" to its operand. Its users follow, and what makes its
// operand is made in parts.
// PROPAGATE-LABEL: func.func @follows
// PROPAGATE: math.tanh {{.*}}[#epl.sharding<@mesh, [{"data"}, {"model"}]>]
// PROPAGATE: epl.constrain {{.*}}[#epl.sharding<@mesh, [{"data"}, {"model"}]>]
// PROPAGATE: math.sin {{.*}}[#epl.sharding<@mesh, [{"data"}, {"model"}]>]
// CHECK-LABEL: func.func @follows
// CHECK-SAME: %[[X:.*]]: tensor<8x4xf32>
func.func @follows(%x: tensor<8x4xf32> {epl.sharding = #rows}) -> tensor<8x4xf32> {
  // CHECK: %[[PART:.*]] = epl.reshard %[[X]] to <@mesh, [{"data"}, {"model"}]>
  // CHECK-NEXT: %[[T:.*]] = math.tanh %[[PART]]
  %0 = math.tanh %x : tensor<8x4xf32>
  %1 = epl.constrain %0 to <[{}, {"model"}]> : tensor<8x4xf32>
  // CHECK-NEXT: %[[S:.*]] = math.sin %[[T]]
  %2 = math.sin %1 : tensor<8x4xf32>
  // CHECK-NEXT: return %[[S]]
  return %2 : tensor<8x4xf32>
}

// Whole: what is split is gathered once, though those that read it take parts again.
// CHECK-LABEL: func.func @whole
func.func @whole(%x: tensor<8x4xf32> {epl.sharding = #rows}, %y: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {"model"}]>})
    -> tensor<8x4xf32> {
  // CHECK: %[[T:.*]] = math.tanh {{.*}}[{"data"}, {"model"}]
  %0 = math.tanh %y : tensor<8x4xf32>
  // CHECK-NEXT: %[[ALL:.*]] = epl.reshard %[[T]] to <@mesh, [{"data"}, {}]>
  %1 = epl.constrain %0 to <[{}, {}], whole = {"model"}> : tensor<8x4xf32>
  // CHECK: %[[AGAIN:.*]] = epl.reshard %[[ALL]] to <@mesh, [{"data"}, {"model"}]>
  // CHECK-NEXT: arith.addf %[[AGAIN]], {{.*}}[{"data"}, {"model"}]
  %2 = arith.addf %1, %y : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

epl.mesh @mesh axes ["data"=2, "model"=2]

!v = tensor<4xf32>
#columns = #epl.sharding<@mesh, [{"data"}, {"model"}]>

// A sum that is pending over the axis is completed into parts, or whole, as the constraint says; one over another axis
// goes through it.
// CHECK-LABEL: func.func @sums
func.func @sums(%x: tensor<8x4xf32> {epl.sharding = #columns}) -> (tensor<8xf32>, tensor<8xf32>, !v) {
  %z0 = arith.constant dense<0.0> : tensor<8xf32>
  %z1 = arith.constant dense<0.0> : !v
  // CHECK: %[[ROWS:.*]] = linalg.reduce {{.*}} partial = sum{"model"}>
  // CHECK-NEXT: epl.reshard %[[ROWS]] to <@mesh, [{"data", "model"}]>
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<8x4xf32>) outs(%z0 : tensor<8xf32>) dimensions = [1]
  %1 = epl.constrain %0 to <[{"model"}]> : tensor<8xf32>
  // CHECK: %[[PENDING:.*]] = linalg.reduce {{.*}} partial = sum{"model"}>
  // CHECK-NEXT: %[[SUM:.*]] = epl.reshard %[[PENDING]] to <@mesh, [{"data"}]>
  // CHECK-NEXT: arith.negf %[[SUM]] {{.*}}[{"data"}]>
  %again = linalg.reduce { arith.addf } ins(%x : tensor<8x4xf32>) outs(%z0 : tensor<8xf32>) dimensions = [1]
  %said = epl.constrain %again to <[{}], whole = {"model"}> : tensor<8xf32>
  %2 = arith.negf %said : tensor<8xf32>
  // CHECK: %[[COLUMNS:.*]] = linalg.reduce {{.*}}[{"model"}], partial = sum{"data"}>
  %3 = linalg.reduce { arith.addf } ins(%x : tensor<8x4xf32>) outs(%z1 : !v) dimensions = [0]
  %4 = epl.constrain %3 to <[{"model"}]> : !v
  // CHECK: %[[NEGATED:.*]] = arith.negf %[[COLUMNS]] {{.*}} partial = sum{"data"}>
  // CHECK: epl.reshard %[[NEGATED]] to <@mesh, [{"model"}]>
  %5 = arith.negf %4 : !v
  return %1, %2, %5 : tensor<8xf32>, tensor<8xf32>, !v
}

// -----

epl.mesh @mesh axes ["data"=2]

!v = tensor<8xf32>

// In a loop: what an iteration constrains is split in all iterations.
// CHECK-LABEL: func.func @loop
func.func @loop(%x: !v {epl.sharding = #epl.sharding<@mesh, [{}]>}) -> !v {
  // CHECK: %[[PART:.*]] = epl.reshard %{{.*}} to <@mesh, [{"data"}]>
  // CHECK: %[[H:.*]] = epl.loop_carry <0, trip_count = 4> 0 %[[PART]]
  %h = epl.loop_carry <0, trip_count = 4> 0 %x : !v -> !v
  // CHECK-NEXT: math.sin %[[H]] {{.*}}[{"data"}]
  %0 = math.sin %h : !v
  %1 = epl.constrain %0 to <[{"data"}]> : !v
  // CHECK-NEXT: epl.loop_last {{.*}}[{"data"}]
  %2 = epl.loop_last <0, trip_count = 4> 0 %1 : !v
  return %2 : !v
}
