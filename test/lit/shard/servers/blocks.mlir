// RUN: epl-opt %s -split-input-file -epl-split-roles="role=server servers=3 min-block-size=1" 2>/dev/null | FileCheck %s
// RUN: epl-opt %s -split-input-file -epl-split-roles="role=server servers=3 min-block-size=1" 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: epl-opt %s -split-input-file -epl-split-roles="role=server servers=3 min-block-size=1 slice=false" 2>/dev/null | FileCheck %s --check-prefix=WHOLE
// RUN: epl-opt %s -split-input-file -epl-split-roles="role=server servers=3 min-block-size=8" 2>/dev/null | FileCheck %s --check-prefix=LARGER

#forward = #epl.work<@tg0, forward>
#backward = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// Seven rows of two for three servers: blocks of 3, 3 and 1 rows. Sums of rows are one for each row of a block,
// reshapes and constants are as long as that.
// CHECK: sliced = true, type = "f32"}, {argument = 1 : i64, kind = "state", name = "sums", shape = array<i64: 7>, sliced = true
// CHECK-SAME: blocks = [{begin = 0 : i64, name = "w.block0", offset = 0 : i64, program = "apply0", rows = 3 : i64, size = 6 : i64},
// CHECK-SAME: {begin = 3 : i64, name = "w.block1", offset = 6 : i64, program = "apply0", rows = 3 : i64, size = 6 : i64},
// CHECK-SAME: {begin = 6 : i64, name = "w.block2", offset = 12 : i64, program = "apply1", rows = 1 : i64, size = 2 : i64}]
// CHECK: func.func @apply0(%{{[^:]*}}: tensor<3x2xf32> {{{.*}}}, %{{[^:]*}}: tensor<3xf32> {{{.*}}}, %[[G:[^:]*]]: tensor<3x2xf32>
// CHECK-DAG: arith.constant dense<2.000000e+00> : tensor<3xf32>
// CHECK-DAG: tensor.collapse_shape %[[G]] {{.*}} : tensor<3x2xf32> into tensor<6xf32>
// CHECK-DAG: tensor.expand_shape %{{.*}} output_shape [3, 2] : tensor<6xf32> into tensor<3x2xf32>
// CHECK-DAG: tensor.extract_slice %[[G]][0, 0] [3, 1] [1, 1] : tensor<3x2xf32> to tensor<3xf32>
// CHECK: func.func @apply1(%{{[^:]*}}: tensor<1x2xf32> {{{.*}}}, %{{[^:]*}}: tensor<1xf32>
// WHOLE: func.func @apply0(%{{[^:]*}}: tensor<7x2xf32>
// LARGER: func.func @apply0(%{{[^:]*}}: tensor<7x2xf32>
func.func @rows(%w: tensor<7x2xf32> {epl.name = "w", epl.role = "state"}, %sums: tensor<7xf32> {epl.name = "sums", epl.role = "state"},
                %x: tensor<7x2xf32> {epl.name = "x", epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<7x2xf32> {epl.updates = 0 : i64}, tensor<7xf32> {epl.updates = 1 : i64}) {
  %two = arith.constant {epl.work = #forward} dense<2.0> : tensor<7xf32>
  %g = arith.mulf %x, %w {epl.work = #backward} : tensor<7x2xf32>
  %row = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%g : tensor<7x2xf32>) outs(%sums : tensor<7xf32>) attrs = {epl.work = #apply} {
  ^bb0(%in: f32, %out: f32):
    %add = arith.addf %out, %in : f32
    linalg.yield %add : f32
  } -> tensor<7xf32>
  %first = tensor.extract_slice %g[0, 0] [7, 1] [1, 1] {epl.work = #apply} : tensor<7x2xf32> to tensor<7xf32>
  %twice = arith.mulf %first, %two {epl.work = #apply} : tensor<7xf32>
  %new = arith.addf %row, %twice {epl.work = #apply} : tensor<7xf32>
  %flat = tensor.collapse_shape %g [[0, 1]] {epl.work = #apply} : tensor<7x2xf32> into tensor<14xf32>
  %neg = arith.negf %flat {epl.work = #apply} : tensor<14xf32>
  %back = tensor.expand_shape %neg [[0, 1]] output_shape [7, 2] {epl.work = #apply} : tensor<14xf32> into tensor<7x2xf32>
  %per = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%back, %new : tensor<7x2xf32>, tensor<7xf32>) outs(%back : tensor<7x2xf32>) attrs = {epl.work = #apply} {
  ^bb0(%in: f32, %number: f32, %out: f32):
    %mul = arith.mulf %in, %number : f32
    linalg.yield %mul : f32
  } -> tensor<7x2xf32>
  %v = arith.addf %w, %per {epl.work = #apply} : tensor<7x2xf32>
  return %v, %new : tensor<7x2xf32>, tensor<7xf32>
}

// -----

#backward = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// A product with the matrix from the left mixes rows.
// REMARK: remark: one server has "w" whole: rows come together in
// CHECK: blocks = [{begin = 0 : i64, name = "w", offset = 0 : i64, program = "apply0", rows = 4 : i64, size = 16 : i64}]
// CHECK: func.func @apply0(%{{[^:]*}}: tensor<4x4xf32>
func.func @mixes_rows(%w: tensor<4x4xf32> {epl.name = "w", epl.role = "state"},
                      %x: tensor<4x4xf32> {epl.name = "x", epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<4x4xf32> {epl.updates = 0 : i64}) {
  %g = arith.mulf %x, %w {epl.work = #backward} : tensor<4x4xf32>
  %v = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w, %g : tensor<4x4xf32>, tensor<4x4xf32>) outs(%w : tensor<4x4xf32>) attrs = {epl.work = #apply} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %mul = arith.mulf %a, %b : f32
    %add = arith.addf %out, %mul : f32
    linalg.yield %add : f32
  } -> tensor<4x4xf32>
  return %v : tensor<4x4xf32>
}

// -----

#backward = #epl.work<@tg0, backward>
#apply = #epl.work<@tg0, apply>

epl.mesh @mesh axes ["data"=2]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// An element that depends on the number of its row; one that depends on that of its column does not.
// REMARK: remark: one server has "w" whole: an element depends on the number of its row
// REMARK-NOT: remark
// CHECK: func.func @apply0(%{{[^:]*}}: tensor<6xf32>
// CHECK: func.func @apply1(%{{[^:]*}}: tensor<2x2xf32>
func.func @counts_rows(%w: tensor<6xf32> {epl.name = "w", epl.role = "state"}, %v: tensor<6x2xf32> {epl.name = "v", epl.role = "state"},
                       %x: tensor<6xf32> {epl.name = "x", epl.role = "batch", epl.batch_dim = 0 : i64},
                       %z: tensor<6x2xf32> {epl.name = "z", epl.role = "batch", epl.batch_dim = 0 : i64})
    -> (tensor<6xf32> {epl.updates = 0 : i64}, tensor<6x2xf32> {epl.updates = 1 : i64}) {
  %g = arith.mulf %x, %w {epl.work = #backward} : tensor<6xf32>
  %h = arith.mulf %z, %v {epl.work = #backward} : tensor<6x2xf32>
  %nw = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%g : tensor<6xf32>) outs(%w : tensor<6xf32>) attrs = {epl.work = #apply} {
  ^bb0(%in: f32, %out: f32):
    %index = linalg.index 0 : index
    %number = arith.index_cast %index : index to i32
    %float = arith.sitofp %number : i32 to f32
    %mul = arith.mulf %in, %float : f32
    %add = arith.addf %out, %mul : f32
    linalg.yield %add : f32
  } -> tensor<6xf32>
  %nv = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%h : tensor<6x2xf32>) outs(%v : tensor<6x2xf32>) attrs = {epl.work = #apply} {
  ^bb0(%in: f32, %out: f32):
    %index = linalg.index 1 : index
    %number = arith.index_cast %index : index to i32
    %float = arith.sitofp %number : i32 to f32
    %mul = arith.mulf %in, %float : f32
    %add = arith.addf %out, %mul : f32
    linalg.yield %add : f32
  } -> tensor<6x2xf32>
  return %nw, %nv : tensor<6xf32>, tensor<6x2xf32>
}
