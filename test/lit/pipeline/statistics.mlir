// What the pass counts: two sums become one, a gather stays alone.

// RUN: epl-opt %s --epl-fuse-collectives --statistics -o /dev/null 2>&1 | FileCheck %s

// CHECK-DAG: 2 epl-fuse-collectives - Collectives that are left
// CHECK-DAG: 3 epl-fuse-collectives - Collectives that there were
// CHECK-DAG: 64 epl-fuse-collectives - Bytes on a device that collectives of several tensors combine

!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!parts = !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>
!pending = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>

epl.mesh @mesh axes ["data"=2]

func.func @main(%a: !pending, %b: !pending, %c: !parts) -> (!whole, !whole, !whole) {
  %0 = epl.all_reduce %a : !pending -> !whole
  %1 = epl.all_reduce %b : !pending -> !whole
  %2 = epl.all_gather %c dim 0 : !parts -> !whole
  return %0, %1, %2 : !whole, !whole, !whole
}
