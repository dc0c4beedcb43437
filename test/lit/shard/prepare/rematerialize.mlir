// RUN: epl-opt %s -epl-rematerialize -split-input-file | FileCheck %s

#fwd = #epl.work<@tg0, forward>
#bwd = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>
#id = affine_map<(i) -> (i)>

epl.taskgraph @tg0 strategy(<replicate, 1>)

// The square of a kept tanh, and what is made of it, move to where they are read; the tanh itself stays.
// CHECK-LABEL: func.func @chain
// CHECK: math.tanh {{.*}} {epl.work = #epl.work<@tg0, forward>}
// CHECK: linalg.generic {{.*}} ins(%[[T:.*]] : tensor<8xf32>) {{.*}} attrs = {epl.work = #epl.work<@tg0, backward>}
// CHECK: arith.mulf
// CHECK: linalg.generic {{.*}} attrs = {epl.work = #epl.work<@tg0, backward>}
// CHECK: arith.subf
// CHECK-NOT: epl.work<@tg0, forward>
func.func @chain(%x: tensor<8xf32>, %one: f32) -> tensor<8xf32> {
  %e = tensor.empty() {epl.work = #fwd} : tensor<8xf32>
  %t = math.tanh %x {epl.work = #fwd} : tensor<8xf32>
  %square = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%t : tensor<8xf32>) outs(%e : tensor<8xf32>) attrs = {epl.work = #fwd} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %rest = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%square : tensor<8xf32>) outs(%e : tensor<8xf32>) attrs = {epl.work = #fwd} {
  ^bb0(%a: f32, %o: f32):
    %c = arith.constant 1.0 : f32
    %0 = arith.subf %c, %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%rest, %t : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) attrs = {epl.work = #bwd} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

#fwd = #epl.work<@tg0, forward>
#bwd = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>
#id = affine_map<(i) -> (i)>

epl.taskgraph @tg0 strategy(<replicate, 1>)

// A value that two works read is rematerialized in each; the forward work keeps the one that it reads itself.
// CHECK-LABEL: func.func @works
// CHECK: linalg.generic {{.*}} attrs = {epl.work = #epl.work<@tg0, forward>}
// CHECK: math.absf {{.*}} {epl.work = #epl.work<@tg0, forward>}
// CHECK: %[[B:.*]] = linalg.generic {{.*}} attrs = {epl.work = #epl.work<@tg0, backward>}
// CHECK: linalg.generic {{.*}} ins(%[[B]] :
// CHECK: %[[A:.*]] = linalg.generic {{.*}} attrs = {epl.work = #epl.work<@tg0, apply>}
// CHECK: linalg.generic {{.*}} ins(%[[A]] :
func.func @works(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() {epl.work = #fwd} : tensor<8xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) attrs = {epl.work = #fwd} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %f = math.absf %v {epl.work = #fwd} : tensor<8xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%v : tensor<8xf32>) outs(%e : tensor<8xf32>) attrs = {epl.work = #bwd} {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %u = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%v : tensor<8xf32>) outs(%e : tensor<8xf32>) attrs = {epl.work = #apply} {
  ^bb0(%a: f32, %o: f32):
    %0 = math.log %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %f, %b, %u : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

#fwd = #epl.work<@tg0, forward>
#bwd = #epl.work<@tg0, backward>
#id = affine_map<(i) -> (i)>

epl.taskgraph @tg0 strategy(<replicate, 1>)

// What stays: an exponential; a sum of three arguments, which are more to read; what is returned.
// CHECK-LABEL: func.func @stays
// CHECK-COUNT-3: attrs = {epl.work = #epl.work<@tg0, forward>}
// CHECK-NOT: epl.work<@tg0, forward>
// CHECK: attrs = {epl.work = #epl.work<@tg0, backward>}
// CHECK-NOT: epl.work
func.func @stays(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) attrs = {epl.work = #fwd} {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %three = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %y, %z : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>)
      attrs = {epl.work = #fwd} {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  %out = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) attrs = {epl.work = #fwd} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %b = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel"]}
      ins(%exp, %three, %out : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>)
      attrs = {epl.work = #bwd} {
  ^bb0(%a: f32, %c: f32, %d: f32, %o: f32):
    %0 = arith.addf %a, %c : f32
    %1 = arith.addf %0, %d : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  return %b, %out : tensor<8xf32>, tensor<8xf32>
}

// -----

#fwd = #epl.work<@tg0, forward>
#bwd = #epl.work<@tg0, backward>
#id = affine_map<(i, j) -> (i, j)>

epl.taskgraph @tg0 strategy(<replicate, 1>)

// A product of the backward work reads it from memory: it stays.
// CHECK-LABEL: func.func @product
// CHECK: arith.negf
// CHECK: reduction
// CHECK-NOT: arith.negf
func.func @product(%x: tensor<4x4xf32>, %e: tensor<4x4xf32>, %g: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) attrs = {epl.work = #fwd} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  } -> tensor<4x4xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                                        affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v, %g : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) attrs = {epl.work = #bwd} {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x4xf32>
  return %b : tensor<4x4xf32>
}

// -----

#fwd = #epl.work<@tg0, forward>
#bwd = #epl.work<@tg0, backward>
#id = affine_map<(i) -> (i)>

epl.taskgraph @tg0 strategy(<replicate, 1>)

// A constant that a body captures is there for the copy as well.
// CHECK-LABEL: func.func @captured_constant
// CHECK: %[[C:.*]] = arith.constant
// CHECK: math.tanh {{.*}} {epl.work = #epl.work<@tg0, forward>}
// CHECK: linalg.generic {{.*}} attrs = {epl.work = #epl.work<@tg0, backward>}
// CHECK: arith.mulf %{{.*}}, %[[C]]
// CHECK-NOT: epl.work<@tg0, forward>
func.func @captured_constant(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c = arith.constant {epl.work = #fwd} 0.5 : f32
  %e = tensor.empty() {epl.work = #fwd} : tensor<8xf32>
  %t = math.tanh %x {epl.work = #fwd} : tensor<8xf32>
  %half = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%t : tensor<8xf32>) outs(%e : tensor<8xf32>) attrs = {epl.work = #fwd} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %c : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%half, %t : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) attrs = {epl.work = #bwd} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
