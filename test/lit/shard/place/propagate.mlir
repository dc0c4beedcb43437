// RUN: epl-opt %s -split-input-file -epl-propagate | FileCheck %s

epl.mesh @mesh axes ["data"=2]

#batch = #epl.sharding<@mesh, [{"data"}, {}]>
#whole = #epl.sharding<@mesh, [{}, {}]>

// Forward: the batch dimension goes through a contraction; contracting it makes a pending sum.
// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<8x4xf32> {epl.sharding = #batch}, %w: tensor<4x6xf32> {epl.sharding = #whole}) {
  %z0 = arith.constant dense<0.0> : tensor<8x6xf32>
  %z1 = arith.constant dense<0.0> : tensor<4x6xf32>
  // CHECK: linalg.matmul {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}, {}]>]} ins(%{{.*}}, %{{.*}} : tensor<8x4xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<8x4xf32>, tensor<4x6xf32>) outs(%z0 : tensor<8x6xf32>) -> tensor<8x6xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  // CHECK: linalg.transpose {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}, {"data"}]>]
  %t = linalg.transpose ins(%x : tensor<8x4xf32>) outs(%e : tensor<4x8xf32>) permutation = [1, 0]
  // CHECK: linalg.matmul {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}, {}], partial = sum{"data"}>]}
  %1 = linalg.matmul ins(%t, %0 : tensor<4x8xf32>, tensor<8x6xf32>) outs(%z1 : tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// Results of one op with their own reductions.
// CHECK-LABEL: func.func @sum_and_max
func.func @sum_and_max(%x: tensor<8x4xf32> {epl.sharding = #batch}, %m: tensor<4xf32>) {
  %z = arith.constant dense<0.0> : tensor<4xf32>
  // CHECK: linalg.generic {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}], partial = sum{"data"}>, #epl.sharding<@mesh, [{}], partial = max{"data"}>]
  %0:2 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>],
      iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8x4xf32>) outs(%z, %m : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: f32, %acc: f32, %max: f32):
    %1 = arith.addf %acc, %a : f32
    %2 = arith.maximumf %max, %a : f32
    linalg.yield %1, %2 : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// A reduction that is not matched, an op without a rule, a capture: computed whole.
// CHECK-LABEL: func.func @whole
func.func @whole(%x: tensor<8x4xf32> {epl.sharding = #batch}, %init: tensor<4xf32>, %y: tensor<8x4xf32>) {
  // CHECK: linalg.generic {{.*}} attrs = {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %0 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>],
      iterator_types = ["reduction", "parallel"]} ins(%x : tensor<8x4xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %1 = arith.negf %a : f32
    %2 = arith.subf %acc, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  // CHECK: linalg.softmax {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}, {}]>]}
  %3 = linalg.softmax dimension(1) ins(%x : tensor<8x4xf32>) outs(%y : tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: linalg.generic {{.*}} attrs = {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]}
  %4 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%init : tensor<4xf32>) {
  ^bb0(%out: f32):
    %c0 = arith.constant 0 : index
    %5 = tensor.extract %x[%c0, %c0] : tensor<8x4xf32>
    linalg.yield %5 : f32
  } -> tensor<4xf32>
  return
}

// Two operands ask for different factors: the larger in bytes wins, among equals the lower factor.
// CHECK-LABEL: func.func @conflicts
func.func @conflicts(%a: tensor<8x4xf32> {epl.sharding = #batch},
                     %b: tensor<8x4xf64> {epl.sharding = #epl.sharding<@mesh, [{}, {"data"}]>},
                     %c: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{}, {"data"}]>}) {
  %e = tensor.empty() : tensor<8x4xf64>
  // CHECK: linalg.generic {{.*}} attrs = {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}, {"data"}]>]}
  %0 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%a, %b : tensor<8x4xf32>, tensor<8x4xf64>) outs(%e : tensor<8x4xf64>) {
  ^bb0(%x: f32, %y: f64, %out: f64):
    %1 = arith.extf %x : f32 to f64
    %2 = arith.addf %1, %y : f64
    linalg.yield %2 : f64
  } -> tensor<8x4xf64>
  // CHECK: arith.addf {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}, {}]>]} : tensor<8x4xf32>
  %3 = arith.addf %c, %a : tensor<8x4xf32>
  return
}

// Reverse: what every user slices in one way is made in slices, an iota included; what one of them reads whole
// is not; a chain follows.
// CHECK-LABEL: func.func @reverse
func.func @reverse(%x: tensor<8xi32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}) -> tensor<8xi32> {
  // CHECK: tensor.empty() {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}]>]}
  %e0 = tensor.empty() : tensor<8xi32>
  // CHECK: linalg.generic {{.*}} attrs = {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}]>]}
  %iota = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%e0 : tensor<8xi32>) {
  ^bb0(%out: i32):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %0 : index to i32
    linalg.yield %1 : i32
  } -> tensor<8xi32>
  // CHECK: arith.constant {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}]>]} dense<3>
  %three = arith.constant dense<3> : tensor<8xi32>
  // CHECK: arith.addi {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}]>]}
  %2 = arith.addi %iota, %three : tensor<8xi32>
  // CHECK: arith.constant {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]} dense<5>
  %five = arith.constant dense<5> : tensor<8xi32>
  // Read by the return too.
  // CHECK: arith.constant {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]} dense<7>
  %seven = arith.constant dense<7> : tensor<8xi32>
  // Different in every place: made whole, then cut.
  // CHECK: arith.constant {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}]>]} dense<[0, 1, 2, 3, 4, 5, 6, 7]>
  %table = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>
  %3 = arith.addi %x, %2 : tensor<8xi32>
  %4 = arith.addi %3, %seven : tensor<8xi32>
  %5 = arith.addi %4, %table : tensor<8xi32>
  return %seven : tensor<8xi32>
}

// The reverse pass stops at partial values: one that meets the batch stays a pending sum. What reads the sum
// complete is made in the size that is read.
// CHECK-LABEL: func.func @reverse_stops
func.func @reverse_stops(%x: tensor<8x8xf32> {epl.sharding = #batch}) {
  %z = arith.constant dense<0.0> : tensor<8xf32>
  // CHECK: linalg.reduce {{.*}} partial = sum{"data"}>
  %p = linalg.reduce { arith.addf } ins(%x : tensor<8x8xf32>) outs(%z : tensor<8xf32>) dimensions = [0]
  // CHECK: arith.negf {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}], partial = sum{"data"}>]}
  %0 = arith.negf %p : tensor<8xf32>
  // CHECK: math.exp {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}]>]}
  %1 = math.exp %p : tensor<8xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  // CHECK: linalg.generic {{.*}} attrs = {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}, {}]>]}
  %2 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %0, %1 : tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
    %3 = arith.mulf %a, %b : f32
    %4 = arith.mulf %3, %c : f32
    linalg.yield %4 : f32
  } -> tensor<8x8xf32>
  return
}

// Extents that an axis does not divide: [8] -> [2, 4] keeps the batch on 2 devices ...
// CHECK-LABEL: func.func @divisible
func.func @divisible(%x: tensor<8x4xf32> {epl.sharding = #batch}) {
  // CHECK: tensor.expand_shape {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}, {}, {}]>]
  %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 4, 4] : tensor<8x4xf32> into tensor<2x4x4xf32>
  return
}

// Arguments without a sharding join: those that are only read in slices, and those whose next value is sharded.
// CHECK-LABEL: func.func @open_arguments
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<8x4xf32>
// CHECK-SAME: %[[MASK:[a-z0-9]*]]: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>}
// CHECK-SAME: %[[AVG:[a-z0-9]*]]: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>}
// CHECK-SAME: %[[COUNT:[a-z0-9]*]]: tensor<f32> {epl.sharding = #epl.sharding<@mesh, []>}
func.func @open_arguments(%x: tensor<8x4xf32> {epl.sharding = #batch}, %mask: tensor<8x4xf32>, %avg: tensor<8x4xf32>, %count: tensor<f32>)
    -> (tensor<8x4xf32> {epl.updates = 2 : i64}, tensor<8x4xf32>) {
  %0 = arith.mulf %x, %mask : tensor<8x4xf32>
  // CHECK: math.absf %[[AVG]] {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}, {}]>]}
  %1 = math.absf %avg : tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}

// A declared sharding stands, whatever its tied result does.
// CHECK-LABEL: func.func @declared_arguments
// CHECK-SAME: %{{[a-z0-9]*}}: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{}, {}]>})
func.func @declared_arguments(%x: tensor<8x4xf32> {epl.sharding = #batch}, %avg: tensor<8x4xf32> {epl.sharding = #whole})
    -> (tensor<8x4xf32> {epl.updates = 1 : i64}) {
  %0 = math.absf %x : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// A result of another type updates nothing.
// CHECK-LABEL: func.func @wrong_update
// CHECK-SAME: %{{[a-z0-9]*}}: tensor<f32> {epl.sharding = #epl.sharding<@mesh, []>})
func.func @wrong_update(%x: tensor<8x4xf32> {epl.sharding = #batch}, %s: tensor<f32>) -> (tensor<8x4xf32> {epl.updates = 1 : i64}) {
  return %x : tensor<8x4xf32>
}

// Ops without tensors get no sharding.
// CHECK-LABEL: func.func @scalars
func.func @scalars(%s: tensor<f32>) {
  // CHECK: %{{.*}} = tensor.extract %{{.*}}[] : tensor<f32>
  %0 = tensor.extract %s[] : tensor<f32>
  // CHECK: %{{.*}} = arith.addf %{{.*}}, %{{.*}} : f32
  %1 = arith.addf %0, %0 : f32
  return
}

// -----

// ... and not on 4.
epl.mesh @mesh axes ["data"=4]

// CHECK-LABEL: func.func @not_divisible
func.func @not_divisible(%x: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>}) {
  // CHECK: tensor.expand_shape {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}, {}, {}]>]
  %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 4, 4] : tensor<8x4xf32> into tensor<2x4x4xf32>
  return
}

// -----

// Axes go one after another and share what divides.
epl.mesh @mesh axes ["data"=2, "model"=2]

// CHECK-LABEL: func.func @two_axes
func.func @two_axes(%x: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {}]>},
                    %w: tensor<4x6xf32> {epl.sharding = #epl.sharding<@mesh, [{}, {"model"}]>},
                    %both: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data", "model"}, {}]>}) {
  %z0 = arith.constant dense<0.0> : tensor<8x6xf32>
  // CHECK: linalg.matmul {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}, {"model"}]>]}
  %0 = linalg.matmul ins(%x, %w : tensor<8x4xf32>, tensor<4x6xf32>) outs(%z0 : tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK: math.exp {{.*}} {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data", "model"}, {}]>]}
  %1 = math.exp %both : tensor<8x4xf32>
  // Each axis divides 2, both together do not: "model" lets go.
  // CHECK: tensor.expand_shape {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}, {}, {}]>]
  %2 = tensor.expand_shape %both [[0, 1], [2]] output_shape [2, 4, 4] : tensor<8x4xf32> into tensor<2x4x4xf32>
  return
}

// Open arguments join on every axis.
// CHECK-LABEL: func.func @open_on_two_axes
// CHECK-SAME: %{{[a-z0-9]*}}: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {"model"}]>})
func.func @open_on_two_axes(%x: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {"model"}]>}, %mask: tensor<8x4xf32>) {
  %0 = arith.mulf %x, %mask : tensor<8x4xf32>
  return
}

// -----

// A replicated op whose reader slices it is made sharded though it captures a value that is pending: what is
// captured will be complete.
epl.mesh @mesh axes ["data"=2]

// CHECK-LABEL: func.func @captured_pending
func.func @captured_pending(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}) -> tensor<8x4xf32> {
  %init = arith.constant dense<0xFF800000> : tensor<f32>
  // CHECK: epl.sharding = [#epl.sharding<@mesh, [], partial = max{"data"}>]
  %max = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<8xf32>) outs(%init : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.maximumf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<f32>
  %e = tensor.empty() : tensor<8x4xf32>
  // CHECK: outs({{.*}}) attrs = {{.*}}epl.sharding = [#epl.sharding<@mesh, [{"data"}, {}]>]}
  // CHECK: tensor.extract
  %same = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      outs(%e : tensor<8x4xf32>) {
  ^bb0(%out: f32):
    %0 = tensor.extract %max[] : tensor<f32>
    linalg.yield %0 : f32
  } -> tensor<8x4xf32>
  // CHECK: epl.sharding = [#epl.sharding<@mesh, [{"data"}, {}]>]
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%same, %x : tensor<8x4xf32>, tensor<8xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%in: f32, %scale: f32, %out: f32):
    %0 = arith.mulf %in, %scale : f32
    linalg.yield %0 : f32
  } -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

epl.mesh @mesh axes ["data"=2, "model"=2]

// Two axes divide what a reshape joins, but not the dimension of its operand that is the major part: one shards that.
// CHECK-LABEL: func.func @joined
// CHECK: tensor.collapse_shape {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}, {"data"}]>]
// CHECK: epl.constrain {{.*}}epl.sharding = [#epl.sharding<@mesh, [{}, {"data", "model"}]>]
func.func @joined(%x: tensor<2x2x2xf32> {epl.sharding = #epl.sharding<@mesh, [{}, {}, {}]>}) -> tensor<2x4xf32> {
  %0 = math.exp %x : tensor<2x2x2xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<2x2x2xf32> into tensor<2x4xf32>
  %2 = epl.constrain %1 to <[{}, {"data", "model"}]> : tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}
