// RUN: epl-opt %s --epl-lower-precision --split-input-file | FileCheck %s

// RUN: epl-opt %s --epl-lower-precision --split-input-file --statistics -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=COUNT
// COUNT-DAG: {{^ *}}11 epl-lower-precision - Contractions that take operands of bf16
// COUNT-DAG: {{^ *}}5 epl-lower-precision - Contractions that stay what they are
// COUNT-DAG: {{^ *}}11 epl-lower-precision - Values that are rounded

#id = affine_map<(d0, d1) -> (d0, d1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>
#row = affine_map<(d0, d1) -> (d0)>
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
#f = #epl.work<@tg0, forward>
#g = #epl.work<@tg0, backward>
#u = #epl.work<@tg0, apply>

// The operands are rounded, and widened in the body; the sum stays f32. A value that several contractions read
// is rounded once, in the work of the first one, and so is what is a transpose of it. What no contraction
// reads stays f32: the exponential, the sum of its rows.

// CHECK-LABEL: func.func @several_readers
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32> {{.*}}, %[[W:[a-z0-9]+]]: tensor<8x4xf32>
// CHECK: %[[E:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<4x8xf32>)
// CHECK: math.exp {{.*}} : f32
// CHECK: linalg.generic {{.*}} ins(%[[E]] : tensor<4x8xf32>) outs({{.*}} : tensor<4xf32>)
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32):
// CHECK: %[[XB:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<4x8xf32>) outs(%{{.*}} : tensor<4x8xbf16>) attrs = {epl.work = #epl.work<@tg0, forward>}
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: %[[WB:.*]] = linalg.generic {{.*}} ins(%[[W]] : tensor<8x4xf32>) outs(%{{.*}} : tensor<8x4xbf16>) attrs = {epl.work = #epl.work<@tg0, forward>}
// CHECK: arith.truncf
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%[[XB]], %[[WB]] : tensor<4x8xbf16>, tensor<8x4xbf16>) outs(%{{.*}} : tensor<4x4xf32>) attrs = {epl.work = #epl.work<@tg0, forward>}
// CHECK-NEXT: ^bb0(%[[P:.*]]: bf16, %[[Q:.*]]: bf16, %[[S:.*]]: f32):
// CHECK-DAG: %[[PW:.*]] = arith.extf %[[P]] : bf16 to f32
// CHECK-DAG: %[[QW:.*]] = arith.extf %[[Q]] : bf16 to f32
// CHECK: %[[M:.*]] = arith.mulf %[[PW]], %[[QW]] : f32
// CHECK: arith.addf %[[S]], %[[M]] : f32
// CHECK: %[[T:.*]] = linalg.generic {{.*}} ins(%[[XB]] : tensor<4x8xbf16>) outs(%{{.*}} : tensor<8x4xbf16>) attrs = {epl.work = #epl.work<@tg0, backward>}
// CHECK: %[[YB:.*]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<4x4xf32>) outs(%{{.*}} : tensor<4x4xbf16>) attrs = {epl.work = #epl.work<@tg0, forward>}
// CHECK: linalg.generic {{.*}} ins(%[[T]], %[[YB]] : tensor<8x4xbf16>, tensor<4x4xbf16>) outs(%{{.*}} : tensor<8x4xf32>) attrs = {epl.work = #epl.work<@tg0, backward>}
// CHECK-NOT: truncf
func.func @several_readers(%x: tensor<4x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %w: tensor<8x4xf32>)
    -> (tensor<4x4xf32>, tensor<8x4xf32>, tensor<4xf32>) {
  %zero = arith.constant {epl.work = #f} dense<0.0> : tensor<4x4xf32>
  %zero84 = arith.constant {epl.work = #g} dense<0.0> : tensor<8x4xf32>
  %zero4 = arith.constant {epl.work = #f} dense<0.0> : tensor<4xf32>
  %empty = tensor.empty() {epl.work = #f} : tensor<4x8xf32>
  %e = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%empty : tensor<4x8xf32>) attrs = {epl.work = #f} {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%e : tensor<4x8xf32>) outs(%zero4 : tensor<4xf32>) attrs = {epl.work = #f} {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x8xf32>, tensor<8x4xf32>) outs(%zero : tensor<4x4xf32>) attrs = {epl.work = #f} {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %0 = arith.mulf %l, %r : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x4xf32>
  %empty84 = tensor.empty() {epl.work = #g} : tensor<8x4xf32>
  %t = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%empty84 : tensor<8x4xf32>) attrs = {epl.work = #g} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x4xf32>
  %d = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%t, %y : tensor<8x4xf32>, tensor<4x4xf32>) outs(%zero84 : tensor<8x4xf32>) attrs = {epl.work = #g} {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %0 = arith.mulf %l, %r : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8x4xf32>
  return %y, %d, %sum : tensor<4x4xf32>, tensor<8x4xf32>, tensor<4xf32>
}

// -----

// A contraction that applies gradients stays, by its work or since it makes a state of states alone; those of
// other types stay, too.

#m = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
#r = affine_map<(d0, d1) -> (d0)>
#f = #epl.work<@tg0, forward>
#u = #epl.work<@tg0, apply>

// CHECK-LABEL: func.func @others
// CHECK-NOT: truncf
// CHECK-NOT: bf16
func.func @others(%g: tensor<4x4xf32> {epl.role = "state"}, %v: tensor<4xf32> {epl.role = "state"},
                  %d: tensor<4x4xf64>, %e: tensor<4xf64>, %i: tensor<4x4xi32>, %j: tensor<4xi32>,
                  %h: tensor<4x4xf16>)
    -> (tensor<4xf32> {epl.updates = 1 : i64}, tensor<4xf32>, tensor<4xf64>, tensor<4xi32>, tensor<4xf16>) {
  %zero = arith.constant {epl.work = #f} dense<0.0> : tensor<4xf32>
  %zero64 = arith.constant {epl.work = #f} dense<0.0> : tensor<4xf64>
  %zeroi = arith.constant {epl.work = #f} dense<0> : tensor<4xi32>
  %one = arith.constant {epl.work = #f} dense<1.0> : tensor<4xf16>
  %0 = linalg.generic {indexing_maps = [#m, #v, #r], iterator_types = ["parallel", "reduction"]}
      ins(%g, %v : tensor<4x4xf32>, tensor<4xf32>) outs(%zero : tensor<4xf32>) attrs = {epl.work = #f} {
  ^bb0(%l: f32, %q: f32, %out: f32):
    %p = arith.mulf %l, %q : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [#m, #v, #r], iterator_types = ["parallel", "reduction"]}
      ins(%g, %0 : tensor<4x4xf32>, tensor<4xf32>) outs(%zero : tensor<4xf32>) attrs = {epl.work = #u} {
  ^bb0(%l: f32, %q: f32, %out: f32):
    %p = arith.mulf %l, %q : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %2 = linalg.generic {indexing_maps = [#m, #v, #r], iterator_types = ["parallel", "reduction"]}
      ins(%d, %e : tensor<4x4xf64>, tensor<4xf64>) outs(%zero64 : tensor<4xf64>) attrs = {epl.work = #f} {
  ^bb0(%l: f64, %q: f64, %out: f64):
    %p = arith.mulf %l, %q : f64
    %s = arith.addf %out, %p : f64
    linalg.yield %s : f64
  } -> tensor<4xf64>
  %3 = linalg.generic {indexing_maps = [#m, #v, #r], iterator_types = ["parallel", "reduction"]}
      ins(%i, %j : tensor<4x4xi32>, tensor<4xi32>) outs(%zeroi : tensor<4xi32>) attrs = {epl.work = #f} {
  ^bb0(%l: i32, %q: i32, %out: i32):
    %p = arith.muli %l, %q : i32
    %s = arith.addi %out, %p : i32
    linalg.yield %s : i32
  } -> tensor<4xi32>
  %4 = linalg.generic {indexing_maps = [#m, #v, #r], iterator_types = ["parallel", "reduction"]}
      ins(%h, %one : tensor<4x4xf16>, tensor<4xf16>) outs(%one : tensor<4xf16>) attrs = {epl.work = #f} {
  ^bb0(%l: f16, %q: f16, %out: f16):
    %p = arith.mulf %l, %q : f16
    %s = arith.addf %out, %p : f16
    linalg.yield %s : f16
  } -> tensor<4xf16>
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf64>, tensor<4xi32>, tensor<4xf16>
}

// -----

// An operand that is bf16 already is no reason not to round the other.

#m = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
#r = affine_map<(d0, d1) -> (d0)>
#f = #epl.work<@tg0, forward>

// CHECK-LABEL: func.func @half_of_it
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4x4xbf16>, %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: %[[XB:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<4xf32>) outs(%{{.*}} : tensor<4xbf16>)
// CHECK: linalg.generic {{.*}} ins(%[[W]], %[[XB]] : tensor<4x4xbf16>, tensor<4xbf16>)
func.func @half_of_it(%w: tensor<4x4xbf16>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant {epl.work = #f} dense<0.0> : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#m, #v, #r], iterator_types = ["parallel", "reduction"]}
      ins(%w, %x : tensor<4x4xbf16>, tensor<4xf32>) outs(%zero : tensor<4xf32>) attrs = {epl.work = #f} {
  ^bb0(%l: bf16, %q: f32, %out: f32):
    %e = arith.extf %l : bf16 to f32
    %p = arith.mulf %e, %q : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Zeros are put round and between elements that are rounded: one rounding for what is padded, reshaped and
// spread. What is padded with ones is rounded behind that.

#pad = affine_map<(d0, d1) -> (d0 + d1)>
#tap = affine_map<(d0, d1) -> (d1)>
#out = affine_map<(d0, d1) -> (d0)>
#f = #epl.work<@tg0, forward>
#g = #epl.work<@tg0, backward>

// CHECK-LABEL: func.func @arranged
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x2xf32>
// CHECK: %[[XB:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<2x2xf32>) outs(%{{.*}} : tensor<2x2xbf16>) attrs = {epl.work = #epl.work<@tg0, forward>}
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[XB]] {{\[\[}}0, 1]] {epl.work = #epl.work<@tg0, forward>} : tensor<2x2xbf16> into tensor<4xbf16>
// CHECK: %[[ZERO:.*]] = arith.constant {epl.work = #epl.work<@tg0, forward>} 0.000000e+00 : bf16
// CHECK: %[[PAD:.*]] = tensor.pad %[[FLAT]] low[1] high[1]
// CHECK: tensor.yield %[[ZERO]] : bf16
// CHECK: {epl.work = #epl.work<@tg0, forward>} : tensor<4xbf16> to tensor<6xbf16>
// CHECK: linalg.generic {{.*}} ins(%[[PAD]], %{{.*}} : tensor<6xbf16>, tensor<3xbf16>)
// CHECK: %[[ZEROS:.*]] = arith.constant {epl.work = #epl.work<@tg0, backward>} dense<0.000000e+00> : tensor<8xbf16>
// CHECK: %[[SPREAD:.*]] = tensor.insert_slice %[[FLAT]] into %[[ZEROS]][0] [4] [2] {epl.work = #epl.work<@tg0, backward>}
// CHECK: linalg.generic {{.*}} ins(%[[SPREAD]], %{{.*}} : tensor<8xbf16>, tensor<3xbf16>)
// CHECK: %[[PADDED:.*]] = tensor.pad %[[X]] low[0, 0] high[0, 1]
// CHECK: linalg.generic {{.*}} ins(%[[PADDED]] : tensor<2x3xf32>) outs(%{{.*}} : tensor<2x3xbf16>)
// CHECK: arith.truncf
func.func @arranged(%x: tensor<2x2xf32>, %k: tensor<3xf32>)
    -> (tensor<4xf32>, tensor<6xf32>, tensor<2xf32>) {
  %none = arith.constant {epl.work = #f} 0.0 : f32
  %one = arith.constant {epl.work = #f} 1.0 : f32
  %zero2 = arith.constant {epl.work = #f} dense<0.0> : tensor<2xf32>
  %zero4 = arith.constant {epl.work = #f} dense<0.0> : tensor<4xf32>
  %zero6 = arith.constant {epl.work = #g} dense<0.0> : tensor<6xf32>
  %zero8 = arith.constant {epl.work = #g} dense<0.0> : tensor<8xf32>
  %flat = tensor.collapse_shape %x [[0, 1]] {epl.work = #f} : tensor<2x2xf32> into tensor<4xf32>
  %pad = tensor.pad %flat low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %none : f32
  } {epl.work = #f} : tensor<4xf32> to tensor<6xf32>
  %y = linalg.generic {indexing_maps = [#pad, #tap, #out], iterator_types = ["parallel", "reduction"]}
      ins(%pad, %k : tensor<6xf32>, tensor<3xf32>) outs(%zero4 : tensor<4xf32>) attrs = {epl.work = #f} {
  ^bb0(%l: f32, %q: f32, %out: f32):
    %p = arith.mulf %l, %q : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %spread = tensor.insert_slice %flat into %zero8[0] [4] [2] {epl.work = #g} : tensor<4xf32> into tensor<8xf32>
  %z = linalg.generic {indexing_maps = [#pad, #tap, #out], iterator_types = ["parallel", "reduction"]}
      ins(%spread, %k : tensor<8xf32>, tensor<3xf32>) outs(%zero6 : tensor<6xf32>) attrs = {epl.work = #g} {
  ^bb0(%l: f32, %q: f32, %out: f32):
    %p = arith.mulf %l, %q : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  %ones = tensor.pad %x low[0, 0] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %one : f32
  } {epl.work = #f} : tensor<2x2xf32> to tensor<2x3xf32>
  %v = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, #tap, #out], iterator_types = ["parallel", "reduction"]}
      ins(%ones, %k : tensor<2x3xf32>, tensor<3xf32>) outs(%zero2 : tensor<2xf32>) attrs = {epl.work = #f} {
  ^bb0(%l: f32, %q: f32, %out: f32):
    %p = arith.mulf %l, %q : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<2xf32>
  return %y, %z, %v : tensor<4xf32>, tensor<6xf32>, tensor<2xf32>
}

// -----

// Where a value is rounded. %h, which @tg1 has in bf16 alone, by @tg0, which makes it: half as much is sent. %k, of which
// @tg1 has the exponential, by @tg1. What is done again rounds again: the bf16 of %x is not kept beside it.

#m = affine_map<(d0, d1) -> (d0, d1)>
#v = affine_map<(d0, d1) -> (d1)>
#r = affine_map<(d0, d1) -> (d0)>
#one = affine_map<(d0) -> (d0)>
#f0 = #epl.work<@tg0, forward>
#f1 = #epl.work<@tg1, forward>
#r1 = #epl.work<@tg1, recompute>
#g1 = #epl.work<@tg1, backward>

// CHECK-LABEL: func.func @where
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: %[[H:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<4xf32>) {{.*}} attrs = {epl.work = #epl.work<@tg0, forward>}
// CHECK: math.sin
// CHECK: %[[K:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<4xf32>) {{.*}} attrs = {epl.work = #epl.work<@tg0, forward>}
// CHECK: math.cos
// CHECK: linalg.generic {{.*}} ins(%[[H]] : tensor<4xf32>) outs(%{{.*}} : tensor<4xbf16>) attrs = {epl.work = #epl.work<@tg0, forward>}
// CHECK: linalg.generic {{.*}} ins(%[[K]] : tensor<4xf32>) outs(%{{.*}} : tensor<4xbf16>) attrs = {epl.work = #epl.work<@tg1, forward>}
// CHECK: linalg.generic {{.*}} ins(%[[X]] : tensor<4xf32>) outs(%{{.*}} : tensor<4xbf16>) attrs = {epl.work = #epl.work<@tg1, forward>}
// CHECK: %[[AGAIN:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<4xf32>) outs(%{{.*}} : tensor<4xbf16>) attrs = {epl.work = #epl.work<@tg1, recompute>}
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[AGAIN]] : tensor<4x4xbf16>, tensor<4xbf16>) {{.*}} attrs = {epl.work = #epl.work<@tg1, recompute>}
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[AGAIN]] : tensor<4x4xbf16>, tensor<4xbf16>) {{.*}} attrs = {epl.work = #epl.work<@tg1, backward>}
// CHECK-NOT: truncf
func.func @where(%x: tensor<4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %w: tensor<4x4xbf16>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant {epl.work = #f0} dense<0.0> : tensor<4xf32>
  %h = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%zero : tensor<4xf32>) attrs = {epl.work = #f0} {
  ^bb0(%in: f32, %out: f32):
    %0 = math.sin %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %k = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%zero : tensor<4xf32>) attrs = {epl.work = #f0} {
  ^bb0(%in: f32, %out: f32):
    %0 = math.cos %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %e = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
      ins(%k : tensor<4xf32>) outs(%zero : tensor<4xf32>) attrs = {epl.work = #f1} {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#m, #v, #r], iterator_types = ["parallel", "reduction"]}
      ins(%w, %h : tensor<4x4xbf16>, tensor<4xf32>) outs(%zero : tensor<4xf32>) attrs = {epl.work = #f1} {
  ^bb0(%l: bf16, %q: f32, %out: f32):
    %i = arith.extf %l : bf16 to f32
    %p = arith.mulf %i, %q : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [#m, #v, #r], iterator_types = ["parallel", "reduction"]}
      ins(%w, %k : tensor<4x4xbf16>, tensor<4xf32>) outs(%zero : tensor<4xf32>) attrs = {epl.work = #f1} {
  ^bb0(%l: bf16, %q: f32, %out: f32):
    %i = arith.extf %l : bf16 to f32
    %p = arith.mulf %i, %q : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %2 = linalg.generic {indexing_maps = [#m, #v, #r], iterator_types = ["parallel", "reduction"]}
      ins(%w, %x : tensor<4x4xbf16>, tensor<4xf32>) outs(%zero : tensor<4xf32>) attrs = {epl.work = #f1} {
  ^bb0(%l: bf16, %q: f32, %out: f32):
    %i = arith.extf %l : bf16 to f32
    %p = arith.mulf %i, %q : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %3 = linalg.generic {indexing_maps = [#m, #v, #r], iterator_types = ["parallel", "reduction"]}
      ins(%w, %x : tensor<4x4xbf16>, tensor<4xf32>) outs(%zero : tensor<4xf32>) attrs = {epl.work = #r1} {
  ^bb0(%l: bf16, %q: f32, %out: f32):
    %i = arith.extf %l : bf16 to f32
    %p = arith.mulf %i, %q : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %4 = linalg.generic {indexing_maps = [#m, #v, #r], iterator_types = ["parallel", "reduction"]}
      ins(%w, %x : tensor<4x4xbf16>, tensor<4xf32>) outs(%zero : tensor<4xf32>) attrs = {epl.work = #g1} {
  ^bb0(%l: bf16, %q: f32, %out: f32):
    %i = arith.extf %l : bf16 to f32
    %p = arith.mulf %i, %q : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %e, %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
