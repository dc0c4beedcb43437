// RUN: epl-opt %s -split-input-file -verify-diagnostics -epl-verify-tasks

epl.mesh @mesh axes ["data"=2]

func.func @cast_left(%x: !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) {
  // expected-error@+1 {{'epl.to_local' op is not allowed at level "tasks": epl-form-tasks should have removed it}}
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

// -----

epl.mesh @a axes ["data"=2] first 0 strides [2]
epl.mesh @b axes ["data"=2] first 1 strides [2]

// expected-error@+1 {{result 0 is sent by channel 3, which nobody receives}}
func.func @sends(%x: !epl.dist<tensor<4xf32>, <@a, [{}]>>)
    -> (!epl.dist<tensor<4xf32>, <@a, [{}]>> {epl.channel = 3 : i64}) attributes {epl.mesh = @a} {
  return %x : !epl.dist<tensor<4xf32>, <@a, [{}]>>
}

// -----

epl.mesh @a axes ["data"=2] first 0 strides [2]

// expected-error@+1 {{argument 0 is received by channel 3, which nobody sends}}
func.func @receives(%x: !epl.dist<tensor<4xf32>, <@a, [{}]>> {epl.channel = 3 : i64}) attributes {epl.mesh = @a} {
  return
}

// -----

epl.mesh @a axes ["data"=2] first 0 strides [2]
epl.mesh @b axes ["data"=2] first 1 strides [2]

// expected-note@+1 {{result 0 is sent here}}
func.func @sends(%x: !epl.dist<tensor<4xf32>, <@a, [{}]>>)
    -> (!epl.dist<tensor<4xf32>, <@a, [{}]>> {epl.channel = 3 : i64}) attributes {epl.mesh = @a} {
  return %x : !epl.dist<tensor<4xf32>, <@a, [{}]>>
}
// expected-error@+1 {{argument 0 receives 'tensor<8xf32>' by channel 3, which carries 'tensor<4xf32>'}}
func.func @receives(%x: !epl.dist<tensor<8xf32>, <@b, [{}]>> {epl.channel = 3 : i64}) attributes {epl.mesh = @b} {
  return
}

// -----

epl.mesh @a axes ["data"=2] first 0 strides [2]

// expected-error@+1 {{receives channel 3 from its own mesh}}
func.func @itself(%x: !epl.dist<tensor<4xf32>, <@a, [{}]>> {epl.channel = 3 : i64})
    -> (!epl.dist<tensor<4xf32>, <@a, [{}]>> {epl.channel = 3 : i64}) attributes {epl.mesh = @a} {
  return %x : !epl.dist<tensor<4xf32>, <@a, [{}]>>
}

// -----

epl.mesh @a axes ["data"=2] first 0 strides [2]
epl.mesh @b axes ["data"=2] first 1 strides [2]

// expected-note@+1 {{the first one is here}}
func.func @receives(%x: !epl.dist<tensor<4xf32>, <@a, [{}]>> {epl.channel = 3 : i64}) attributes {epl.mesh = @a} {
  return
}
// expected-error@+1 {{is a second receiver of channel 3, expected one}}
func.func @too(%x: !epl.dist<tensor<4xf32>, <@b, [{}]>> {epl.channel = 3 : i64}) attributes {epl.mesh = @b} {
  return
}

// -----

epl.mesh @a axes ["data"=2] first 0 strides [2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @a

!whole = !epl.dist<tensor<4xf32>, <@a, [{}]>>
func.func @circle(%x: !whole {epl.channel = 3 : i64}) -> (!whole {epl.channel = 2 : i64}) attributes {epl.mesh = @a} {
  // expected-error@+1 {{'epl.task' op makes what is sent by channel 2, expected it before what is received by channel 3 is read}}
  %0 = epl.task <@tg0, forward> (%x) : (!whole) -> !whole {
  ^bb0(%a: tensor<4xf32>):
    epl.yield %a : tensor<4xf32>
  }
  return %0 : !whole
}
