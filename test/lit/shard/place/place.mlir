// RUN: epl-opt %s -split-input-file -epl-propagate -epl-place -epl-verify-sharded | FileCheck %s

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

!x = tensor<8x4xf32>
!v = tensor<4xf32>
#batch = #epl.sharding<@mesh, [{"data"}, {}]>
#whole = #epl.sharding<@mesh, [{}, {}]>
#v = #epl.sharding<@mesh, [{}]>
#forward = #epl.work<@tg0, forward>
#backward = #epl.work<@tg0, backward>

// Late: the sum travels through the linear op of its work and is completed before the one that is not linear, once
// for all uses. The reshard belongs to the work of the value.
// CHECK-LABEL: func.func @late
func.func @late(%x: !x {epl.sharding = #batch}, %n: !v {epl.sharding = #v}) {
  %z = arith.constant {epl.work = #backward} dense<0.0> : !v
  // CHECK: linalg.reduce {{.*}} partial = sum{"data"}>
  // CHECK-NOT: epl.reshard
  %0 = linalg.reduce { arith.addf } ins(%x : !x) outs(%z : !v) dimensions = [0] {epl.work = #backward}
  // CHECK: %[[P:.*]] = arith.mulf {{.*}} partial = sum{"data"}>
  %1 = arith.mulf %0, %n {epl.work = #backward} : !v
  // CHECK-NEXT: %[[S:.*]] = epl.reshard %[[P]] to <@mesh, [{}]> {{[{].*}}epl.work = #epl.work<@tg0, backward>} : tensor<4xf32>
  // CHECK-NOT: epl.reshard
  // CHECK: math.exp %[[S]]
  %2 = math.exp %1 {epl.work = #forward} : !v
  // CHECK: arith.addf %[[S]], %{{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]
  %3 = arith.addf %1, %n {epl.work = #forward} : !v
  // CHECK: arith.negf %[[S]] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]
  %4 = arith.negf %1 {epl.work = #forward} : !v
  return
}

// What was zero before a reshard is zero behind it: pending sums may be written into it.
// CHECK-LABEL: func.func @resharded_zeros
func.func @resharded_zeros(%x: !x {epl.sharding = #batch}, %y: !x {epl.sharding = #batch}) -> !x {
  %z = arith.constant dense<0.0> : tensor<4x4xf32>
  %empty = tensor.empty() : !x
  %zeros = linalg.map ins(%x : !x) outs(%empty : !x) (%in: f32, %out: f32) {
    %zero = arith.constant 0.0 : f32
    linalg.yield %zero : f32
  }
  // CHECK: %[[ZEROS:.*]] = epl.reshard %mapped to <@mesh, [{}, {}]>
  // CHECK: %[[P0:.*]] = linalg.matmul {{.*}} partial = sum{"data"}>
  %0 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %x : !x, !x) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: %[[P1:.*]] = linalg.matmul {{.*}} partial = sum{"data"}>
  %1 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %y : !x, !x) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: %[[PART:.*]] = tensor.insert_slice %[[P0]] into %[[ZEROS]]{{.*}} partial = sum{"data"}>
  %2 = tensor.insert_slice %0 into %zeros[0, 0] [4, 4] [1, 1] : tensor<4x4xf32> into !x
  // CHECK: %[[ALL:.*]] = tensor.insert_slice %[[P1]] into %[[PART]]{{.*}} partial = sum{"data"}>
  // CHECK: epl.reshard %[[ALL]]
  %3 = tensor.insert_slice %1 into %2[4, 0] [4, 4] [1, 1] : tensor<4x4xf32> into !x
  return %3 : !x
}

// Both operands of a sum stay partial or none does: completing %0 for the exp completes %1 too, and their sum is
// complete by itself.
// CHECK-LABEL: func.func @tied
func.func @tied(%x: !x {epl.sharding = #batch}) -> !v {
  %z = arith.constant dense<0.0> : !v
  // CHECK: %[[P0:.*]] = linalg.reduce
  // CHECK-NEXT: %[[S0:.*]] = epl.reshard %[[P0]]
  %0 = linalg.reduce { arith.addf } ins(%x : !x) outs(%z : !v) dimensions = [0]
  %y = math.absf %x : !x
  // CHECK: %[[P1:.*]] = linalg.reduce
  // CHECK-NEXT: %[[S1:.*]] = epl.reshard %[[P1]]
  %1 = linalg.reduce { arith.addf } ins(%y : !x) outs(%z : !v) dimensions = [0]
  // CHECK: math.exp %[[S0]]
  %2 = math.exp %0 : !v
  // CHECK: %[[SUM:.*]] = arith.addf %[[S0]], %[[S1]] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  // CHECK-NEXT: return %[[SUM]]
  %3 = arith.addf %0, %1 : !v
  return %3 : !v
}

// Without the exp the sum of both is completed, once.
// CHECK-LABEL: func.func @after_the_sum
func.func @after_the_sum(%x: !x {epl.sharding = #batch}) -> !v {
  %z = arith.constant dense<0.0> : !v
  // CHECK-NOT: epl.reshard
  %0 = linalg.reduce { arith.addf } ins(%x : !x) outs(%z : !v) dimensions = [0]
  %y = math.absf %x : !x
  %1 = linalg.reduce { arith.addf } ins(%y : !x) outs(%z : !v) dimensions = [0]
  // CHECK: %[[P:.*]] = arith.addf {{.*}} partial = sum{"data"}>
  // CHECK-NEXT: %[[S:.*]] = epl.reshard %[[P]]
  // CHECK-NEXT: return %[[S]]
  %2 = arith.addf %0, %1 : !v
  return %2 : !v
}

// A maximum is completed where it is made; results of one op each for themselves.
// CHECK-LABEL: func.func @sum_and_max
func.func @sum_and_max(%x: !x {epl.sharding = #batch}, %m: !v {epl.sharding = #v}) -> (!v, !v) {
  %z = arith.constant dense<0.0> : !v
  // CHECK: %[[R:.*]]:2 = linalg.generic
  // CHECK: %[[MAX:.*]] = epl.reshard %[[R]]#1 to <@mesh, [{}]>
  %0:2 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>],
      iterator_types = ["reduction", "parallel"]} ins(%x : !x) outs(%z, %m : !v, !v) {
  ^bb0(%a: f32, %acc: f32, %max: f32):
    %1 = arith.addf %acc, %a : f32
    %2 = arith.maximumf %max, %a : f32
    linalg.yield %1, %2 : f32, f32
  } -> (!v, !v)
  // CHECK: %[[NEG:.*]] = arith.negf %[[R]]#0 {{.*}} partial = sum{"data"}>
  // CHECK: %[[SUM:.*]] = epl.reshard %[[NEG]]
  %3 = arith.negf %0#0 : !v
  // CHECK: %[[NEGMAX:.*]] = arith.negf %[[MAX]]
  %4 = arith.negf %0#1 : !v
  // CHECK: return %[[SUM]], %[[NEGMAX]]
  return %3, %4 : !v, !v
}

// One gather for each value, whoever reads it whole; those who read it sharded do not wait for it.
// CHECK-LABEL: func.func @gathers
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<8x4xf32>
func.func @gathers(%x: !x {epl.sharding = #batch}, %c: !x {epl.sharding = #epl.sharding<@mesh, [{}, {"data"}]>}, %e: !x) {
  // CHECK-NEXT: %[[MOVED:.*]] = epl.reshard %{{.*}} to <@mesh, [{"data"}, {}]> {{[{].*}}epl.work = #epl.work<@tg0, backward>}
  // CHECK-NEXT: %[[WHOLE:.*]] = epl.reshard %[[X]] to <@mesh, [{}, {}]> {{[{].*}}epl.work = #epl.work<@tg0, forward>}
  // CHECK-NOT: epl.reshard
  // CHECK: linalg.softmax {{.*}} ins(%[[WHOLE]]
  %0 = linalg.softmax {epl.work = #forward} dimension(1) ins(%x : !x) outs(%e : !x) -> !x
  // CHECK: linalg.softmax {{.*}} ins(%[[WHOLE]]
  %1 = linalg.softmax {epl.work = #backward} dimension(0) ins(%x : !x) outs(%e : !x) -> !x
  // CHECK: arith.addf %[[X]], %[[MOVED]]
  %2 = arith.addf %x, %c {epl.work = #backward} : !x
  return
}

// What is captured is gathered.
// CHECK-LABEL: func.func @captures
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<8x4xf32>
func.func @captures(%x: !x {epl.sharding = #batch}, %init: !v {epl.sharding = #v}) {
  // CHECK: %[[WHOLE:.*]] = epl.reshard %[[X]] to <@mesh, [{}, {}]>
  // CHECK: tensor.extract %[[WHOLE]]
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%init : !v) {
  ^bb0(%out: f32):
    %c0 = arith.constant 0 : index
    %1 = tensor.extract %x[%c0, %c0] : !x
    linalg.yield %1 : f32
  } -> !v
  return
}

// So is a pending sum that an op on a part of the batch captures.
// CHECK-LABEL: func.func @captures_partial
func.func @captures_partial(%x: !x {epl.sharding = #batch}) {
  %z = arith.constant dense<0.0> : tensor<f32>
  %e = tensor.empty() : !x
  // CHECK: %[[P:.*]] = linalg.reduce {{.*}} partial = sum{"data"}>
  // CHECK-NEXT: %[[NORM:.*]] = epl.reshard %[[P]] to <@mesh, []>
  %norm = linalg.reduce { arith.addf } ins(%x : !x) outs(%z : tensor<f32>) dimensions = [0, 1]
  // CHECK: linalg.generic
  // CHECK: tensor.extract %[[NORM]][]
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : !x) outs(%e : !x) {
  ^bb0(%a: f32, %out: f32):
    %1 = tensor.extract %norm[] : tensor<f32>
    %2 = arith.mulf %a, %1 : f32
    linalg.yield %2 : f32
  } -> !x
  return
}

// A replicated value is cut where it meets the batch; a sum that all users read in parts goes there directly, one
// with other users too is completed first.
// CHECK-LABEL: func.func @slices
func.func @slices(%x: tensor<8x8xf32> {epl.sharding = #batch}, %w: tensor<8x8xf32> {epl.sharding = #whole}) -> tensor<8x8xf32> {
  %z = arith.constant dense<0.0> : tensor<8x8xf32>
  // CHECK: %[[W:.*]] = epl.reshard %{{.*}} to <@mesh, [{"data"}, {}]>
  // CHECK: arith.addf %{{.*}}, %[[W]]
  %0 = arith.addf %x, %w : tensor<8x8xf32>
  // CHECK: %[[P1:.*]] = linalg.matmul {{.*}} partial = sum{"data"}>
  // CHECK-NEXT: %[[PART1:.*]] = epl.reshard %[[P1]] to <@mesh, [{"data"}, {}]>
  %1 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %x : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: arith.addf %{{.*}}, %[[PART1]]
  %2 = arith.addf %x, %1 : tensor<8x8xf32>
  // CHECK: %[[P3:.*]] = linalg.matmul {{.*}} partial = sum{"data"}>
  // CHECK-NEXT: %[[SUM3:.*]] = epl.reshard %[[P3]] to <@mesh, [{}, {}]>
  // CHECK-NEXT: %[[PART3:.*]] = epl.reshard %[[SUM3]] to <@mesh, [{"data"}, {}]>
  %3 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%0, %0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: arith.addf %{{.*}}, %[[PART3]]
  %4 = arith.addf %x, %3 : tensor<8x8xf32>
  // CHECK: return %[[SUM3]]
  return %3 : tensor<8x8xf32>
}

// A fill that is read whole and in parts is made twice, not cut; what nobody reads any more is gone.
// CHECK-LABEL: func.func @rematerialized
func.func @rematerialized(%x: tensor<8x8xf32> {epl.sharding = #batch}) -> tensor<8x8xf32> {
  %f0 = arith.constant 0.0 : f32
  // CHECK-DAG: %[[E:.*]] = tensor.empty() {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}, {}]>]}
  // CHECK-DAG: %[[EP:.*]] = tensor.empty() {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}, {}]>]}
  %e = tensor.empty() : tensor<8x8xf32>
  // CHECK: %[[WHOLE:.*]] = linalg.fill {{{.*}}[{}, {}]{{.*}}} ins(%{{.*}}) outs(%[[E]]
  // CHECK-NEXT: %[[PART:.*]] = linalg.fill {{{.*}}[{"data"}, {}]{{.*}}} ins(%{{.*}}) outs(%[[EP]]
  %z = linalg.fill ins(%f0 : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: linalg.matmul {{.*}} outs(%[[PART]]
  %0 = linalg.matmul ins(%x, %e : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: linalg.matmul {{.*}} outs(%[[WHOLE]]
  %1 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// An op that is rematerialized for each of its readers is gone, once.
// CHECK-LABEL: func.func @rematerialized_twice
func.func @rematerialized_twice(%x: tensor<8x8xf32> {epl.sharding = #batch}, %c: tensor<8x8xf32> {epl.sharding = #epl.sharding<@mesh, [{}, {"data"}]>}) {
  // CHECK-NEXT: tensor.empty() {{.*}}epl.sharding = [#epl.sharding<@mesh, [{{.*}}"data"
  // CHECK-NEXT: tensor.empty() {{.*}}epl.sharding = [#epl.sharding<@mesh, [{{.*}}"data"
  // CHECK-NEXT: linalg.exp
  %e = tensor.empty() : tensor<8x8xf32>
  %0 = linalg.exp ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.exp ins(%c : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// Results: those that update an argument return in its sharding, scalars complete, the others as they are.
// CHECK-LABEL: func.func @results
func.func @results(%x: !x {epl.sharding = #batch}, %avg: !x {epl.sharding = #whole}, %mu: tensor<8x8xf32> {epl.sharding = #batch})
    -> (!x {epl.updates = 1 : i64}, tensor<8x8xf32> {epl.updates = 2 : i64}, !x, tensor<f32>) {
  %z = arith.constant dense<0.0> : tensor<f32>
  %z8 = arith.constant dense<0.0> : tensor<8x8xf32>
  // CHECK: %[[ABS:.*]] = math.absf
  // CHECK-NEXT: %[[WHOLE:.*]] = epl.reshard %[[ABS]] to <@mesh, [{}, {}]>
  %0 = math.absf %x : !x
  // CHECK: %[[P:.*]] = linalg.reduce
  // CHECK-NEXT: %[[LOSS:.*]] = epl.reshard %[[P]] to <@mesh, []>
  %1 = linalg.reduce { arith.addf } ins(%x : !x) outs(%z : tensor<f32>) dimensions = [0, 1]
  // CHECK: %[[GRAM:.*]] = linalg.matmul {{.*}} partial = sum{"data"}>
  // CHECK-NEXT: %[[PART:.*]] = epl.reshard %[[GRAM]] to <@mesh, [{"data"}, {}]>
  %2 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%mu, %mu : tensor<8x8xf32>, tensor<8x8xf32>) outs(%z8 : tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: return %[[WHOLE]], %[[PART]], %[[ABS]], %[[LOSS]]
  return %0, %2, %0, %1 : !x, tensor<8x8xf32>, !x, tensor<f32>
}

// -----

// A sum over one axis keeps what the other shards.
epl.mesh @mesh axes ["data"=2, "model"=2]

// CHECK-LABEL: func.func @two_axes
func.func @two_axes(%x: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {"model"}]>}) -> tensor<4xf32> {
  %z = arith.constant dense<0.0> : tensor<4xf32>
  // CHECK: %[[P:.*]] = linalg.reduce {{.*}}[{"model"}], partial = sum{"data"}>
  // CHECK-NEXT: %[[S:.*]] = epl.reshard %[[P]] to <@mesh, [{"model"}]>
  // CHECK-NEXT: return %[[S]]
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<8x4xf32>) outs(%z : tensor<4xf32>) dimensions = [0]
  return %0 : tensor<4xf32>
}

// -----

epl.mesh @mesh axes ["data"=2, "model"=2]

// What is made of constants is rematerialized from what they were, not from the copies that others read.
// CHECK-LABEL: func.func @rematerialized_twice
// CHECK-NOT: epl.reshard
// CHECK: return
func.func @rematerialized_twice(%x: tensor<4x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>},
                        %y: tensor<4x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {"model"}]>})
    -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %c = arith.constant dense<1.0> : tensor<4x4xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]} ins(%c : tensor<4x4xf32>) outs(%c : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<4x4xf32>
  %0 = arith.addf %x, %g : tensor<4x4xf32>
  %1 = arith.addf %y, %g : tensor<4x4xf32>
  return %0, %1, %c : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

epl.mesh @mesh axes ["data"=2, "model"=2]

// The product is with what "data" splits: the sum over "data" is completed, the one over "model" flows on.
// CHECK-LABEL: func.func @one_of_two_sums
func.func @one_of_two_sums(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>},
                           %xm: tensor<8x8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data", "model"}, {}]>}) -> tensor<8xf32> {
  // CHECK: %[[P:.*]] = linalg.reduce {{.*}} partial = sum{"data", "model"}>
  // CHECK: %[[S:.*]] = epl.reshard %[[P]] to <@mesh, [{"data"}], partial = sum{"model"}>
  // CHECK: %[[Y:.*]] = arith.mulf %{{.*}}, %[[S]] {{.*}} partial = sum{"model"}>
  // CHECK: %[[R:.*]] = epl.reshard %[[Y]] to <@mesh, [{"data"}]>
  // CHECK: return %[[R]]
  %z = arith.constant dense<0.0> : tensor<8xf32>
  %0 = linalg.reduce { arith.addf } ins(%xm : tensor<8x8xf32>) outs(%z : tensor<8xf32>) dimensions = [0]
  %1 = arith.mulf %x, %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

epl.mesh @mesh axes ["data"=2, "model"=2]

// "data" makes the second product a pending sum before "model" splits %h, too. That 4 devices do not divide the
// columns of %h then is no reason to split its rows: it is distributed as the product needs it.
// CHECK-LABEL: func.func @summed_before_split
func.func @summed_before_split(%x: tensor<6x7xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>},
                               %w: tensor<7x6xf32> {epl.sharding = #epl.sharding<@mesh, [{}, {"model"}]>},
                               %v: tensor<6x7xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>}) -> tensor<6x7xf32> {
  // CHECK: %[[H:.*]] = linalg.matmul {{.*}} [#epl.sharding<@mesh, [{"data"}, {"model"}]>]
  // CHECK: %[[C:.*]] = epl.reshard %[[H]] to <@mesh, [{}, {"data"}]>
  // CHECK: %[[Y:.*]] = linalg.matmul {{.*}} partial = sum{"data"}>]} ins(%[[C]],
  // CHECK: epl.reshard %[[Y]] to <@mesh, [{}, {}]>
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x6xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<6x6xf32>) -> tensor<6x6xf32>
  %h = linalg.matmul ins(%x, %w : tensor<6x7xf32>, tensor<7x6xf32>) outs(%z : tensor<6x6xf32>) -> tensor<6x6xf32>
  %e1 = tensor.empty() : tensor<6x7xf32>
  %z1 = linalg.fill ins(%c : f32) outs(%e1 : tensor<6x7xf32>) -> tensor<6x7xf32>
  %y = linalg.matmul ins(%h, %v : tensor<6x6xf32>, tensor<6x7xf32>) outs(%z1 : tensor<6x7xf32>) -> tensor<6x7xf32>
  return %y : tensor<6x7xf32>
}

// -----

epl.mesh @mesh axes ["data"=2]

// What is needed whole is gathered before zeros make it larger, and before it is repeated.
// CHECK-LABEL: func.func @gathered_small
func.func @gathered_small(%x: tensor<4x3xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>},
                          %b: tensor<4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>},
                          %w: tensor<4x4x5xf32> {epl.sharding = #epl.sharding<@mesh, [{}, {"data"}, {}]>})
    -> (tensor<3x6xf32>, tensor<4x4x5xf32>) {
  // CHECK-DAG: %[[X:.*]] = epl.reshard %arg0 to <@mesh, [{}, {}]> {{.*}} : tensor<4x3xf32>
  // CHECK-DAG: %[[P:.*]] = tensor.pad %[[X]] low[0, 1] high[0, 2]
  // CHECK-DAG: %[[B:.*]] = epl.reshard %arg1 to <@mesh, [{}]> {{.*}} : tensor<4xf32>
  // CHECK-DAG: linalg.broadcast ins(%[[B]] : tensor<4xf32>)
  // CHECK-NOT: epl.reshard
  // CHECK: return
  %c = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 1] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } {epl.sharding = [#epl.sharding<@mesh, [{"data"}, {}]>]} : tensor<4x3xf32> to tensor<4x6xf32>
  %e = tensor.empty() : tensor<4x4x5xf32>
  %r = linalg.broadcast ins(%b : tensor<4xf32>) outs(%e : tensor<4x4x5xf32>) dimensions = [1, 2]
      {epl.sharding = [#epl.sharding<@mesh, [{"data"}, {}, {}]>]}
  %s = arith.addf %w, %r {epl.sharding = [#epl.sharding<@mesh, [{}, {"data"}, {}]>]} : tensor<4x4x5xf32>
  %q = tensor.extract_slice %p[0, 0] [3, 6] [1, 1] {epl.sharding = [#epl.sharding<@mesh, [{}, {}]>]}
      : tensor<4x6xf32> to tensor<3x6xf32>
  return %q, %s : tensor<3x6xf32>, tensor<4x4x5xf32>
}

// -----

epl.mesh @mesh axes ["data"=2, "model"=2]
epl.taskgraph @tg0 strategy(<split, 2>) on @mesh

#backward = #epl.work<@tg0, backward>

// A reshard changes both axes of a dimension: it does not divide by both, so it is never sharded over both.
// CHECK-LABEL: func.func @axes_change_places
func.func @axes_change_places(
    %x: tensor<8x16x2xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}, {"model"}]>}) -> tensor<16x2xf32> {
  %z = arith.constant {epl.work = #backward} dense<0.0> : tensor<16x2xf32>
  // CHECK: %[[SUM:.*]] = linalg.reduce {{.*}}[{}, {"model"}], partial = sum{"data"}>
  %p = linalg.reduce {arith.addf} ins(%x : tensor<8x16x2xf32>) outs(%z : tensor<16x2xf32>) dimensions = [0] {epl.work = #backward}
  // CHECK-NEXT: %[[MOVED:.*]] = epl.reshard %[[SUM]] to <@mesh, [{"model"}, {"data"}]>
  %r = epl.reshard %p to <@mesh, [{"model"}, {"data"}]> {epl.work = #backward} : tensor<16x2xf32>
  // CHECK-NEXT: math.sin %[[MOVED]]
  %s = math.sin %r {epl.work = #backward} : tensor<16x2xf32>
  return %s : tensor<16x2xf32>
}
