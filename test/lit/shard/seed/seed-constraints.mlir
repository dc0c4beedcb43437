// RUN: epl-opt %s -split-input-file -epl-seed-constraints | FileCheck %s

epl.mesh @mesh axes ["data"=1, "model"=2, "rows"=2]

// What is said of an axis of one device is dropped, and a constraint that says nothing else with it.
// CHECK-LABEL: func.func @one_device
// CHECK-SAME: %[[X:.*]]: tensor<4x4xf32>
func.func @one_device(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: %[[A:.*]] = epl.constrain %[[X]] to <[{}, {"model", "rows"}]> : tensor<4x4xf32>
  %0 = epl.constrain %x to <[{"data"}, {"model", "rows"}]> : tensor<4x4xf32>
  // CHECK-NEXT: %[[B:.*]] = epl.constrain %[[A]] to <[{}, {}], whole = {"model"}> : tensor<4x4xf32>
  %1 = epl.constrain %0 to <[{}, {}], whole = {"data", "model"}> : tensor<4x4xf32>
  %2 = epl.constrain %1 to <[{"data"}, {}]> : tensor<4x4xf32>
  // CHECK-NEXT: return %[[B]]
  return %2 : tensor<4x4xf32>
}

// -----

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<split, 1>) on @mesh

// So is what is said of "model" where a scope is split over one device.
// CHECK-LABEL: func.func @no_model
// CHECK-SAME: %[[X:.*]]: tensor<4x3xf32>
func.func @no_model(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = epl.constrain %x to <[{}, {"model"}]> : tensor<4x3xf32>
  // CHECK-NEXT: return %[[X]]
  return %0 : tensor<4x3xf32>
}
