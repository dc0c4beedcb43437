// RUN: epl-opt %s --split-input-file --verify-diagnostics

// The axis of an owner exists.
epl.mesh @mesh axes ["data"=2]
func.func @axis(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"model" = 1>>>) {
  // expected-error@+1 {{'epl.to_local' op sharding of the result names axis "model", which mesh "mesh" does not have}}
  %0 = epl.to_local %x : !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"model" = 1>>> -> tensor<8xf32>
  return
}

// -----

// The coordinate is one of the axis.
epl.mesh @mesh axes ["data"=2]
func.func @coordinate(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 2>>>) {
  // expected-error@+1 {{'epl.to_local' op owner of the result has coordinate 2 on axis "data" of size 2}}
  %0 = epl.to_local %x : !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 2>>> -> tensor<8xf32>
  return
}

// -----

!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
!owned = !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>>

// (C4) of epl.task: others than the owner have no such input
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
func.func @task(%x: !owned) -> !whole {
  // expected-error@+1 {{'epl.task' op input 0 has owner "data" = 1, expected no owner}}
  %0 = epl.task <@tg0, apply>(%x) : (!owned) -> !whole {
  ^bb0(%a: tensor<8xf32>):
    epl.yield %a : tensor<8xf32>
  }
  return %0 : !whole
}

// -----

!first = !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 0>>>
!second = !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>>

// (C4) of epl.task: one owner
epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
func.func @task(%x: !epl.dist<tensor<8xf32>, <@mesh, [{}]>>) -> (!first, !second) {
  // expected-error@+1 {{'epl.task' op result 1 has owner "data" = 1, expected owner "data" = 0}}
  %0:2 = epl.task <@tg0, apply>(%x) : (!epl.dist<tensor<8xf32>, <@mesh, [{}]>>) -> (!first, !second) {
  ^bb0(%a: tensor<8xf32>):
    epl.yield %a, %a : tensor<8xf32>, tensor<8xf32>
  }
  return %0#0, %0#1 : !first, !second
}

// -----

!pending = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>

// (C2) of epl.reduce
epl.mesh @mesh axes ["data"=2]
func.func @reduce(%x: !pending) {
  // expected-error@+1 {{'epl.reduce' op result 0 has no owner, expected one}}
  %0 = epl.reduce %x : !pending -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
  return
}

// -----

!both = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data", "model"}>>

// (C2) of epl.reduce: what is pending on other axes stays so
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @reduce(%x: !both) {
  // expected-error@+1 {{'epl.reduce' op completes the axes data, model, expected that of owner "data" = 1}}
  %0 = epl.reduce %x : !both -> !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>>
  return
}

// -----

!pending = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"data"}>>

// (C4) of epl.reduce: one root
epl.mesh @mesh axes ["data"=2]
func.func @reduce(%x: !pending, %y: !pending) {
  // expected-error@+1 {{'epl.reduce' op result 1 has owner "data" = 0, expected owner "data" = 1}}
  %0:2 = epl.reduce %x, %y : !pending, !pending
      -> !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>>, !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 0>>>
  return
}

// -----

!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>

// (C1) of epl.broadcast
epl.mesh @mesh axes ["data"=2]
func.func @broadcast(%x: !whole) {
  // expected-error@+1 {{'epl.broadcast' op operand 0 has no owner, expected one}}
  %0 = epl.broadcast %x : !whole -> !whole
  return
}

// -----

!owned = !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>>

// (C1) of epl.broadcast
epl.mesh @mesh axes ["data"=2]
func.func @broadcast(%x: !owned) {
  // expected-error@+1 {{'epl.broadcast' op result 0 has sharding #epl.sharding<@mesh, [{}], owner = <"data" = 1>>, expected #epl.sharding<@mesh, [{}]>}}
  %0 = epl.broadcast %x : !owned -> !owned
  return
}

// -----

!first = !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 0>>>
!second = !epl.dist<tensor<8xf32>, <@mesh, [{}], owner = <"data" = 1>>>
!whole = !epl.dist<tensor<8xf32>, <@mesh, [{}]>>

// (C3) of epl.broadcast: one root
epl.mesh @mesh axes ["data"=2]
func.func @broadcast(%x: !first, %y: !second) {
  // expected-error@+1 {{'epl.broadcast' op operand 1 has owner "data" = 1, expected owner "data" = 0}}
  %0:2 = epl.broadcast %x, %y : !first, !second -> !whole, !whole
  return
}

// -----

!rest = !epl.dist<tensor<8xf32>, <@mesh, [{}], partial = sum{"model"}, owner = <"data" = 1>>>

// (C6) of epl.all_reduce
epl.mesh @mesh axes ["data"=2, "model"=2]
func.func @all_reduce(%x: !rest) {
  // expected-error@+1 {{'epl.all_reduce' op result 0 has no owner, expected owner "data" = 1}}
  %0 = epl.all_reduce %x : !rest -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
  return
}
