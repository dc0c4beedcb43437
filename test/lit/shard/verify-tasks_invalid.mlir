// RUN: epl-opt %s -split-input-file -verify-diagnostics -epl-verify-tasks

epl.mesh @mesh axes ["data"=2]

func.func @cast_left(%x: !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) {
  // expected-error@+1 {{'epl.to_local' op is not allowed at level "tasks"}}
  %0 = epl.to_local %x : <tensor<8xf32>, <@mesh, [{"data"}]>> -> tensor<4xf32>
  return
}

// -----

func.func @outside_of_tasks() {
  // expected-error@+1 {{'tensor.empty' op is outside of every task}}
  %0 = tensor.empty() : tensor<8xf32>
  return
}

// -----

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

func.func @late_predicate(%p: !epl.dist<tensor<i1>, <@mesh, []>>) {
  // expected-error@+1 {{'epl.task' op is guarded by predicate 3, expected an "epl.predicate" of this number before it}}
  epl.task <@tg0, forward> () : () -> () {
  } {epl.guards = [#epl.guard<3, true>]}
  epl.predicate 3 %p : !epl.dist<tensor<i1>, <@mesh, []>>
  return
}

// -----

epl.mesh @mesh axes ["data"=2]

func.func @two_of_a_number(%p: !epl.dist<tensor<i1>, <@mesh, []>>) {
  // expected-note@+1 {{the first is here}}
  epl.predicate 0 %p : !epl.dist<tensor<i1>, <@mesh, []>>
  // expected-error@+1 {{'epl.predicate' op is one of several of number 0, expected one}}
  epl.predicate 0 %p : !epl.dist<tensor<i1>, <@mesh, []>>
  return
}
