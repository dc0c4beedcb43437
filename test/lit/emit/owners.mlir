// RUN: epl-compile %s --devices=cpu:2 --owners --explain-sharding -o %t.eplan 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: epl-plan dump %t.eplan | FileCheck %s
// RUN: epl-plan explain %t.eplan | FileCheck %s --check-prefix=EXPLAIN
// RUN: epl-plan simulate %t.eplan
// RUN: epl-plan render %t.eplan -o %t.svg
// RUN: epl-compile %s --reference -o %t.reference.eplan
// RUN: epl-run %t.eplan --reference=%t.reference.eplan --inputs=random:1 --steps=4 --rtol=0 --atol=0
// RUN: not epl-compile %s --devices=cpu:2 --owners --zero=v1 -o %t.both.eplan 2>&1 | FileCheck %s --check-prefix=BOTH

// BOTH: --owners: a state belongs to one device, or devices share it (--zero=v1): expected one of both

// A step with momentum of two parameters: each is updated by one device, which alone has its momentum. The others get
// the new value where the old one was.

// REMARK-DAG: "data" = 0 owns v, n: 4 elements of parameters
// REMARK-DAG: "data" = 1 owns w, m: 6 elements of parameters

// CHECK: made by "epl-compile" with "--devices=cpu:2 --cpu={{.*}} --owners" from
// CHECK: slot s0 "w" state i32[6] sharding {{\[}}{}]{{$}}
// CHECK-NEXT: slot s1 "m" state i32[6] sharding {{\[}}{}] on member 1 of c0
// CHECK-NEXT: slot s2 "v" state i32[4] sharding {{\[}}{}]{{$}}
// CHECK-NEXT: slot s3 "n" state i32[4] sharding {{\[}}{}] on member 0 of c0
// CHECK-DAG: launch {{.*}} on member 1 of c0
// CHECK-DAG: launch {{.*}} on member 0 of c0
// CHECK-DAG: "reduce" reduce_to_root sum c0 to member 0 {{b[0-9]+}} -> {{b[0-9]+}} 4xi32
// CHECK-DAG: "reduce" reduce_to_root sum c0 to member 1 {{b[0-9]+}} -> {{b[0-9]+}} 6xi32
// CHECK-DAG: "broadcast" copy_from_root c0 from member 0 {{b[0-9]+}} 4xi32
// CHECK-DAG: "broadcast" copy_from_root c0 from member 1 {{b[0-9]+}} 6xi32

// EXPLAIN-DAG: i32[6] on data 1
// EXPLAIN-DAG: i32[4] on data 0

#row = affine_map<(i, j) -> (j)>
#all = affine_map<(i, j) -> (i, j)>
#id = affine_map<(i) -> (i)>

func.func @main(%w: tensor<6xi32> {epl.role = "state", epl.name = "w"}, %m: tensor<6xi32> {epl.role = "state", epl.name = "m"},
                %v: tensor<4xi32> {epl.role = "state", epl.name = "v"}, %n: tensor<4xi32> {epl.role = "state", epl.name = "n"},
                %x: tensor<8x6xi32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"},
                %y: tensor<8x4xi32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "y"})
    -> (tensor<6xi32> {epl.updates = 0 : i64, epl.name = "w"}, tensor<6xi32> {epl.updates = 1 : i64, epl.name = "m"},
        tensor<4xi32> {epl.updates = 2 : i64, epl.name = "v"}, tensor<4xi32> {epl.updates = 3 : i64, epl.name = "n"})
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">}} {
  %e6 = tensor.empty() : tensor<8x6xi32>
  %e4 = tensor.empty() : tensor<8x4xi32>
  %f6 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %w : tensor<8x6xi32>, tensor<6xi32>) outs(%e6 : tensor<8x6xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %c = arith.muli %a, %b : i32
    linalg.yield %c : i32
  } -> tensor<8x6xi32> loc("jvp(epl.s0)/mul")
  %f4 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%y, %v : tensor<8x4xi32>, tensor<4xi32>) outs(%e4 : tensor<8x4xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %c = arith.muli %a, %b : i32
    linalg.yield %c : i32
  } -> tensor<8x4xi32> loc("jvp(epl.s0)/mul")
  %s4 = arith.constant dense<0> : tensor<4xi32>
  %g4 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["reduction", "parallel"]} ins(%f4 : tensor<8x4xi32>) outs(%s4 : tensor<4xi32>) {
  ^bb0(%a: i32, %o: i32):
    %c = arith.addi %a, %o : i32
    linalg.yield %c : i32
  } -> tensor<4xi32> loc("transpose(jvp(epl.s0))/sum")
  %s6 = arith.constant dense<0> : tensor<6xi32>
  %g6 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["reduction", "parallel"]} ins(%f6 : tensor<8x6xi32>) outs(%s6 : tensor<6xi32>) {
  ^bb0(%a: i32, %o: i32):
    %c = arith.addi %a, %o : i32
    linalg.yield %c : i32
  } -> tensor<6xi32> loc("transpose(jvp(epl.s0))/sum")
  %m1 = arith.addi %m, %g6 : tensor<6xi32>
  %w1 = arith.subi %w, %m1 : tensor<6xi32>
  %n1 = arith.addi %n, %g4 : tensor<4xi32>
  %v1 = arith.subi %v, %n1 : tensor<4xi32>
  return %w1, %m1, %v1, %n1 : tensor<6xi32>, tensor<6xi32>, tensor<4xi32>, tensor<4xi32>
}
