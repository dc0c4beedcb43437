// RUN: epl-opt %s -split-input-file -epl-assign-owners | FileCheck %s
// RUN: epl-opt %s -split-input-file -epl-assign-owners -epl-form-tasks -epl-verify-tasks -epl-fuse-collectives | FileCheck %s --check-prefix=TASKS
// RUN: epl-opt %s -split-input-file -epl-assign-owners=explain 2>&1 >/dev/null | FileCheck %s --check-prefix=EXPLAIN

#whole = #epl.sharding<@mesh, [{}]>
#none = #epl.sharding<@mesh, []>
#apply = #epl.work<@tg0, apply>
!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!number = !epl.dist<tensor<f32>, <@mesh, []>>
!pending = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// Momentum of two parameters, and a count of steps, which leads to both and stays on all members.
// EXPLAIN: remark: "data" = 0 owns w0, m0: 8 elements of parameters
// EXPLAIN: remark: "data" = 1 owns w1, m1: 8 elements of parameters
// CHECK-LABEL: func.func @momentum
// CHECK-SAME: %[[W0:[^:]*]]: !epl.dist<tensor<8xf32>, <@mesh, [{}]>> {
// CHECK-SAME: %[[M0:[^:]*]]: !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 0>>> {
// CHECK-SAME: %[[W1:[^:]*]]: !epl.dist<tensor<8xf32>, <@mesh, [{}]>> {
// CHECK-SAME: %[[M1:[^:]*]]: !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>> {
// CHECK-SAME: %[[COUNT:[^:]*]]: !epl.dist<tensor<f32>, <@mesh, []>> {
// CHECK: epl.reduce %{{.*}} -> !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 0>>>
// CHECK: epl.reduce %{{.*}} -> !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>>
// CHECK: math.exp %{{.*}} {epl.sharding = [#epl.sharding<@mesh, []>]
// CHECK-DAG: arith.addf {{.*}} {epl.sharding = [#epl.sharding<@mesh, [{}], owner = <"data" = 0>>]
// CHECK-DAG: arith.addf {{.*}} {epl.sharding = [#epl.sharding<@mesh, [{}], owner = <"data" = 1>>]
// CHECK: epl.broadcast {{.*}} -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
// TASKS-LABEL: func.func @momentum
// TASKS: %[[R0:.*]] = epl.reduce %arg6
// TASKS: %[[R1:.*]] = epl.reduce %arg7
// TASKS: %[[COUNT:.*]] = epl.task <@tg0, apply>(%arg4) : {{.*}} -> !epl.dist<tensor<f32>, <@mesh, []>>
// TASKS: %[[N0:.*]]:2 = epl.task <@tg0, apply>(%arg1, %[[R0]], %[[COUNT]], %arg0) : {{.*}} -> (!epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 0>>>, !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 0>>>)
// TASKS: %[[N1:.*]]:2 = epl.task <@tg0, apply>(%arg3, %[[R1]], %[[COUNT]], %arg2) : {{.*}} -> (!epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>>, !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>>)
func.func @momentum(%w0: !whole {epl.name = "w0", epl.role = "state"}, %m0: !whole {epl.name = "m0", epl.role = "state"},
                    %w1: !whole {epl.name = "w1", epl.role = "state"}, %m1: !whole {epl.name = "m1", epl.role = "state"},
                    %count: !number {epl.name = "count", epl.role = "state"}, %x: !whole, %g0: !pending, %g1: !pending)
    -> (!whole {epl.updates = 0 : i64}, !whole {epl.updates = 1 : i64}, !whole {epl.updates = 2 : i64},
        !whole {epl.updates = 3 : i64}, !number {epl.updates = 4 : i64}, !whole) {
  %lw0 = epl.to_local %w0 : !whole -> tensor<8xf32>
  %lm0 = epl.to_local %m0 : !whole -> tensor<8xf32>
  %lw1 = epl.to_local %w1 : !whole -> tensor<8xf32>
  %lm1 = epl.to_local %m1 : !whole -> tensor<8xf32>
  %lx = epl.to_local %x : !whole -> tensor<8xf32>
  %lcount = epl.to_local %count : !number -> tensor<f32>
  // The forward work reads the parameters.
  %y0 = arith.mulf %lw0, %lx {epl.work = #epl.work<@tg0, forward>, epl.sharding = [#whole]} : tensor<8xf32>
  %y1 = arith.mulf %y0, %lw1 {epl.work = #epl.work<@tg0, forward>, epl.sharding = [#whole]} : tensor<8xf32>
  %s0 = epl.all_reduce %g0 : !pending -> !whole
  %s1 = epl.all_reduce %g1 : !pending -> !whole
  %d0 = epl.to_local %s0 : !whole -> tensor<8xf32>
  %d1 = epl.to_local %s1 : !whole -> tensor<8xf32>
  %next = math.exp %lcount {epl.work = #apply, epl.sharding = [#none]} : tensor<f32>
  %rate = tensor.extract %next[] {epl.work = #apply} : tensor<f32>
  %rates = tensor.splat %rate {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %n0 = arith.addf %lm0, %d0 {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %u0 = arith.mulf %n0, %rates {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %p0 = arith.subf %lw0, %u0 {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %n1 = arith.addf %lm1, %d1 {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %u1 = arith.mulf %n1, %rates {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %p1 = arith.subf %lw1, %u1 {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %rp0 = epl.from_local %p0 : tensor<8xf32> -> !whole
  %rn0 = epl.from_local %n0 : tensor<8xf32> -> !whole
  %rp1 = epl.from_local %p1 : tensor<8xf32> -> !whole
  %rn1 = epl.from_local %n1 : tensor<8xf32> -> !whole
  %rc = epl.from_local %next : tensor<f32> -> !number
  %ry = epl.from_local %y1 : tensor<8xf32> -> !whole
  return %rp0, %rn0, %rp1, %rn1, %rc, %ry : !whole, !whole, !whole, !whole, !number, !whole
}

// -----

#whole = #epl.sharding<@mesh, [{}]>
#apply = #epl.work<@tg0, apply>
!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!both = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data", "model"}>>

epl.mesh @mesh axes ["data"=2, "model"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// A sum over two axes: that over "data" is the owner's, that over "model" is among those who own. The new parameter
// is read by work of the same step, which reads what was sent.
// CHECK-LABEL: func.func @read_again
// CHECK: %[[SUM:.*]] = epl.reduce %{{.*}} -> !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"model"}, owner = <"data" = 0>>>
// CHECK: epl.all_reduce %[[SUM]] {{.*}} -> !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 0>>>
// CHECK: %[[NEW:.*]] = arith.subf
// CHECK: %[[OWN:.*]] = epl.from_local %[[NEW]]
// CHECK: %[[SENT:.*]] = epl.broadcast %[[OWN]]
// CHECK: %[[READ:.*]] = epl.to_local %[[SENT]]
// CHECK: math.exp %[[READ]]
// CHECK: return %[[SENT]]
func.func @read_again(%w: !whole {epl.role = "state"}, %g: !both) -> (!whole {epl.updates = 0 : i64}, !whole) {
  %lw = epl.to_local %w : !whole -> tensor<8xf32>
  %s = epl.all_reduce %g : !both -> !whole
  %d = epl.to_local %s : !whole -> tensor<8xf32>
  %n = arith.subf %lw, %d {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %y = math.exp %n {epl.work = #epl.work<@tg0, forward>, epl.sharding = [#whole]} : tensor<8xf32>
  %rn = epl.from_local %n : tensor<8xf32> -> !whole
  %ry = epl.from_local %y : tensor<8xf32> -> !whole
  return %rn, %ry : !whole, !whole
}

// -----

#whole = #epl.sharding<@mesh, [{}]>
#apply = #epl.work<@tg0, apply>
!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!pending = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// The new value of a state that others read, and so does the step's caller: the gradient itself.
// CHECK-LABEL: func.func @gradient_is_returned
// CHECK: %[[SUM:.*]] = epl.all_reduce
// CHECK: arith.subf {{.*}} owner = <"data" = 0>>
// CHECK: epl.broadcast
func.func @gradient_is_returned(%w: !whole {epl.role = "state"}, %g: !pending) -> (!whole {epl.updates = 0 : i64}, !whole) {
  %lw = epl.to_local %w : !whole -> tensor<8xf32>
  %y = math.exp %lw {epl.work = #epl.work<@tg0, forward>, epl.sharding = [#whole]} : tensor<8xf32>
  %s = epl.all_reduce %g : !pending -> !whole
  %d = epl.to_local %s : !whole -> tensor<8xf32>
  %n = arith.subf %lw, %d {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %rn = epl.from_local %n : tensor<8xf32> -> !whole
  return %rn, %s : !whole, !whole
}

// -----

#whole = #epl.sharding<@mesh, [{}]>
#apply = #epl.work<@tg0, apply>
!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!pending = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>

epl.mesh @mesh axes ["data"=3]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// A state says who owns it, also one whose gradient is a constant. What is left goes to the first that has least.
// EXPLAIN: remark: "data" = 0 owns c: 8 elements of parameters
// EXPLAIN: remark: "data" = 2 owns a: 8 elements of parameters
// EXPLAIN: remark: "data" = 1 owns b: 8 elements of parameters
// CHECK-LABEL: func.func @said
// CHECK-SAME: (%{{.*}} {epl.name = "a", epl.role = "state"}, %{{.*}} {epl.name = "b", epl.role = "state"}, %{{.*}} {epl.name = "c", epl.role = "state"},
// CHECK: epl.broadcast %{{.*}} : !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 2>>>
func.func @said(%a: !whole {epl.name = "a", epl.role = "state", epl.owner = 2 : i64}, %b: !whole {epl.name = "b", epl.role = "state"},
                %c: !whole {epl.name = "c", epl.role = "state", epl.owner = 0 : i64}, %ga: !pending, %gb: !pending)
    -> (!whole {epl.updates = 0 : i64}, !whole {epl.updates = 1 : i64}, !whole {epl.updates = 2 : i64}, !whole) {
  %la = epl.to_local %a : !whole -> tensor<8xf32>
  %lb = epl.to_local %b : !whole -> tensor<8xf32>
  %lc = epl.to_local %c : !whole -> tensor<8xf32>
  %yb = arith.mulf %la, %lb {epl.work = #epl.work<@tg0, forward>, epl.sharding = [#whole]} : tensor<8xf32>
  %y = arith.mulf %yb, %lc {epl.work = #epl.work<@tg0, forward>, epl.sharding = [#whole]} : tensor<8xf32>
  %sa = epl.all_reduce %ga : !pending -> !whole
  %sb = epl.all_reduce %gb : !pending -> !whole
  %da = epl.to_local %sa : !whole -> tensor<8xf32>
  %db = epl.to_local %sb : !whole -> tensor<8xf32>
  %one = arith.constant {epl.work = #apply, epl.sharding = [#whole]} dense<1.0> : tensor<8xf32>
  %na = arith.subf %la, %da {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %nb = arith.subf %lb, %db {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %nc = arith.subf %lc, %one {epl.work = #apply, epl.sharding = [#whole]} : tensor<8xf32>
  %ra = epl.from_local %na : tensor<8xf32> -> !whole
  %rb = epl.from_local %nb : tensor<8xf32> -> !whole
  %rc = epl.from_local %nc : tensor<8xf32> -> !whole
  %ry = epl.from_local %y : tensor<8xf32> -> !whole
  return %ra, %rb, %rc, %ry : !whole, !whole, !whole, !whole
}

// -----

#one = #epl.sharding<@mesh, [{}]>
#apply = #epl.work<@tg0, apply>
!one = !epl.dist<tensor<1xf32>, <@mesh, [{}]>>
!pending = !epl.dist<tensor<1xf32>, <@mesh, [{}], partial = sum{"data"}>>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// States of one element are together if they are all that a number is for, but not those that are said to be apart.
// EXPLAIN: remark: "data" = 1 owns a: 1 elements of parameters
// EXPLAIN: remark: "data" = 0 owns b: 1 elements of parameters
// CHECK-LABEL: func.func @said_to_be_apart
// CHECK: math.exp %{{.*}} {epl.sharding = [{{.*}}], epl.work = #epl.work<@tg0, apply>}
// CHECK: arith.subf {{.*}} owner = <"data" = 1>>
// CHECK: arith.subf {{.*}} owner = <"data" = 0>>
func.func @said_to_be_apart(%a: !one {epl.name = "a", epl.role = "state", epl.owner = 1 : i64},
                            %b: !one {epl.name = "b", epl.role = "state", epl.owner = 0 : i64}, %rate: !one, %ga: !pending, %gb: !pending)
    -> (!one {epl.updates = 0 : i64}, !one {epl.updates = 1 : i64}) {
  %la = epl.to_local %a : !one -> tensor<1xf32>
  %lb = epl.to_local %b : !one -> tensor<1xf32>
  %lrate = epl.to_local %rate : !one -> tensor<1xf32>
  %sa = epl.all_reduce %ga : !pending -> !one
  %sb = epl.all_reduce %gb : !pending -> !one
  %da = epl.to_local %sa : !one -> tensor<1xf32>
  %db = epl.to_local %sb : !one -> tensor<1xf32>
  %step = math.exp %lrate {epl.work = #apply, epl.sharding = [#one]} : tensor<1xf32>
  %ua = arith.mulf %da, %step {epl.work = #apply, epl.sharding = [#one]} : tensor<1xf32>
  %ub = arith.mulf %db, %step {epl.work = #apply, epl.sharding = [#one]} : tensor<1xf32>
  %na = arith.subf %la, %ua {epl.work = #apply, epl.sharding = [#one]} : tensor<1xf32>
  %nb = arith.subf %lb, %ub {epl.work = #apply, epl.sharding = [#one]} : tensor<1xf32>
  %ra = epl.from_local %na : tensor<1xf32> -> !one
  %rb = epl.from_local %nb : tensor<1xf32> -> !one
  return %ra, %rb : !one, !one
}
