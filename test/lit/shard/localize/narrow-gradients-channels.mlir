// RUN: epl-opt %s -epl-narrow-gradients="type=bf16" | FileCheck %s

#pending = #epl.sharding<@mesh, [{}], partial = sum{"model"}>
#backward = #epl.work<@tg0, backward>
!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!pending = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"model"}>>

epl.mesh @mesh axes ["model"=2]
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh

// What is sent to another mesh is the gradient of what that has made.
// CHECK-LABEL: func.func @sent
// CHECK-NOT: arith.truncf
// CHECK: return
func.func @sent(%x: !whole) -> (!whole {epl.channel = 0 : i64}) {
  %0 = epl.to_local %x : !whole -> tensor<8xf32>
  %1 = math.tanh %0 {epl.work = #backward, epl.sharding = [#pending]} : tensor<8xf32>
  %2 = epl.from_local %1 : tensor<8xf32> -> !pending
  %3 = epl.all_reduce %2 {epl.work = #backward} : !pending -> !whole
  %4 = epl.to_local %3 : !whole -> tensor<8xf32>
  %5 = epl.from_local %4 : tensor<8xf32> -> !whole
  return %5 : !whole
}

// What the caller gets is one.
// CHECK-LABEL: func.func @returned
// CHECK: arith.truncf
// CHECK: return
func.func @returned(%x: !whole) -> !whole {
  %0 = epl.to_local %x : !whole -> tensor<8xf32>
  %1 = math.tanh %0 {epl.work = #backward, epl.sharding = [#pending]} : tensor<8xf32>
  %2 = epl.from_local %1 : tensor<8xf32> -> !pending
  %3 = epl.all_reduce %2 {epl.work = #backward} : !pending -> !whole
  %4 = epl.to_local %3 : !whole -> tensor<8xf32>
  %5 = epl.from_local %4 : tensor<8xf32> -> !whole
  return %5 : !whole
}
