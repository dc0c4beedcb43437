// RUN: epl-opt %s -epl-narrow-gradients="type=bf16" -epl-verify-local | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: epl-opt %s -epl-narrow-gradients="type=f16 scale=64" -epl-verify-local | FileCheck %s --check-prefixes=CHECK,F16
// RUN: epl-opt %s -epl-narrow-gradients | FileCheck %s --check-prefix=NONE
// RUN: epl-opt %s -epl-narrow-gradients="type=bf16" -epl-form-tasks -epl-verify-tasks | FileCheck %s --check-prefix=TASKS

// NONE-NOT: f16

#whole = #epl.sharding<@mesh, [{}]>
#pending = #epl.sharding<@mesh, [{}], partial = sum{"data"}>
#forward = #epl.work<@tg0, forward>
#backward = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>
#id = affine_map<(d0) -> (d0)>
#double = {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
!part = !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>
!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!pending = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>

epl.mesh @mesh axes ["data"=2, "model"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// The work that makes the addend rounds it, that which reads the sum widens it.
// CHECK-LABEL: func.func @gradient
// CHECK: %[[MADE:.*]] = math.tanh
// CHECK: %[[ROUNDED:.*]] = linalg.generic {{.*}} ins(%[[MADE]] : tensor<8xf32>) outs(%{{.*}} : tensor<8x[[N:b?f16]]>)
// CHECK-SAME: epl.sharding = [#epl.sharding<@mesh, [{}], partial = sum{"data"}>], epl.work = #epl.work<@tg0, backward>
// BF16-NEXT: ^bb0(%[[IN:.*]]: f32
// BF16-NEXT: %[[T:.*]] = arith.truncf %[[IN]] : f32 to bf16
// BF16-NEXT: linalg.yield %[[T]]
// F16-NEXT: ^bb0(%[[IN:.*]]: f32
// F16-NEXT: %[[SCALE:.*]] = arith.constant 6.400000e+01 : f32
// F16-NEXT: %[[M:.*]] = arith.mulf %[[IN]], %[[SCALE]]
// F16-NEXT: %[[T:.*]] = arith.truncf %[[M]] : f32 to f16
// CHECK: %[[PENDING:.*]] = epl.from_local %[[ROUNDED]] : tensor<8x[[N]]>
// CHECK: %[[SUM:.*]] = epl.all_reduce %[[PENDING]] {{.*}} -> !epl.dist<tensor<8x[[N]]>, <@mesh, [{}]>>
// CHECK: %[[LOCAL:.*]] = epl.to_local %[[SUM]] : {{.*}} -> tensor<8x[[N]]>
// CHECK: %[[WIDE:.*]] = linalg.generic {{.*}} ins(%[[LOCAL]] : tensor<8x[[N]]>) outs(%{{.*}} : tensor<8xf32>)
// CHECK-SAME: epl.sharding = [#epl.sharding<@mesh, [{}]>], epl.work = #epl.work<@tg0, apply>
// CHECK: arith.extf %{{.*}} : [[N]] to f32
// F16-NEXT: %[[SCALE:.*]] = arith.constant 6.400000e+01 : f32
// F16-NEXT: arith.divf %{{.*}}, %[[SCALE]]
// CHECK: math.exp %[[WIDE]]
// TASKS-LABEL: func.func @gradient
// TASKS: epl.task <@tg0, backward>
// TASKS: arith.truncf
// TASKS: epl.all_reduce {{.*}}tensor<8xbf16>
// TASKS: epl.task <@tg0, apply>
// TASKS: arith.extf
func.func @gradient(%x: !whole) -> !whole {
  %0 = epl.to_local %x : !whole -> tensor<8xf32>
  %1 = math.tanh %0 {epl.work = #backward, epl.sharding = [#pending]} : tensor<8xf32>
  %2 = epl.from_local %1 : tensor<8xf32> -> !pending
  %3 = epl.all_reduce %2 {epl.work = #backward} : !pending -> !whole
  %4 = epl.to_local %3 : !whole -> tensor<8xf32>
  %5 = math.exp %4 {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %6 = epl.from_local %5 : tensor<8xf32> -> !whole
  return %6 : !whole
}

// In parts, and returned.
// CHECK-LABEL: func.func @scattered
// CHECK: epl.reduce_scatter {{.*}} -> !epl.dist<tensor<8x{{b?f16}}>, <@mesh, [{"data"}]>>
// CHECK: arith.extf
// CHECK: return %{{.*}} : !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>
func.func @scattered(%x: !whole) -> !part {
  %0 = epl.to_local %x : !whole -> tensor<8xf32>
  %1 = math.tanh %0 {epl.work = #backward, epl.sharding = [#pending]} : tensor<8xf32>
  %2 = epl.from_local %1 : tensor<8xf32> -> !pending
  %3 = epl.reduce_scatter %2 {epl.work = #backward} : !pending -> !part
  %4 = epl.to_local %3 : !part -> tensor<4xf32>
  %5 = epl.from_local %4 : tensor<4xf32> -> !part
  return %5 : !part
}

// Over one axis after the other.
// CHECK-LABEL: func.func @twice
// CHECK: arith.truncf
// CHECK-NOT: arith
// CHECK: epl.all_reduce {{.*}} -> !epl.dist<tensor<8x{{b?f16}}>, <@mesh, [{}], partial = sum{"model"}>>
// CHECK-NEXT: epl.all_reduce {{.*}} -> !epl.dist<tensor<8x{{b?f16}}>, <@mesh, [{}]>>
// CHECK: arith.extf
func.func @twice(%x: !whole) -> !whole {
  %0 = epl.to_local %x : !whole -> tensor<8xf32>
  %1 = math.tanh %0 {epl.work = #backward, epl.sharding = [#epl.sharding<@mesh, [{}], partial = sum{"data", "model"}>]} : tensor<8xf32>
  %2 = epl.from_local %1 : tensor<8xf32> -> !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data", "model"}>>
  %3 = epl.all_reduce %2 {epl.work = #backward}
    : !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data", "model"}>> -> !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"model"}>>
  %4 = epl.all_reduce %3 {epl.work = #backward} : !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"model"}>> -> !whole
  %5 = epl.to_local %4 : !whole -> tensor<8xf32>
  %6 = math.exp %5 {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %7 = epl.from_local %6 : tensor<8xf32> -> !whole
  return %7 : !whole
}

// The owner alone has the sum.
// CHECK-LABEL: func.func @owned
// CHECK: epl.reduce {{.*}} -> !epl.dist<tensor<8x{{b?f16}}>, <@mesh, [{}], owner = <"data" = 1>>>
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<8xf32>) attrs = {epl.sharding = [#epl.sharding<@mesh, [{}], owner = <"data" = 1>>]
func.func @owned(%x: !whole) -> !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>> {
  %0 = epl.to_local %x : !whole -> tensor<8xf32>
  %1 = math.tanh %0 {epl.work = #backward, epl.sharding = [#pending]} : tensor<8xf32>
  %2 = epl.from_local %1 : tensor<8xf32> -> !pending
  %3 = epl.reduce %2 {epl.work = #backward} : !pending -> !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>>
  %4 = epl.to_local %3 : !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>> -> tensor<8xf32>
  %5 = math.exp %4 {epl.work = #apply, epl.sharding = [#epl.sharding<@mesh, [{}], owner = <"data" = 1>>]} : tensor<8xf32>
  %6 = epl.from_local %5 : tensor<8xf32> -> !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>>
  return %6 : !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>>
}

// A loss; a sum that the gradient of a norm reads, whoever else does; a maximum.
// CHECK-LABEL: func.func @others
// CHECK-NOT: arith.truncf
// CHECK: return
func.func @others(%x: !whole) -> (!whole, !whole, !whole) {
  %0 = epl.to_local %x : !whole -> tensor<8xf32>
  %1 = math.tanh %0 {epl.work = #forward, epl.sharding = [#pending]} : tensor<8xf32>
  %2 = epl.from_local %1 : tensor<8xf32> -> !pending
  %3 = epl.all_reduce %2 {epl.work = #forward} : !pending -> !whole
  %4 = math.tanh %0 {epl.work = #backward, epl.sharding = [#pending]} : tensor<8xf32>
  %5 = epl.from_local %4 : tensor<8xf32> -> !pending
  %6 = epl.all_reduce %5 {epl.work = #backward} : !pending -> !whole
  %7 = epl.to_local %6 : !whole -> tensor<8xf32>
  %8 = math.exp %7 {epl.work = #backward, epl.sharding = [#whole]} : tensor<8xf32>
  %9 = math.exp %7 {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %10 = epl.from_local %8 : tensor<8xf32> -> !whole
  %11 = epl.from_local %4 : tensor<8xf32> -> !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = max{"data"}>>
  %12 = epl.all_reduce %11 {epl.work = #backward} : !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = max{"data"}>> -> !whole
  return %3, %10, %12 : !whole, !whole, !whole
}

// CHECK-LABEL: func.func @types
// CHECK-NOT: arith.truncf
// CHECK: return
func.func @types(%x: !epl.dist<tensor<8xf64>, <@mesh, [{}]>>, %y: !epl.dist<tensor<8xi32>, <@mesh, [{}]>>)
    -> (!epl.dist<tensor<8xf64>, <@mesh, [{}]>>, !epl.dist<tensor<8xi32>, <@mesh, [{}]>>) {
  %0 = epl.to_local %x : !epl.dist<tensor<8xf64>, <@mesh, [{}]>> -> tensor<8xf64>
  %1 = math.tanh %0 {epl.work = #backward, epl.sharding = [#pending]} : tensor<8xf64>
  %2 = epl.from_local %1 : tensor<8xf64> -> !epl.dist<tensor<8xf64>, <@mesh, [{}], partial = sum{"data"}>>
  %3 = epl.all_reduce %2 {epl.work = #backward} : !epl.dist<tensor<8xf64>, <@mesh, [{}], partial = sum{"data"}>> -> !epl.dist<tensor<8xf64>, <@mesh, [{}]>>
  %4 = epl.to_local %3 : !epl.dist<tensor<8xf64>, <@mesh, [{}]>> -> tensor<8xf64>
  %5 = epl.from_local %4 : tensor<8xf64> -> !epl.dist<tensor<8xf64>, <@mesh, [{}]>>
  %6 = epl.to_local %y : !epl.dist<tensor<8xi32>, <@mesh, [{}]>> -> tensor<8xi32>
  %7 = arith.addi %6, %6 {epl.work = #backward, epl.sharding = [#pending]} : tensor<8xi32>
  %8 = epl.from_local %7 : tensor<8xi32> -> !epl.dist<tensor<8xi32>, <@mesh, [{}], partial = sum{"data"}>>
  %9 = epl.all_reduce %8 {epl.work = #backward} : !epl.dist<tensor<8xi32>, <@mesh, [{}], partial = sum{"data"}>> -> !epl.dist<tensor<8xi32>, <@mesh, [{}]>>
  %10 = epl.to_local %9 : !epl.dist<tensor<8xi32>, <@mesh, [{}]>> -> tensor<8xi32>
  %11 = epl.from_local %10 : tensor<8xi32> -> !epl.dist<tensor<8xi32>, <@mesh, [{}]>>
  return %5, %11 : !epl.dist<tensor<8xf64>, <@mesh, [{}]>>, !epl.dist<tensor<8xi32>, <@mesh, [{}]>>
}
