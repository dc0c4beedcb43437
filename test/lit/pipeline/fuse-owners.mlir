// RUN: epl-opt %s -epl-fuse-collectives | FileCheck %s
// RUN: epl-opt %s -epl-fuse-collectives=broadcasts=false | FileCheck %s --check-prefix=APART

!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!pending = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>
!max = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = max{"data"}>>
!first = !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 0>>>
!second = !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>>

epl.mesh @mesh axes ["data"=2]

// Those of one root join, by one reduction.
// CHECK-LABEL: func.func @roots
// CHECK-NEXT: %[[A:.*]]:2 = epl.reduce %arg0, %arg2
// CHECK-NEXT: %[[B:.*]] = epl.reduce %arg1
// CHECK-NEXT: %[[C:.*]] = epl.reduce %arg3
// CHECK-NEXT: return %[[A]]#0, %[[B]], %[[A]]#1, %[[C]]
// APART-LABEL: func.func @roots
// APART-NEXT: epl.reduce %arg0, %arg2
func.func @roots(%a: !pending, %b: !pending, %c: !pending, %d: !max) -> (!first, !second, !first, !first) {
  %0 = epl.reduce %a : !pending -> !first
  %1 = epl.reduce %b : !pending -> !second
  %2 = epl.reduce %c : !pending -> !first
  %3 = epl.reduce %d : !max -> !first
  return %0, %1, %2, %3 : !first, !second, !first, !first
}

// CHECK-LABEL: func.func @broadcasts
// CHECK-NEXT: %[[A:.*]]:2 = epl.broadcast %arg0, %arg2
// CHECK-NEXT: %[[B:.*]] = epl.broadcast %arg1
// CHECK-NEXT: return %[[A]]#0, %[[B]], %[[A]]#1
// APART-LABEL: func.func @broadcasts
// APART-NEXT: epl.broadcast %arg0 :
// APART-NEXT: epl.broadcast %arg1 :
// APART-NEXT: epl.broadcast %arg2 :
func.func @broadcasts(%a: !first, %b: !second, %c: !first) -> (!whole, !whole, !whole) {
  %0 = epl.broadcast %a : !first -> !whole
  %1 = epl.broadcast %b : !second -> !whole
  %2 = epl.broadcast %c : !first -> !whole
  return %0, %1, %2 : !whole, !whole, !whole
}
