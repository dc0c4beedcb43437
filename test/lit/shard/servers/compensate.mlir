// RUN: epl-opt %s -split-input-file -epl-split-roles="role=server compensate=true" | FileCheck %s

#backward = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// The update reads g + g g (w - w') wherever it read g, w' being the last argument.
// CHECK: {argument = 0 : i64, kind = "backup", name = "w"
// CHECK: func.func @apply0(%[[W:[^:]*]]: tensor<4xf32> {epl.name = "w", epl.role = "state"},
// CHECK-SAME: %[[G:[^:]*]]: tensor<4xf32> {epl.name = "pushed for w", epl.role = "constant"},
// CHECK-SAME: %[[BEFORE:[^:]*]]: tensor<4xf32> {epl.name = "w as its worker had it", epl.role = "constant"})
// CHECK: %[[NEW:.*]] = linalg.generic {{.*}} ins(%[[G]], %[[W]], %[[BEFORE]] :
// CHECK: ^bb0(%[[GRAD:.*]]: f32, %[[NOW:.*]]: f32, %[[THEN:.*]]: f32, %{{.*}}: f32):
// CHECK: %[[MOVED:.*]] = arith.subf %[[NOW]], %[[THEN]]
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[GRAD]], %[[GRAD]]
// CHECK: %[[MORE:.*]] = arith.mulf %[[SQUARE]], %[[MOVED]]
// CHECK: arith.addf %[[GRAD]], %[[MORE]]
// CHECK: %[[TWICE:.*]] = arith.addf %[[NEW]], %[[NEW]]
// CHECK: arith.subf %[[W]], %[[TWICE]]
func.func @descend(%w: tensor<4xf32> {epl.name = "w", epl.role = "state"}, %x: tensor<4xf32> {epl.name = "x", epl.role = "constant"})
    -> (tensor<4xf32> {epl.updates = 0 : i64}) {
  %g = arith.mulf %x, %w {epl.work = #backward} : tensor<4xf32>
  %twice = arith.addf %g, %g {epl.work = #apply} : tensor<4xf32>
  %new = arith.subf %w, %twice {epl.work = #apply} : tensor<4xf32>
  return %new : tensor<4xf32>
}

// -----

#backward = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// A number beside the gradient, such as a learning rate, is taken as it comes.
// CHECK: {argument = 0 : i64, kind = "backup", name = "w"
// CHECK: func.func @apply0(%[[W:[^:]*]]: tensor<4xf32> {{{[^}]*}}}, %[[G:[^:]*]]: tensor<4xf32> {epl.name = "pushed for w (0)", epl.role = "constant"},
// CHECK-SAME: tensor<f32> {epl.name = "pushed for w (1)", epl.role = "constant"},
// CHECK-SAME: %[[BEFORE:[^:]*]]: tensor<4xf32> {epl.name = "w as its worker had it", epl.role = "constant"})
// CHECK: linalg.generic {{.*}} ins(%[[G]], %[[W]], %[[BEFORE]] :
func.func @rate(%w: tensor<4xf32> {epl.name = "w", epl.role = "state"}, %x: tensor<4xf32> {epl.name = "x", epl.role = "constant"},
                %r: tensor<f32> {epl.name = "r", epl.role = "constant"}) -> (tensor<4xf32> {epl.updates = 0 : i64}) {
  %g = arith.mulf %x, %w {epl.work = #backward} : tensor<4xf32>
  %n = arith.addf %r, %r {epl.work = #backward} : tensor<f32>
  %moved = arith.addf %g, %w {epl.work = #apply} : tensor<4xf32>
  %new = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%moved, %n : tensor<4xf32>, tensor<f32>) outs(%w : tensor<4xf32>) attrs = {epl.work = #apply} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %c = arith.mulf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<4xf32>
  return %new : tensor<4xf32>
}

// -----

#backward = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// What is pushed is no gradient like the parameter: nothing is compensated.
// CHECK-NOT: kind = "backup"
// CHECK: func.func @apply0(%{{[^:]*}}: tensor<4xf32> {{{[^}]*}}}, %{{[^:]*}}: tensor<f32> {{{[^}]*}}}) ->
func.func @number(%w: tensor<4xf32> {epl.name = "w", epl.role = "state"}, %x: tensor<f32> {epl.name = "x", epl.role = "constant"})
    -> (tensor<4xf32> {epl.updates = 0 : i64}) {
  %g = arith.addf %x, %x {epl.work = #backward} : tensor<f32>
  %new = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%w, %g : tensor<4xf32>, tensor<f32>) outs(%w : tensor<4xf32>) attrs = {epl.work = #apply} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %c = arith.subf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<4xf32>
  return %new : tensor<4xf32>
}
