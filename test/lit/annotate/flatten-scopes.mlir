// RUN: epl-opt %s --split-input-file --epl-flatten-scopes | FileCheck %s

// Regions: inlined, in order of first use; scopes of one name are one, also when something stands between them.

// CHECK: func.func @regions
// CHECK-SAME: attributes {epl.scopes = {tg0 = #epl.scope<replicate, 1, "a">, tg1 = #epl.scope<split, 2, "">, tg2 = #epl.scope<split, 2, "">}}
// CHECK-NEXT: math.tanh %arg0 {epl.work = #epl.work<@tg0, forward>}
// CHECK-NEXT: math.sin {{.*}}#epl.work<@tg1, forward>
// CHECK-NEXT: math.cos {{.*}}#epl.work<@tg0, forward>
// CHECK-NEXT: math.exp {{.*}}#epl.work<@tg2, forward>
// CHECK-NEXT: return
func.func @regions(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = epl.replicate name("a") -> tensor<4xf32> {
    %1 = math.tanh %x : tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  epl.replicate {
  }
  %2 = epl.split devices(2) -> tensor<4xf32> {
    %1 = math.sin %0 : tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  %3 = epl.replicate name("a") -> tensor<4xf32> {
    %1 = math.cos %2 : tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  %4 = epl.split devices(2) -> tensor<4xf32> {
    %1 = math.exp %3 : tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  return %4 : tensor<4xf32>
}

// -----

// What scopes of one name say of parameters is put together, each constraint once; a constraint is an op like others.
// CHECK: func.func @constraints
// CHECK-SAME: tg0 = #epl.scope<split, 2, "a", dims = [<"w0" = 1>, <"w1" = 0>, <"w2" whole>]>
// CHECK-SAME: tg1 = #epl.scope<split, 2, "", dims = [<"w0" = 0>]>
// CHECK-NEXT: math.tanh
// CHECK-NEXT: epl.constrain {{.*}} to <[{"model"}]> {epl.work = #epl.work<@tg0, forward>}
func.func @constraints(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = epl.split name("a") devices(2) dims([#epl.dim_constraint<"w0" = 1>, #epl.dim_constraint<"w1" = 0>]) -> tensor<4xf32> {
    %1 = math.tanh %x : tensor<4xf32>
    %2 = epl.constrain %1 to <[{"model"}]> : tensor<4xf32>
    epl.yield %2 : tensor<4xf32>
  }
  %3 = epl.split name("a") devices(2) dims([#epl.dim_constraint<"w1" = 0>, #epl.dim_constraint<"w2" whole>]) -> tensor<4xf32> {
    %1 = math.cos %0 : tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  %4 = epl.split devices(2) dims([#epl.dim_constraint<"w0" = 0>]) -> tensor<4xf32> {
    %1 = math.exp %3 : tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  return %4 : tensor<4xf32>
}

// -----

// A value may be yielded twice, or be one from outside; two scopes may hold equal ops.
// CHECK: func.func @yields
// CHECK-NEXT: %[[A:.*]] = math.tanh %arg0 {{.*}}<@tg0, forward>
// CHECK-NEXT: %[[B:.*]] = math.tanh %arg0 {{.*}}<@tg1, forward>
// CHECK-NEXT: return %[[A]], %[[A]], %arg0, %[[B]]
func.func @yields(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = epl.replicate -> tensor<4xf32>, tensor<4xf32>, tensor<4xf32> {
    %1 = math.tanh %x : tensor<4xf32>
    epl.yield %1, %1, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  %2 = epl.replicate -> tensor<4xf32> {
    %1 = math.tanh %x : tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  return %0#0, %0#1, %0#2, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Locations, with the names and kinds of the table. Numbers follow the ops, not the ids.
// CHECK: func.func @locations
// CHECK-SAME: epl.scopes = {tg0 = #epl.scope<split, 4, "head">, tg1 = #epl.scope<replicate, 1, "">}
// CHECK-NEXT: math.sin {{.*}}<@tg0, forward>
// CHECK-NEXT: math.cos {{.*}}<@tg1, forward>
// CHECK-NEXT: math.exp {{.*}}<@tg0, forward>
func.func @locations(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">, s1 = #epl.scope<split, 4, "head">,
                              s2 = #epl.scope<split, 4, "head">}} {
  %0 = math.sin %x : tensor<4xf32> loc("jit(step)/jvp(epl.s1)/sin")
  %1 = math.cos %0 : tensor<4xf32> loc("jit(step)/jvp(epl.s0)/cos")
  %2 = math.exp %1 : tensor<4xf32> loc("jit(step)/jvp(epl.s2)/exp")
  return %2 : tensor<4xf32>
}

// -----

// A region wins over a location, and dead ops go, dead scopes with them.
// CHECK: func.func @region_and_location
// CHECK-SAME: epl.scopes = {tg0 = #epl.scope<replicate, 1, "region">}
// CHECK-NEXT: math.sin {{.*}}<@tg0, backward>
// CHECK-NEXT: return
func.func @region_and_location(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.scopes = {s0 = #epl.scope<split, 2, "">}} {
  %dead = math.exp %x : tensor<4xf32> loc("epl.s0/exp")
  %1 = math.exp %dead : tensor<4xf32> loc("epl.s0/exp")
  %0 = epl.replicate name("region") -> tensor<4xf32> {
    %2 = math.sin %x : tensor<4xf32> loc("transpose(jvp(epl.s0))/sin")
    epl.yield %2 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// Ops outside every scope: the last producer, or else the first consumer, however far; constants are no producers.
// CHECK: func.func @neighbours
// CHECK-NEXT: arith.constant {epl.work = #epl.work<@tg1, forward>} dense<1.0
// CHECK-NEXT: math.absf {{.*}}<@tg0, forward>
// CHECK-NEXT: math.ceil {{.*}}<@tg0, forward>
// CHECK-NEXT: math.sin {{.*}}<@tg0, forward>
// CHECK-NEXT: math.cos {{.*}}<@tg1, forward>
// CHECK-NEXT: arith.mulf {{.*}}<@tg1, forward>
// CHECK-NEXT: arith.addf {{.*}}<@tg1, forward>
// CHECK-NEXT: math.floor {{.*}}<@tg0, forward>
// CHECK-NEXT: math.tan {{.*}}<@tg0, forward>
func.func @neighbours(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">, s1 = #epl.scope<replicate, 1, "">}} {
  %c = arith.constant dense<1.0> : tensor<4xf32>
  %0 = math.absf %x : tensor<4xf32>
  %1 = math.ceil %0 : tensor<4xf32>
  %2 = math.sin %1 : tensor<4xf32> loc("epl.s0/sin")
  %3 = math.cos %2 : tensor<4xf32> loc("epl.s1/cos")
  %4 = arith.mulf %c, %3 : tensor<4xf32>
  %5 = arith.addf %4, %2 : tensor<4xf32>
  %6 = math.floor %2 : tensor<4xf32>
  // Related to no scope at all: the first task graph.
  %7 = math.tan %x : tensor<4xf32>
  return %5, %6, %7 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// What an op's region uses counts as its operand.
// CHECK: func.func @captures
// CHECK: linalg.generic {{.*}}<@tg0, apply>
#map = affine_map<(d0) -> (d0)>
func.func @captures(%x: tensor<4xf32>, %y: tensor<f32>) -> tensor<4xf32>
    attributes {epl.scopes = {s0 = #epl.scope<replicate, 1, "">}} {
  %0 = math.sin %y : tensor<f32> loc("transpose(jvp(epl.s0))/sin")
  %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%x : tensor<4xf32>) {
  ^bb0(%out: f32):
    %2 = tensor.extract %0[] : tensor<f32>
    %3 = arith.addf %out, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// A default strategy takes the forward ops outside scopes; the optimizer still follows the gradients, and a
// constant its consumer.
// CHECK: func.func @default
// CHECK-SAME: epl.scopes = {tg0 = #epl.scope<replicate, 1, "">, tg1 = #epl.scope<replicate, 1, "">}
// CHECK-NEXT: arith.constant {epl.work = #epl.work<@tg1, forward>}
// CHECK-NEXT: math.absf {{.*}}<@tg0, forward>
// CHECK-NEXT: arith.mulf {{.*}}<@tg1, forward>
// CHECK-NEXT: math.cos {{.*}}<@tg1, backward>
// CHECK-NEXT: math.exp {{.*}}<@tg1, apply>
// CHECK-NOT: default_strategy
func.func @default(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.default_strategy = #epl.strategy<replicate, 1>, epl.scopes = {s0 = #epl.scope<replicate, 1, "">}} {
  %c = arith.constant dense<1.0> : tensor<4xf32>
  %0 = math.absf %x : tensor<4xf32>
  %1 = arith.mulf %0, %c : tensor<4xf32> loc("jvp(epl.s0)/mul")
  %2 = math.cos %1 : tensor<4xf32> loc("transpose(jvp(epl.s0))/cos")
  %3 = math.exp %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// Nothing but a default.
// CHECK: func.func @default_only
// CHECK-SAME: epl.scopes = {tg0 = #epl.scope<replicate, 2, "">}
// CHECK-NEXT: arith.constant {epl.work = #epl.work<@tg0, forward>}
// CHECK-NEXT: arith.addf {{.*}}<@tg0, forward>
func.func @default_only(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {epl.default_strategy = #epl.strategy<replicate, 2>} {
  %c = arith.constant dense<1.0> : tensor<4xf32>
  %0 = arith.addf %x, %c : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A step without ops has a task graph, too: what it returns may have to be moved.
// CHECK: func.func @empty{{.*}} attributes {epl.scopes = {tg0 = #epl.scope<replicate, 1, "">}}
func.func @empty(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// What makes a value that is kept says so; an argument (%x) is kept in any case. A name keeps no dead op alive.
// CHECK: func.func @checkpoints
// CHECK-NEXT: math.tanh %arg0 {epl.checkpoint, epl.work = #epl.work<@tg0, forward>}
// CHECK-NEXT: math.sin %{{.*}} {epl.work = #epl.work<@tg0, forward>}
// CHECK-NEXT: return
func.func @checkpoints(%x: tensor<4xf32>) -> tensor<4xf32> {
  epl.checkpoint %x : tensor<4xf32>
  %0 = epl.replicate -> tensor<4xf32> {
    %1 = math.tanh %x : tensor<4xf32>
    %2 = math.sin %1 : tensor<4xf32>
    epl.checkpoint %1 : tensor<4xf32>
    %3 = math.cos %2 : tensor<4xf32>
    epl.checkpoint %3 : tensor<4xf32>
    epl.yield %2 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
