// RUN: epl-compile %s --devices=cpu:2 -o %t.eplan && epl-plan dump %t.eplan | FileCheck %s
// RUN: epl-plan explain %t.eplan | FileCheck %s --check-prefix=EXPLAIN
// RUN: epl-run %t.eplan --inputs=random:1 --steps=4 --trace=%t.json && epl-plan explain %t.eplan --trace=%t.json | FileCheck %s --check-prefix=EXPLAIN
// RUN: epl-run %t.eplan --inputs=random:1 --steps=1 --trace=%t.one.json && epl-plan explain %t.eplan --trace=%t.one.json | FileCheck %s --check-prefix=EXPLAIN
// RUN: epl-compile %s --reference -o %t.reference.eplan
// RUN: epl-run %t.eplan --reference=%t.reference.eplan --inputs=random:1 --steps=4 --rtol=0 --atol=0

// An update that every other step makes: its products and the sum over the devices run if it does, the update itself
// selects. What is read only there waits for the predicate, each rank's own.

// CHECK: buffer [[P:b[0-9]+]] "[[NAME:.*]]" 1 bytes
// CHECK-DAG: launch {{.*}} if [[P]] reads {{.*}}if 0:#{{[0-9]+}} work
// CHECK-DAG: "all_reduce" reduce_part sum c0 {{.*}} if [[P]]{{ }}
// CHECK-DAG: "all_reduce" gather_parts c0 {{.*}} if [[P]]{{ }}
// CHECK-NOT: if not

// Also where the steps of a timeline do not take it.
// EXPLAIN: 4 of them are in branches

!w = tensor<4x4xi32>
#mm = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
#tm = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
#id = affine_map<(d0, d1) -> (d0, d1)>
#scalar = affine_map<(d0, d1) -> ()>

func.func @main(%w: !w {epl.role = "state", epl.name = "w"},
                %n: tensor<i32> {epl.role = "state", epl.name = "n"},
                %x: tensor<8x4xi32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "x"})
    -> (!w {epl.updates = 0 : i64, epl.name = "w"}, tensor<i32> {epl.updates = 1 : i64, epl.name = "n"})
    attributes {epl.default_strategy = #epl.strategy<replicate, 1>} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %e = tensor.empty() : tensor<8x4xi32>
  %z = linalg.fill ins(%zero : i32) outs(%e : tensor<8x4xi32>) -> tensor<8x4xi32>
  %ew = tensor.empty() : !w
  %zw = linalg.fill ins(%zero : i32) outs(%ew : !w) -> !w
  %en = tensor.empty() : tensor<i32>
  %ep = tensor.empty() : tensor<i1>
  %p = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%n : tensor<i32>) outs(%ep : tensor<i1>) {
  ^bb0(%a: i32, %o: i1):
    %bit = arith.andi %a, %one : i32
    %odd = arith.cmpi eq, %bit, %one : i32
    linalg.yield %odd : i1
  } -> tensor<i1>
  %h = linalg.generic {indexing_maps = #mm, iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x4xi32>, !w) outs(%z : tensor<8x4xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %m = arith.muli %a, %b : i32
    %s = arith.addi %o, %m : i32
    linalg.yield %s : i32
  } -> tensor<8x4xi32>
  %g = linalg.generic {indexing_maps = #tm, iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %h : tensor<8x4xi32>, tensor<8x4xi32>) outs(%zw : !w) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %m = arith.muli %a, %b : i32
    %s = arith.addi %o, %m : i32
    linalg.yield %s : i32
  } -> !w
  %new = linalg.generic {indexing_maps = [#scalar, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %g, %w : tensor<i1>, !w, !w) outs(%ew : !w) {
  ^bb0(%c: i1, %a: i32, %b: i32, %o: i32):
    %s = arith.select %c, %a, %b : i32
    linalg.yield %s : i32
  } -> !w
  %next = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%n : tensor<i32>) outs(%en : tensor<i32>) {
  ^bb0(%a: i32, %o: i32):
    %s = arith.addi %a, %one : i32
    linalg.yield %s : i32
  } -> tensor<i32>
  return %new, %next : !w, tensor<i32>
}
