// RUN: epl-opt %s --split-input-file | epl-opt --split-input-file | FileCheck %s
// RUN: epl-opt %s --split-input-file --mlir-print-op-generic | epl-opt --split-input-file | FileCheck %s

epl.mesh @mesh axes ["data"=2]
// CHECK-LABEL: func.func @scopes
func.func @scopes(%x: tensor<4xf32>) {
  // CHECK: epl.replicate {
  // CHECK-NEXT: }
  epl.replicate {
  }
  // CHECK: epl.replicate name("encoder") devices(2) -> tensor<4xf32> {
  %0 = epl.replicate name("encoder") devices(2) -> tensor<4xf32> {
    // CHECK: %[[C:.*]] = epl.constrain %{{.*}} to <[{"data"}], whole = {"model"}> : tensor<4xf32>
    %1 = epl.constrain %x to <[{"data"}], whole = {"model"}> : tensor<4xf32>
    // CHECK: epl.yield %[[C]] : tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  // CHECK: epl.split devices(4) dims([#epl.dim_constraint<"wq" = 1>]) -> tensor<4xf32>, tensor<4xf32> {
  %2:2 = epl.split devices(4) dims([#epl.dim_constraint<"wq" = 1>]) -> tensor<4xf32>, tensor<4xf32> {
    epl.yield %0, %x : tensor<4xf32>, tensor<4xf32>
  }
  // CHECK: epl.split {
  // CHECK: } {test.attr}
  epl.split {
    epl.yield
  } {test.attr}
  return
}
