// RUN: epl-opt %s -split-input-file -epl-localize -epl-verify-local | FileCheck %s

#rows = #epl.sharding<@mesh, [{"data"}, {}]>
#whole = #epl.sharding<@mesh, [{}]>
#pending = #epl.sharding<@mesh, [{}], partial = sum{"data"}>
#scalar = #epl.sharding<@mesh, []>
#fwd = #epl.work<@tg0, forward>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// A reduction over the batch: local shapes inside, the sum between members, global types at the boundary;
// attributes of arguments and results stay.
// CHECK-LABEL: func.func @reduce
// CHECK-SAME: %[[ARG:.*]]: !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {}]>> {epl.batch_dim = 0 : i64, epl.role = "batch"}
// CHECK-SAME: -> (!epl.dist<tensor<4xf32>, <@mesh, [{}]>> {epl.name = "sum"})
// CHECK: %[[X:.*]] = epl.to_local %[[ARG]] : <tensor<8x4xf32>, <@mesh, [{"data"}, {}]>> -> tensor<4x4xf32>
// CHECK: %[[P:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<4x4xf32>) outs(%{{.*}} : tensor<4xf32>)
// CHECK-SAME: epl.work = #epl.work<@tg0, forward>
// CHECK: %[[D:.*]] = epl.from_local %[[P]] : tensor<4xf32> -> <tensor<4xf32>, <@mesh, [{}], partial = sum{"data"}>>
// CHECK: %[[S:.*]] = epl.all_reduce %[[D]]
// CHECK: %[[L:.*]] = epl.to_local %[[S]] : <tensor<4xf32>, <@mesh, [{}]>> -> tensor<4xf32>
// CHECK: %[[R:.*]] = epl.from_local %[[L]]
// CHECK: return %[[R]] : !epl.dist<tensor<4xf32>, <@mesh, [{}]>>
func.func @reduce(%x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.sharding = #rows})
    -> (tensor<4xf32> {epl.name = "sum"}) {
  %zero = arith.constant {epl.sharding = [#whole]} dense<0.0> : tensor<4xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>],
      iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8x4xf32>) outs(%zero : tensor<4xf32>) attrs = {epl.work = #fwd, epl.sharding = [#pending]} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %1 = epl.reshard %0 to <@mesh, [{}]> {epl.work = #fwd} : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Scalars and tensors without dimensions are the same on every rank.
// CHECK-LABEL: func.func @scalar
// CHECK: %[[X:.*]] = epl.to_local %{{.*}} : <tensor<f32>, <@mesh, []>> -> tensor<f32>
// CHECK: arith.constant {{.*}} 2.000000e+00 : f32
// CHECK: tensor.extract %[[X]][]
// CHECK: tensor.from_elements
func.func @scalar(%x: tensor<f32> {epl.sharding = #scalar}) -> tensor<f32> {
  %two = arith.constant {epl.work = #fwd} 2.0 : f32
  %0 = tensor.extract %x[] {epl.work = #fwd} : tensor<f32>
  %1 = arith.mulf %0, %two {epl.work = #fwd} : f32
  %2 = tensor.from_elements %1 {epl.work = #fwd, epl.sharding = [#scalar]} : tensor<f32>
  return %2 : tensor<f32>
}

// Two results that combine differently: each by its own reduction.
// CHECK-LABEL: func.func @sum_and_max
// CHECK: %[[P:.*]]:2 = linalg.generic
// CHECK: epl.from_local %[[P]]#0 : tensor<f32> -> <tensor<f32>, <@mesh, [], partial = sum{"data"}>>
// CHECK: epl.all_reduce {{.*}} partial = sum{"data"}
// CHECK: epl.from_local %[[P]]#1 : tensor<f32> -> <tensor<f32>, <@mesh, [], partial = max{"data"}>>
// CHECK: epl.all_reduce {{.*}} partial = max{"data"}
func.func @sum_and_max(%x: tensor<8xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}]>}) -> (tensor<f32>, tensor<f32>) {
  %zero = arith.constant {epl.sharding = [#scalar]} dense<0.0> : tensor<f32>
  %least = arith.constant {epl.sharding = [#scalar]} dense<0xFF800000> : tensor<f32>
  %0:2 = linalg.generic {
      indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> ()>],
      iterator_types = ["reduction"]}
      ins(%x : tensor<8xf32>) outs(%zero, %least : tensor<f32>, tensor<f32>)
      attrs = {epl.work = #fwd, epl.sharding = [#epl.sharding<@mesh, [], partial = sum{"data"}>,
                                                #epl.sharding<@mesh, [], partial = max{"data"}>]} {
  ^bb0(%a: f32, %s: f32, %m: f32):
    %sum = arith.addf %a, %s : f32
    %max = arith.maximumf %a, %m : f32
    linalg.yield %sum, %max : f32, f32
  } -> (tensor<f32>, tensor<f32>)
  %1 = epl.reshard %0#0 to <@mesh, []> {epl.work = #fwd} : tensor<f32>
  %2 = epl.reshard %0#1 to <@mesh, []> {epl.work = #fwd} : tensor<f32>
  return %1, %2 : tensor<f32>, tensor<f32>
}

// -----

#rows = #epl.sharding<@mesh, [{"data"}, {}]>
#cols = #epl.sharding<@mesh, [{}, {"model"}]>
#tiles = #epl.sharding<@mesh, [{"data"}, {"model"}]>
#both = #epl.sharding<@mesh, [{"data", "model"}]>
#fwd = #epl.work<@tg0, forward>

epl.mesh @mesh axes ["data"=2, "model"=4]
epl.taskgraph @tg0 strategy(<split, 8>) on @mesh

// Column- and row-split operands of one contraction.
// CHECK-LABEL: func.func @matmul
// CHECK: linalg.generic {{.*}} ins({{.*}} : tensor<4x16xf32>, tensor<16x2xf32>) outs({{.*}} : tensor<4x2xf32>)
// CHECK: epl.from_local {{.*}} : tensor<4x2xf32> -> <tensor<8x8xf32>, <@mesh, [{"data"}, {"model"}]>>
func.func @matmul(%x: tensor<8x16xf32> {epl.sharding = #rows}, %w: tensor<16x8xf32> {epl.sharding = #cols}) -> tensor<8x8xf32> {
  %zero = arith.constant {epl.work = #fwd, epl.sharding = [#tiles]} dense<0.0> : tensor<8x8xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<8x16xf32>, tensor<16x8xf32>) outs(%zero : tensor<8x8xf32>)
      attrs = {epl.work = #fwd, epl.sharding = [#tiles]} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// A position along a split loop counts from the beginning of the rank's part; along another loop from 0.
// CHECK-LABEL: func.func @index
// CHECK: %[[AXIS:.*]] = epl.axis_index @mesh "data"
// CHECK: linalg.generic
// CHECK: %[[I:.*]] = linalg.index 0 : index
// CHECK-NEXT: %[[EXTENT:.*]] = arith.constant 4 : index
// CHECK-NEXT: %[[OFFSET:.*]] = arith.muli %[[AXIS]], %[[EXTENT]] : index
// CHECK-NEXT: %[[GLOBAL:.*]] = arith.addi %[[I]], %[[OFFSET]] : index
// CHECK-NEXT: %[[J:.*]] = linalg.index 1 : index
// CHECK-NEXT: arith.addi %[[GLOBAL]], %[[J]] : index
func.func @index() -> tensor<8x3xindex> {
  %e = tensor.empty() {epl.sharding = [#rows]} : tensor<8x3xindex>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      outs(%e : tensor<8x3xindex>) attrs = {epl.work = #fwd, epl.sharding = [#rows]} {
  ^bb0(%o: index):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %s = arith.addi %i, %j : index
    linalg.yield %s : index
  } -> tensor<8x3xindex>
  return %0 : tensor<8x3xindex>
}

// Two axes on one dimension: the first is the major one.
// CHECK-LABEL: func.func @index_two_axes
// CHECK-DAG: %[[DATA:.*]] = epl.axis_index @mesh "data"
// CHECK-DAG: %[[MODEL:.*]] = epl.axis_index @mesh "model"
// CHECK: %[[I:.*]] = linalg.index 0 : index
// CHECK-NEXT: %[[SIZE:.*]] = arith.constant 4 : index
// CHECK-NEXT: %[[MAJOR:.*]] = arith.muli %[[DATA]], %[[SIZE]] : index
// CHECK-NEXT: %[[PART:.*]] = arith.addi %[[MAJOR]], %[[MODEL]] : index
// CHECK-NEXT: %[[EXTENT:.*]] = arith.constant 2 : index
// CHECK-NEXT: %[[OFFSET:.*]] = arith.muli %[[PART]], %[[EXTENT]] : index
// CHECK-NEXT: arith.addi %[[I]], %[[OFFSET]] : index
func.func @index_two_axes() -> tensor<16xindex> {
  %e = tensor.empty() {epl.sharding = [#both]} : tensor<16xindex>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%e : tensor<16xindex>) attrs = {epl.work = #fwd, epl.sharding = [#both]} {
  ^bb0(%o: index):
    %i = linalg.index 0 : index
    linalg.yield %i : index
  } -> tensor<16xindex>
  return %0 : tensor<16xindex>
}

// A tensor that a body reads element by element is whole on every rank.
// CHECK-LABEL: func.func @captured
// CHECK: %[[T:.*]] = epl.to_local {{.*}} -> tensor<5xf32>
// CHECK: linalg.generic {{.*}} outs({{.*}} : tensor<4xf32>)
// CHECK: tensor.extract %[[T]][
func.func @captured(%table: tensor<5xf32> {epl.sharding = #epl.sharding<@mesh, [{}]>}) -> tensor<8xf32> {
  %e = tensor.empty() {epl.sharding = [#epl.sharding<@mesh, [{"data"}]>]} : tensor<8xf32>
  %c0 = arith.constant {epl.work = #fwd} 0 : index
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%e : tensor<8xf32>) attrs = {epl.work = #fwd, epl.sharding = [#epl.sharding<@mesh, [{"data"}]>]} {
  ^bb0(%o: f32):
    %v = tensor.extract %table[%c0] : tensor<5xf32>
    linalg.yield %v : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A convolution over a split batch: windows slide over whole dimensions.
// CHECK-LABEL: func.func @convolution
// CHECK: linalg.generic {{.*}} ins({{.*}} : tensor<2x6x6x3xf32>, tensor<3x3x3x5xf32>) outs({{.*}} : tensor<2x4x4x5xf32>)
#batch = #epl.sharding<@mesh, [{"data"}, {}, {}, {}]>
#filter = #epl.sharding<@mesh, [{}, {}, {}, {}]>
func.func @convolution(%x: tensor<4x6x6x3xf32> {epl.sharding = #batch}, %w: tensor<3x3x3x5xf32> {epl.sharding = #filter})
    -> tensor<4x4x4x5xf32> {
  %zero = arith.constant {epl.work = #fwd, epl.sharding = [#batch]} dense<0.0> : tensor<4x4x4x5xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(n, h, w, f, kh, kw, c) -> (n, h + kh, w + kw, c)>,
                       affine_map<(n, h, w, f, kh, kw, c) -> (kh, kw, c, f)>,
                       affine_map<(n, h, w, f, kh, kw, c) -> (n, h, w, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<4x6x6x3xf32>, tensor<3x3x3x5xf32>) outs(%zero : tensor<4x4x4x5xf32>)
      attrs = {epl.work = #fwd, epl.sharding = [#batch]} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<4x4x4x5xf32>
  return %0 : tensor<4x4x4x5xf32>
}
