// RUN: epl-opt %s --epl-mark-in-place | FileCheck %s

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!v = !epl.dist<tensor<4xf32>, <@mesh, [{}]>>
!m = !epl.dist<tensor<4x8xf32>, <@mesh, [{}, {}]>>
#i = affine_map<(d0) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

func.func @launches(%w: !v, %g: !v, %x: !m, %y: !m) -> (!v {epl.updates = 0 : i64}, !v, !m, !m, !m, !v) {
  %r:6 = epl.task <@tg0, apply> (%w, %g, %x, %y) : (!v, !v, !m, !m) -> (!v, !v, !m, !m, !m, !v) {
  ^bb0(%lw: tensor<4xf32>, %lg: tensor<4xf32>, %lx: tensor<4x8xf32>, %ly: tensor<4x8xf32>):
    %0:2 = epl.launch @update(%lg, %lw) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %1 = epl.launch @exp(%lx) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2:2 = epl.launch @passes(%1) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    %3 = epl.launch @exp(%ly) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %4:2 = epl.launch @rows(%3) : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
    epl.yield %0#0, %0#1, %2#0, %2#1, %4#0, %4#1 : tensor<4xf32>, tensor<4xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>
  }
  return %r#0, %r#1, %r#2, %r#3, %r#4, %r#5 : !v, !v, !m, !m, !m, !v
}

// The weight takes the place of the weight, though the gradient comes first. The other result finds no input
// that it would replace: the caller still has its own.
// CHECK-LABEL: epl.kernel @update
// CHECK: {in_place = array<i32: 1, -1>}
epl.kernel @update fusion {
^bb0(%g: tensor<4xf32>, %w: tensor<4xf32>):
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#i, #i, #i], iterator_types = ["parallel"]} ins(%w, %g : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.subf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  epl.yield %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Its inputs are arguments of the step.
// CHECK-LABEL: epl.kernel @exp
// CHECK: epl.yield
// CHECK-NOT: in_place
epl.kernel @exp fusion {
^bb0(%x: tensor<4x8xf32>):
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  epl.yield %0 : tensor<4x8xf32>
}

// What the first pass over a row makes may not replace what the second one reads again; the second's may.
// CHECK-LABEL: epl.kernel @passes
// CHECK: {in_place = array<i32: -1, 0>}
epl.kernel @passes fusion {
^bb0(%x: tensor<4x8xf32>):
  %z = arith.constant dense<0.0> : tensor<4xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<4x8xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %2 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %1 : tensor<4x8xf32>, tensor<4xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.divf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  epl.yield %0, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}

// The sum is taken in the same pass that writes what is summed.
// CHECK-LABEL: epl.kernel @rows
// CHECK: {in_place = array<i32: 0, -1>}
epl.kernel @rows fusion {
^bb0(%x: tensor<4x8xf32>):
  %z = arith.constant dense<0.0> : tensor<4xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<4x8xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  epl.yield %0, %1 : tensor<4x8xf32>, tensor<4xf32>
}

// What another task makes is replaced where nothing else reads it: not where the caller gets it, too.
func.func @tasks(%x: !v, %y: !v) -> (!v, !v, !v) {
  %0:2 = epl.task <@tg0, forward> (%x, %y) : (!v, !v) -> (!v, !v) {
  ^bb0(%lx: tensor<4xf32>, %ly: tensor<4xf32>):
    %a = epl.launch @negate(%lx) : (tensor<4xf32>) -> tensor<4xf32>
    %b = epl.launch @negate(%ly) : (tensor<4xf32>) -> tensor<4xf32>
    epl.yield %a, %b : tensor<4xf32>, tensor<4xf32>
  }
  %1:2 = epl.task <@tg0, forward> (%0#0, %0#1) : (!v, !v) -> (!v, !v) {
  ^bb0(%la: tensor<4xf32>, %lb: tensor<4xf32>):
    %a = epl.launch @double(%la) : (tensor<4xf32>) -> tensor<4xf32>
    %b = epl.launch @triple(%lb) : (tensor<4xf32>) -> tensor<4xf32>
    epl.yield %a, %b : tensor<4xf32>, tensor<4xf32>
  }
  return %1#0, %1#1, %0#1 : !v, !v, !v
}

// CHECK-LABEL: epl.kernel @negate
// CHECK: epl.yield
// CHECK-NOT: in_place
epl.kernel @negate fusion {
^bb0(%x: tensor<4xf32>):
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  epl.yield %0 : tensor<4xf32>
}

// CHECK-LABEL: epl.kernel @double
// CHECK: epl.yield
// CHECK: {in_place = array<i32: 0>}
epl.kernel @double fusion {
^bb0(%x: tensor<4xf32>):
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  epl.yield %0 : tensor<4xf32>
}

// CHECK-LABEL: epl.kernel @triple
// CHECK: epl.yield
// CHECK-NOT: in_place
epl.kernel @triple fusion {
^bb0(%x: tensor<4xf32>):
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  epl.yield %0 : tensor<4xf32>
}
