// RUN: epl-opt %s --epl-kernel | FileCheck %s

// The training step of an MLP of three layers with softmax cross entropy and Adam, as JAX lowers it: 221
// generics become 8 products of matrices and 13 fused kernels, of which 18 differ. Forward and backward of
// the loss are one kernel, with the gradient of the last bias; so is each parameter's update.
// CHECK: epl.launch @k0_matmul(
// CHECK: epl.launch @k1_add_maximum(
// CHECK: epl.launch @k2_matmul(
// CHECK: epl.launch @k1_add_maximum(
// CHECK: epl.launch @k3_matmul(
// CHECK: epl.launch @k4_exp_log_add(
// CHECK: epl.launch @k5_matmul(
// CHECK: epl.launch @k6_add(
// CHECK: epl.launch @k7_matmul(
// CHECK: epl.launch @k6_add(
// CHECK: epl.launch @k8_powf_add_sub(
// CHECK: epl.launch @k9_sqrt_mul_add(
// CHECK: epl.launch @k9_sqrt_mul_add(
// CHECK: epl.launch @k10_sqrt_mul_add(
// CHECK: epl.launch @k11_matmul(
// CHECK: epl.launch @k12_sqrt_mul_add(
// CHECK: epl.launch @k13_matmul(
// CHECK: epl.launch @k14_sqrt_mul_add(
// CHECK: epl.launch @k15_matmul(
// CHECK: epl.launch @k16_sqrt_mul_add(
// CHECK: epl.launch @k17_add_div(
// CHECK-NOT: epl.launch
// CHECK-COUNT-18: epl.kernel
// CHECK-NOT: epl.kernel

#map = affine_map<(d0, d1) -> ()>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map3 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map4 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map5 = affine_map<(d0, d1) -> (d1)>
#map6 = affine_map<(d0, d1) -> (0, d1)>
#map7 = affine_map<(d0, d1) -> (d0)>
#map8 = affine_map<(d0, d1) -> (d0, 0)>
#map9 = affine_map<(d0) -> ()>
#map10 = affine_map<(d0) -> (d0)>
#map11 = affine_map<() -> ()>
#map12 = affine_map<(d0, d1) -> (d1, d0)>
#map13 = affine_map<(d0, d1, d2) -> (d2, d0)>
#map14 = affine_map<(d0, d1, d2) -> (d1, d2)>
module {
  epl.mesh @mesh axes ["data"=1]
  epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
  func.func public @main(%arg0: !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, %arg1: !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, %arg2: !epl.dist<tensor<10xf32>, <@mesh, [{}]>>, %arg3: !epl.dist<tensor<64x512xf32>, <@mesh, [{}, {}]>>, %arg4: !epl.dist<tensor<512x512xf32>, <@mesh, [{}, {}]>>, %arg5: !epl.dist<tensor<512x10xf32>, <@mesh, [{}, {}]>>, %arg6: !epl.dist<tensor<i32>, <@mesh, []>>, %arg7: !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, %arg8: !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, %arg9: !epl.dist<tensor<10xf32>, <@mesh, [{}]>>, %arg10: !epl.dist<tensor<64x512xf32>, <@mesh, [{}, {}]>>, %arg11: !epl.dist<tensor<512x512xf32>, <@mesh, [{}, {}]>>, %arg12: !epl.dist<tensor<512x10xf32>, <@mesh, [{}, {}]>>, %arg13: !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, %arg14: !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, %arg15: !epl.dist<tensor<10xf32>, <@mesh, [{}]>>, %arg16: !epl.dist<tensor<64x512xf32>, <@mesh, [{}, {}]>>, %arg17: !epl.dist<tensor<512x512xf32>, <@mesh, [{}, {}]>>, %arg18: !epl.dist<tensor<512x10xf32>, <@mesh, [{}, {}]>>, %arg19: !epl.dist<tensor<128x64xf32>, <@mesh, [{}, {}]>>, %arg20: !epl.dist<tensor<128xi32>, <@mesh, [{}]>>) -> (!epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<10xf32>, <@mesh, [{}]>>, !epl.dist<tensor<64x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x10xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<i32>, <@mesh, []>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<10xf32>, <@mesh, [{}]>>, !epl.dist<tensor<64x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x10xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<10xf32>, <@mesh, [{}]>>, !epl.dist<tensor<64x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x10xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<f32>, <@mesh, []>>) {
    %0:20 = epl.task <@tg0, forward>(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %arg8, %arg9, %arg10, %arg11, %arg12, %arg13, %arg14, %arg15, %arg16, %arg17, %arg18, %arg19, %arg20) : (!epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<10xf32>, <@mesh, [{}]>>, !epl.dist<tensor<64x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x10xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<i32>, <@mesh, []>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<10xf32>, <@mesh, [{}]>>, !epl.dist<tensor<64x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x10xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<10xf32>, <@mesh, [{}]>>, !epl.dist<tensor<64x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x10xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<128x64xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<128xi32>, <@mesh, [{}]>>) -> (!epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<10xf32>, <@mesh, [{}]>>, !epl.dist<tensor<64x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x10xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<i32>, <@mesh, []>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<10xf32>, <@mesh, [{}]>>, !epl.dist<tensor<64x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x10xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<10xf32>, <@mesh, [{}]>>, !epl.dist<tensor<64x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x10xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<f32>, <@mesh, []>>) {
    ^bb0(%arg21: tensor<512xf32>, %arg22: tensor<512xf32>, %arg23: tensor<10xf32>, %arg24: tensor<64x512xf32>, %arg25: tensor<512x512xf32>, %arg26: tensor<512x10xf32>, %arg27: tensor<i32>, %arg28: tensor<512xf32>, %arg29: tensor<512xf32>, %arg30: tensor<10xf32>, %arg31: tensor<64x512xf32>, %arg32: tensor<512x512xf32>, %arg33: tensor<512x10xf32>, %arg34: tensor<512xf32>, %arg35: tensor<512xf32>, %arg36: tensor<10xf32>, %arg37: tensor<64x512xf32>, %arg38: tensor<512x512xf32>, %arg39: tensor<512x10xf32>, %arg40: tensor<128x64xf32>, %arg41: tensor<128xi32>):
      %cst = arith.constant 0xFF800000 : f32
      %cst_0 = arith.constant dense<0xFF800000> : tensor<f32>
      %cst_1 = arith.constant 7.812500e-03 : f32
      %cst_2 = arith.constant dense<-1.000000e-03> : tensor<f32>
      %cst_3 = arith.constant dense<9.99999993E-9> : tensor<f32>
      %cst_4 = arith.constant 9.990000e-01 : f32
      %cst_5 = arith.constant 0.899999976 : f32
      %c1_i32 = arith.constant 1 : i32
      %c2147483647_i32 = arith.constant 2147483647 : i32
      %cst_6 = arith.constant dense<2147483647> : tensor<i32>
      %cst_7 = arith.constant dense<9.990000e-01> : tensor<f32>
      %cst_8 = arith.constant dense<1.000000e-03> : tensor<f32>
      %cst_9 = arith.constant dense<0.899999976> : tensor<f32>
      %cst_10 = arith.constant dense<1.000000e-01> : tensor<f32>
      %cst_11 = arith.constant 1.000000e+00 : f32
      %cst_12 = arith.constant 1.280000e+02 : f32
      %cst_13 = arith.constant dense<0.000000e+00> : tensor<f32>
      %cst_14 = arith.constant 0.000000e+00 : f32
      %1 = tensor.empty() : tensor<128x512xf32>
      %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_14 : f32) outs(%1 : tensor<128x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<128x512xf32>
      %3 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg40, %arg24 : tensor<128x64xf32>, tensor<64x512xf32>) outs(%2 : tensor<128x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        %244 = arith.addf %out, %243 : f32
        linalg.yield %244 : f32
      } -> tensor<128x512xf32>
      %4 = tensor.empty() : tensor<1x512xf32>
      %5 = linalg.generic {indexing_maps = [#map5, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg21 : tensor<512xf32>) outs(%4 : tensor<1x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<1x512xf32>
      %6 = linalg.generic {indexing_maps = [#map6, #map1], iterator_types = ["parallel", "parallel"]} ins(%5 : tensor<1x512xf32>) outs(%1 : tensor<128x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<128x512xf32>
      %7 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%3, %6 : tensor<128x512xf32>, tensor<128x512xf32>) outs(%1 : tensor<128x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<128x512xf32>
      %8 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_13 : tensor<f32>) outs(%1 : tensor<128x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<128x512xf32>
      %9 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%7, %8 : tensor<128x512xf32>, tensor<128x512xf32>) outs(%1 : tensor<128x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.maximumf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<128x512xf32>
      %10 = tensor.empty() : tensor<128x512xi1>
      %11 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%7, %8 : tensor<128x512xf32>, tensor<128x512xf32>) outs(%10 : tensor<128x512xi1>) {
      ^bb0(%in: f32, %in_18: f32, %out: i1):
        %243 = arith.cmpf ogt, %in, %in_18 : f32
        linalg.yield %243 : i1
      } -> tensor<128x512xi1>
      %12 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%9, %arg25 : tensor<128x512xf32>, tensor<512x512xf32>) outs(%2 : tensor<128x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        %244 = arith.addf %out, %243 : f32
        linalg.yield %244 : f32
      } -> tensor<128x512xf32>
      %13 = linalg.generic {indexing_maps = [#map5, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg22 : tensor<512xf32>) outs(%4 : tensor<1x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<1x512xf32>
      %14 = linalg.generic {indexing_maps = [#map6, #map1], iterator_types = ["parallel", "parallel"]} ins(%13 : tensor<1x512xf32>) outs(%1 : tensor<128x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<128x512xf32>
      %15 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%12, %14 : tensor<128x512xf32>, tensor<128x512xf32>) outs(%1 : tensor<128x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<128x512xf32>
      %16 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%15, %8 : tensor<128x512xf32>, tensor<128x512xf32>) outs(%1 : tensor<128x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.maximumf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<128x512xf32>
      %17 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%15, %8 : tensor<128x512xf32>, tensor<128x512xf32>) outs(%10 : tensor<128x512xi1>) {
      ^bb0(%in: f32, %in_18: f32, %out: i1):
        %243 = arith.cmpf ogt, %in, %in_18 : f32
        linalg.yield %243 : i1
      } -> tensor<128x512xi1>
      %18 = tensor.empty() : tensor<128x10xf32>
      %19 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_14 : f32) outs(%18 : tensor<128x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<128x10xf32>
      %20 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%16, %arg26 : tensor<128x512xf32>, tensor<512x10xf32>) outs(%19 : tensor<128x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        %244 = arith.addf %out, %243 : f32
        linalg.yield %244 : f32
      } -> tensor<128x10xf32>
      %21 = tensor.empty() : tensor<1x10xf32>
      %22 = linalg.generic {indexing_maps = [#map5, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg23 : tensor<10xf32>) outs(%21 : tensor<1x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<1x10xf32>
      %23 = linalg.generic {indexing_maps = [#map6, #map1], iterator_types = ["parallel", "parallel"]} ins(%22 : tensor<1x10xf32>) outs(%18 : tensor<128x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<128x10xf32>
      %24 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%20, %23 : tensor<128x10xf32>, tensor<128x10xf32>) outs(%18 : tensor<128x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<128x10xf32>
      %25 = tensor.empty() : tensor<128x1xi32>
      %26 = linalg.generic {indexing_maps = [#map7, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg41 : tensor<128xi32>) outs(%25 : tensor<128x1xi32>) {
      ^bb0(%in: i32, %out: i32):
        linalg.yield %in : i32
      } -> tensor<128x1xi32>
      %27 = tensor.empty() : tensor<1x10xi32>
      %28 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel", "parallel"]} outs(%27 : tensor<1x10xi32>) {
      ^bb0(%out: i32):
        %243 = linalg.index 1 : index
        %244 = arith.index_cast %243 : index to i32
        linalg.yield %244 : i32
      } -> tensor<1x10xi32>
      %29 = tensor.empty() : tensor<128x10xi32>
      %30 = linalg.generic {indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel"]} ins(%26 : tensor<128x1xi32>) outs(%29 : tensor<128x10xi32>) {
      ^bb0(%in: i32, %out: i32):
        linalg.yield %in : i32
      } -> tensor<128x10xi32>
      %31 = linalg.generic {indexing_maps = [#map6, #map1], iterator_types = ["parallel", "parallel"]} ins(%28 : tensor<1x10xi32>) outs(%29 : tensor<128x10xi32>) {
      ^bb0(%in: i32, %out: i32):
        linalg.yield %in : i32
      } -> tensor<128x10xi32>
      %32 = tensor.empty() : tensor<128x10xi1>
      %33 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%30, %31 : tensor<128x10xi32>, tensor<128x10xi32>) outs(%32 : tensor<128x10xi1>) {
      ^bb0(%in: i32, %in_18: i32, %out: i1):
        %243 = arith.cmpi eq, %in, %in_18 : i32
        linalg.yield %243 : i1
      } -> tensor<128x10xi1>
      %34 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%33 : tensor<128x10xi1>) outs(%18 : tensor<128x10xf32>) {
      ^bb0(%in: i1, %out: f32):
        %243 = arith.uitofp %in : i1 to f32
        linalg.yield %243 : f32
      } -> tensor<128x10xf32>
      %35 = tensor.empty() : tensor<128xf32>
      %36 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst : f32) outs(%35 : tensor<128xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<128xf32>
      %37 = linalg.generic {indexing_maps = [#map1, #map7], iterator_types = ["parallel", "reduction"]} ins(%24 : tensor<128x10xf32>) outs(%36 : tensor<128xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = arith.maximumf %out, %in : f32
        linalg.yield %243 : f32
      } -> tensor<128xf32>
      %38 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_0 : tensor<f32>) outs(%35 : tensor<128xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<128xf32>
      %39 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%38, %37 : tensor<128xf32>, tensor<128xf32>) outs(%35 : tensor<128xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.maximumf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<128xf32>
      %40 = tensor.empty() : tensor<128x1xf32>
      %41 = linalg.generic {indexing_maps = [#map7, #map1], iterator_types = ["parallel", "parallel"]} ins(%39 : tensor<128xf32>) outs(%40 : tensor<128x1xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<128x1xf32>
      %42 = linalg.generic {indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel"]} ins(%41 : tensor<128x1xf32>) outs(%18 : tensor<128x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<128x10xf32>
      %43 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%24, %42 : tensor<128x10xf32>, tensor<128x10xf32>) outs(%18 : tensor<128x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.subf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<128x10xf32>
      %44 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%43 : tensor<128x10xf32>) outs(%18 : tensor<128x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = math.exp %in : f32
        linalg.yield %243 : f32
      } -> tensor<128x10xf32>
      %45 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_14 : f32) outs(%35 : tensor<128xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<128xf32>
      %46 = linalg.generic {indexing_maps = [#map1, #map7], iterator_types = ["parallel", "reduction"]} ins(%44 : tensor<128x10xf32>) outs(%45 : tensor<128xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = arith.addf %out, %in : f32
        linalg.yield %243 : f32
      } -> tensor<128xf32>
      %47 = linalg.generic {indexing_maps = [#map7, #map1], iterator_types = ["parallel", "parallel"]} ins(%46 : tensor<128xf32>) outs(%40 : tensor<128x1xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<128x1xf32>
      %48 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%47 : tensor<128x1xf32>) outs(%40 : tensor<128x1xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = math.log %in : f32
        linalg.yield %243 : f32
      } -> tensor<128x1xf32>
      %49 = linalg.generic {indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel"]} ins(%48 : tensor<128x1xf32>) outs(%18 : tensor<128x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<128x10xf32>
      %50 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%43, %49 : tensor<128x10xf32>, tensor<128x10xf32>) outs(%18 : tensor<128x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.subf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<128x10xf32>
      %51 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%34, %50 : tensor<128x10xf32>, tensor<128x10xf32>) outs(%18 : tensor<128x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<128x10xf32>
      %52 = linalg.generic {indexing_maps = [#map1, #map7], iterator_types = ["parallel", "reduction"]} ins(%51 : tensor<128x10xf32>) outs(%45 : tensor<128xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = arith.addf %out, %in : f32
        linalg.yield %243 : f32
      } -> tensor<128xf32>
      %53 = linalg.generic {indexing_maps = [#map10, #map10], iterator_types = ["parallel"]} ins(%52 : tensor<128xf32>) outs(%35 : tensor<128xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = arith.negf %in : f32
        linalg.yield %243 : f32
      } -> tensor<128xf32>
      %54 = tensor.empty() : tensor<f32>
      %55 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = []} ins(%cst_14 : f32) outs(%54 : tensor<f32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<f32>
      %56 = linalg.generic {indexing_maps = [#map10, #map9], iterator_types = ["reduction"]} ins(%53 : tensor<128xf32>) outs(%55 : tensor<f32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = arith.addf %out, %in : f32
        linalg.yield %243 : f32
      } -> tensor<f32>
      %57 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = []} ins(%56 : tensor<f32>) outs(%54 : tensor<f32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = arith.divf %in, %cst_12 : f32
        linalg.yield %243 : f32
      } -> tensor<f32>
      %58 = linalg.generic {indexing_maps = [#map11], iterator_types = []} outs(%54 : tensor<f32>) {
      ^bb0(%out: f32):
        linalg.yield %cst_1 : f32
      } -> tensor<f32>
      %59 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%58 : tensor<f32>) outs(%35 : tensor<128xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<128xf32>
      %60 = linalg.generic {indexing_maps = [#map10, #map10], iterator_types = ["parallel"]} ins(%59 : tensor<128xf32>) outs(%35 : tensor<128xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = arith.negf %in : f32
        linalg.yield %243 : f32
      } -> tensor<128xf32>
      %61 = linalg.generic {indexing_maps = [#map7, #map1], iterator_types = ["parallel", "parallel"]} ins(%60 : tensor<128xf32>) outs(%18 : tensor<128x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<128x10xf32>
      %62 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%34, %61 : tensor<128x10xf32>, tensor<128x10xf32>) outs(%18 : tensor<128x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<128x10xf32>
      %63 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%62 : tensor<128x10xf32>) outs(%18 : tensor<128x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = arith.negf %in : f32
        linalg.yield %243 : f32
      } -> tensor<128x10xf32>
      %64 = linalg.generic {indexing_maps = [#map1, #map7], iterator_types = ["parallel", "reduction"]} ins(%63 : tensor<128x10xf32>) outs(%45 : tensor<128xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = arith.addf %out, %in : f32
        linalg.yield %243 : f32
      } -> tensor<128xf32>
      %expanded = tensor.expand_shape %64 [[0, 1]] output_shape [128, 1] : tensor<128xf32> into tensor<128x1xf32>
      %65 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%expanded, %47 : tensor<128x1xf32>, tensor<128x1xf32>) outs(%40 : tensor<128x1xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.divf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<128x1xf32>
      %66 = linalg.generic {indexing_maps = [#map1, #map7], iterator_types = ["parallel", "reduction"]} ins(%65 : tensor<128x1xf32>) outs(%45 : tensor<128xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = arith.addf %out, %in : f32
        linalg.yield %243 : f32
      } -> tensor<128xf32>
      %67 = linalg.generic {indexing_maps = [#map7, #map1], iterator_types = ["parallel", "parallel"]} ins(%66 : tensor<128xf32>) outs(%18 : tensor<128x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<128x10xf32>
      %68 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%67, %44 : tensor<128x10xf32>, tensor<128x10xf32>) outs(%18 : tensor<128x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<128x10xf32>
      %69 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%62, %68 : tensor<128x10xf32>, tensor<128x10xf32>) outs(%18 : tensor<128x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<128x10xf32>
      %70 = tensor.empty() : tensor<10xf32>
      %71 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_14 : f32) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<10xf32>
      %72 = linalg.generic {indexing_maps = [#map12, #map7], iterator_types = ["parallel", "reduction"]} ins(%69 : tensor<128x10xf32>) outs(%71 : tensor<10xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = arith.addf %out, %in : f32
        linalg.yield %243 : f32
      } -> tensor<10xf32>
      %expanded_15 = tensor.expand_shape %72 [[0, 1]] output_shape [1, 10] : tensor<10xf32> into tensor<1x10xf32>
      %73 = linalg.generic {indexing_maps = [#map12, #map7], iterator_types = ["parallel", "reduction"]} ins(%expanded_15 : tensor<1x10xf32>) outs(%71 : tensor<10xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = arith.addf %out, %in : f32
        linalg.yield %243 : f32
      } -> tensor<10xf32>
      %74 = tensor.empty() : tensor<10x512xf32>
      %75 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_14 : f32) outs(%74 : tensor<10x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<10x512xf32>
      %76 = linalg.generic {indexing_maps = [#map13, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%69, %16 : tensor<128x10xf32>, tensor<128x512xf32>) outs(%75 : tensor<10x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        %244 = arith.addf %out, %243 : f32
        linalg.yield %244 : f32
      } -> tensor<10x512xf32>
      %77 = tensor.empty() : tensor<512x10xf32>
      %78 = linalg.generic {indexing_maps = [#map12, #map1], iterator_types = ["parallel", "parallel"]} ins(%76 : tensor<10x512xf32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x10xf32>
      %79 = linalg.generic {indexing_maps = [#map2, #map14, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%69, %arg26 : tensor<128x10xf32>, tensor<512x10xf32>) outs(%2 : tensor<128x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        %244 = arith.addf %out, %243 : f32
        linalg.yield %244 : f32
      } -> tensor<128x512xf32>
      %80 = linalg.generic {indexing_maps = [#map1, #map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%17, %79, %8 : tensor<128x512xi1>, tensor<128x512xf32>, tensor<128x512xf32>) outs(%1 : tensor<128x512xf32>) {
      ^bb0(%in: i1, %in_18: f32, %in_19: f32, %out: f32):
        %243 = arith.select %in, %in_18, %in_19 : f32
        linalg.yield %243 : f32
      } -> tensor<128x512xf32>
      %81 = tensor.empty() : tensor<512xf32>
      %82 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_14 : f32) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512xf32>
      %83 = linalg.generic {indexing_maps = [#map12, #map7], iterator_types = ["parallel", "reduction"]} ins(%80 : tensor<128x512xf32>) outs(%82 : tensor<512xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = arith.addf %out, %in : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %expanded_16 = tensor.expand_shape %83 [[0, 1]] output_shape [1, 512] : tensor<512xf32> into tensor<1x512xf32>
      %84 = linalg.generic {indexing_maps = [#map12, #map7], iterator_types = ["parallel", "reduction"]} ins(%expanded_16 : tensor<1x512xf32>) outs(%82 : tensor<512xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = arith.addf %out, %in : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %85 = tensor.empty() : tensor<512x512xf32>
      %86 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_14 : f32) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x512xf32>
      %87 = linalg.generic {indexing_maps = [#map13, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%80, %9 : tensor<128x512xf32>, tensor<128x512xf32>) outs(%86 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        %244 = arith.addf %out, %243 : f32
        linalg.yield %244 : f32
      } -> tensor<512x512xf32>
      %88 = linalg.generic {indexing_maps = [#map12, #map1], iterator_types = ["parallel", "parallel"]} ins(%87 : tensor<512x512xf32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x512xf32>
      %89 = linalg.generic {indexing_maps = [#map2, #map14, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%80, %arg25 : tensor<128x512xf32>, tensor<512x512xf32>) outs(%2 : tensor<128x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        %244 = arith.addf %out, %243 : f32
        linalg.yield %244 : f32
      } -> tensor<128x512xf32>
      %90 = linalg.generic {indexing_maps = [#map1, #map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%11, %89, %8 : tensor<128x512xi1>, tensor<128x512xf32>, tensor<128x512xf32>) outs(%1 : tensor<128x512xf32>) {
      ^bb0(%in: i1, %in_18: f32, %in_19: f32, %out: f32):
        %243 = arith.select %in, %in_18, %in_19 : f32
        linalg.yield %243 : f32
      } -> tensor<128x512xf32>
      %91 = linalg.generic {indexing_maps = [#map12, #map7], iterator_types = ["parallel", "reduction"]} ins(%90 : tensor<128x512xf32>) outs(%82 : tensor<512xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = arith.addf %out, %in : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %expanded_17 = tensor.expand_shape %91 [[0, 1]] output_shape [1, 512] : tensor<512xf32> into tensor<1x512xf32>
      %92 = linalg.generic {indexing_maps = [#map12, #map7], iterator_types = ["parallel", "reduction"]} ins(%expanded_17 : tensor<1x512xf32>) outs(%82 : tensor<512xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = arith.addf %out, %in : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %93 = tensor.empty() : tensor<512x64xf32>
      %94 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_14 : f32) outs(%93 : tensor<512x64xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x64xf32>
      %95 = linalg.generic {indexing_maps = [#map13, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%90, %arg40 : tensor<128x512xf32>, tensor<128x64xf32>) outs(%94 : tensor<512x64xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        %244 = arith.addf %out, %243 : f32
        linalg.yield %244 : f32
      } -> tensor<512x64xf32>
      %96 = tensor.empty() : tensor<64x512xf32>
      %97 = linalg.generic {indexing_maps = [#map12, #map1], iterator_types = ["parallel", "parallel"]} ins(%95 : tensor<512x64xf32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<64x512xf32>
      %98 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_10 : tensor<f32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512xf32>
      %99 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%98, %92 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %100 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_9 : tensor<f32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512xf32>
      %101 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%100, %arg28 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %102 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%99, %101 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %103 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%98, %84 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %104 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%100, %arg29 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %105 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%103, %104 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %106 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_10 : tensor<f32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<10xf32>
      %107 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%106, %73 : tensor<10xf32>, tensor<10xf32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<10xf32>
      %108 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_9 : tensor<f32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<10xf32>
      %109 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%108, %arg30 : tensor<10xf32>, tensor<10xf32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<10xf32>
      %110 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%107, %109 : tensor<10xf32>, tensor<10xf32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<10xf32>
      %111 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_10 : tensor<f32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<64x512xf32>
      %112 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%111, %97 : tensor<64x512xf32>, tensor<64x512xf32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<64x512xf32>
      %113 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_9 : tensor<f32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<64x512xf32>
      %114 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%113, %arg31 : tensor<64x512xf32>, tensor<64x512xf32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<64x512xf32>
      %115 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%112, %114 : tensor<64x512xf32>, tensor<64x512xf32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<64x512xf32>
      %116 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_10 : tensor<f32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x512xf32>
      %117 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%116, %88 : tensor<512x512xf32>, tensor<512x512xf32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x512xf32>
      %118 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_9 : tensor<f32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x512xf32>
      %119 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%118, %arg32 : tensor<512x512xf32>, tensor<512x512xf32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x512xf32>
      %120 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%117, %119 : tensor<512x512xf32>, tensor<512x512xf32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x512xf32>
      %121 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_10 : tensor<f32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x10xf32>
      %122 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%121, %78 : tensor<512x10xf32>, tensor<512x10xf32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x10xf32>
      %123 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_9 : tensor<f32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x10xf32>
      %124 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%123, %arg33 : tensor<512x10xf32>, tensor<512x10xf32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x10xf32>
      %125 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%122, %124 : tensor<512x10xf32>, tensor<512x10xf32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x10xf32>
      %126 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%92, %92 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %127 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_8 : tensor<f32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512xf32>
      %128 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%127, %126 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %129 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_7 : tensor<f32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512xf32>
      %130 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%129, %arg34 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %131 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%128, %130 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %132 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%84, %84 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %133 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%127, %132 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %134 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%129, %arg35 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %135 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%133, %134 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %136 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%73, %73 : tensor<10xf32>, tensor<10xf32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<10xf32>
      %137 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_8 : tensor<f32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<10xf32>
      %138 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%137, %136 : tensor<10xf32>, tensor<10xf32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<10xf32>
      %139 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_7 : tensor<f32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<10xf32>
      %140 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%139, %arg36 : tensor<10xf32>, tensor<10xf32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<10xf32>
      %141 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%138, %140 : tensor<10xf32>, tensor<10xf32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<10xf32>
      %142 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%97, %97 : tensor<64x512xf32>, tensor<64x512xf32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<64x512xf32>
      %143 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_8 : tensor<f32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<64x512xf32>
      %144 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%143, %142 : tensor<64x512xf32>, tensor<64x512xf32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<64x512xf32>
      %145 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_7 : tensor<f32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<64x512xf32>
      %146 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%145, %arg37 : tensor<64x512xf32>, tensor<64x512xf32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<64x512xf32>
      %147 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%144, %146 : tensor<64x512xf32>, tensor<64x512xf32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<64x512xf32>
      %148 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%88, %88 : tensor<512x512xf32>, tensor<512x512xf32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x512xf32>
      %149 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_8 : tensor<f32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x512xf32>
      %150 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%149, %148 : tensor<512x512xf32>, tensor<512x512xf32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x512xf32>
      %151 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_7 : tensor<f32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x512xf32>
      %152 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%151, %arg38 : tensor<512x512xf32>, tensor<512x512xf32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x512xf32>
      %153 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%150, %152 : tensor<512x512xf32>, tensor<512x512xf32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x512xf32>
      %154 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%78, %78 : tensor<512x10xf32>, tensor<512x10xf32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x10xf32>
      %155 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_8 : tensor<f32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x10xf32>
      %156 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%155, %154 : tensor<512x10xf32>, tensor<512x10xf32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x10xf32>
      %157 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_7 : tensor<f32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x10xf32>
      %158 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%157, %arg39 : tensor<512x10xf32>, tensor<512x10xf32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x10xf32>
      %159 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%156, %158 : tensor<512x10xf32>, tensor<512x10xf32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x10xf32>
      %160 = tensor.empty() : tensor<i1>
      %161 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = []} ins(%arg27 : tensor<i32>) outs(%160 : tensor<i1>) {
      ^bb0(%in: i32, %out: i1):
        %243 = arith.cmpi slt, %in, %c2147483647_i32 : i32
        linalg.yield %243 : i1
      } -> tensor<i1>
      %162 = tensor.empty() : tensor<i32>
      %163 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = []} ins(%arg27 : tensor<i32>) outs(%162 : tensor<i32>) {
      ^bb0(%in: i32, %out: i32):
        %243 = arith.addi %in, %c1_i32 : i32
        linalg.yield %243 : i32
      } -> tensor<i32>
      %164 = linalg.generic {indexing_maps = [#map11, #map11, #map11, #map11], iterator_types = []} ins(%161, %163, %cst_6 : tensor<i1>, tensor<i32>, tensor<i32>) outs(%162 : tensor<i32>) {
      ^bb0(%in: i1, %in_18: i32, %in_19: i32, %out: i32):
        %243 = arith.select %in, %in_18, %in_19 : i32
        linalg.yield %243 : i32
      } -> tensor<i32>
      %165 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = []} ins(%164 : tensor<i32>) outs(%54 : tensor<f32>) {
      ^bb0(%in: i32, %out: f32):
        %243 = arith.sitofp %in : i32 to f32
        linalg.yield %243 : f32
      } -> tensor<f32>
      %166 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = []} ins(%165 : tensor<f32>) outs(%54 : tensor<f32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = math.powf %cst_5, %in : f32
        linalg.yield %243 : f32
      } -> tensor<f32>
      %167 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = []} ins(%166 : tensor<f32>) outs(%54 : tensor<f32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = arith.subf %cst_11, %in : f32
        linalg.yield %243 : f32
      } -> tensor<f32>
      %168 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%167 : tensor<f32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512xf32>
      %169 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%102, %168 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.divf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %170 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%105, %168 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.divf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %171 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%167 : tensor<f32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<10xf32>
      %172 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%110, %171 : tensor<10xf32>, tensor<10xf32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.divf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<10xf32>
      %173 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%167 : tensor<f32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<64x512xf32>
      %174 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%115, %173 : tensor<64x512xf32>, tensor<64x512xf32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.divf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<64x512xf32>
      %175 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%167 : tensor<f32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x512xf32>
      %176 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%120, %175 : tensor<512x512xf32>, tensor<512x512xf32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.divf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x512xf32>
      %177 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%167 : tensor<f32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x10xf32>
      %178 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%125, %177 : tensor<512x10xf32>, tensor<512x10xf32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.divf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x10xf32>
      %179 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = []} ins(%165 : tensor<f32>) outs(%54 : tensor<f32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = math.powf %cst_4, %in : f32
        linalg.yield %243 : f32
      } -> tensor<f32>
      %180 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = []} ins(%179 : tensor<f32>) outs(%54 : tensor<f32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = arith.subf %cst_11, %in : f32
        linalg.yield %243 : f32
      } -> tensor<f32>
      %181 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%180 : tensor<f32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512xf32>
      %182 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%131, %181 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.divf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %183 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%135, %181 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.divf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %184 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%180 : tensor<f32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<10xf32>
      %185 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%141, %184 : tensor<10xf32>, tensor<10xf32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.divf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<10xf32>
      %186 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%180 : tensor<f32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<64x512xf32>
      %187 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%147, %186 : tensor<64x512xf32>, tensor<64x512xf32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.divf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<64x512xf32>
      %188 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%180 : tensor<f32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x512xf32>
      %189 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%153, %188 : tensor<512x512xf32>, tensor<512x512xf32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.divf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x512xf32>
      %190 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%180 : tensor<f32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x10xf32>
      %191 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%159, %190 : tensor<512x10xf32>, tensor<512x10xf32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.divf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x10xf32>
      %192 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_13 : tensor<f32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512xf32>
      %193 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%182, %192 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %194 = linalg.generic {indexing_maps = [#map10, #map10], iterator_types = ["parallel"]} ins(%193 : tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = math.sqrt %in : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %195 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_3 : tensor<f32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512xf32>
      %196 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%194, %195 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %197 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%169, %196 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.divf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %198 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%183, %192 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %199 = linalg.generic {indexing_maps = [#map10, #map10], iterator_types = ["parallel"]} ins(%198 : tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = math.sqrt %in : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %200 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%199, %195 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %201 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%170, %200 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.divf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %202 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_13 : tensor<f32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<10xf32>
      %203 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%185, %202 : tensor<10xf32>, tensor<10xf32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<10xf32>
      %204 = linalg.generic {indexing_maps = [#map10, #map10], iterator_types = ["parallel"]} ins(%203 : tensor<10xf32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = math.sqrt %in : f32
        linalg.yield %243 : f32
      } -> tensor<10xf32>
      %205 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_3 : tensor<f32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<10xf32>
      %206 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%204, %205 : tensor<10xf32>, tensor<10xf32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<10xf32>
      %207 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%172, %206 : tensor<10xf32>, tensor<10xf32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.divf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<10xf32>
      %208 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_13 : tensor<f32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<64x512xf32>
      %209 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%187, %208 : tensor<64x512xf32>, tensor<64x512xf32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<64x512xf32>
      %210 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%209 : tensor<64x512xf32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = math.sqrt %in : f32
        linalg.yield %243 : f32
      } -> tensor<64x512xf32>
      %211 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<64x512xf32>
      %212 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%210, %211 : tensor<64x512xf32>, tensor<64x512xf32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<64x512xf32>
      %213 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%174, %212 : tensor<64x512xf32>, tensor<64x512xf32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.divf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<64x512xf32>
      %214 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_13 : tensor<f32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x512xf32>
      %215 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%189, %214 : tensor<512x512xf32>, tensor<512x512xf32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x512xf32>
      %216 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%215 : tensor<512x512xf32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = math.sqrt %in : f32
        linalg.yield %243 : f32
      } -> tensor<512x512xf32>
      %217 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x512xf32>
      %218 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%216, %217 : tensor<512x512xf32>, tensor<512x512xf32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x512xf32>
      %219 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%176, %218 : tensor<512x512xf32>, tensor<512x512xf32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.divf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x512xf32>
      %220 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_13 : tensor<f32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x10xf32>
      %221 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%191, %220 : tensor<512x10xf32>, tensor<512x10xf32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x10xf32>
      %222 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%221 : tensor<512x10xf32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        %243 = math.sqrt %in : f32
        linalg.yield %243 : f32
      } -> tensor<512x10xf32>
      %223 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x10xf32>
      %224 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%222, %223 : tensor<512x10xf32>, tensor<512x10xf32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x10xf32>
      %225 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%178, %224 : tensor<512x10xf32>, tensor<512x10xf32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.divf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x10xf32>
      %226 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_2 : tensor<f32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512xf32>
      %227 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%226, %197 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %228 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%226, %201 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %229 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_2 : tensor<f32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<10xf32>
      %230 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%229, %207 : tensor<10xf32>, tensor<10xf32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<10xf32>
      %231 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<64x512xf32>
      %232 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%231, %213 : tensor<64x512xf32>, tensor<64x512xf32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<64x512xf32>
      %233 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x512xf32>
      %234 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%233, %219 : tensor<512x512xf32>, tensor<512x512xf32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x512xf32>
      %235 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<512x10xf32>
      %236 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%235, %225 : tensor<512x10xf32>, tensor<512x10xf32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.mulf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x10xf32>
      %237 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%arg21, %227 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %238 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%arg22, %228 : tensor<512xf32>, tensor<512xf32>) outs(%81 : tensor<512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512xf32>
      %239 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%arg23, %230 : tensor<10xf32>, tensor<10xf32>) outs(%70 : tensor<10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<10xf32>
      %240 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg24, %232 : tensor<64x512xf32>, tensor<64x512xf32>) outs(%96 : tensor<64x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<64x512xf32>
      %241 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg25, %234 : tensor<512x512xf32>, tensor<512x512xf32>) outs(%85 : tensor<512x512xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x512xf32>
      %242 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg26, %236 : tensor<512x10xf32>, tensor<512x10xf32>) outs(%77 : tensor<512x10xf32>) {
      ^bb0(%in: f32, %in_18: f32, %out: f32):
        %243 = arith.addf %in, %in_18 : f32
        linalg.yield %243 : f32
      } -> tensor<512x10xf32>
      epl.yield %237, %238, %239, %240, %241, %242, %164, %102, %105, %110, %115, %120, %125, %131, %135, %141, %147, %153, %159, %57 : tensor<512xf32>, tensor<512xf32>, tensor<10xf32>, tensor<64x512xf32>, tensor<512x512xf32>, tensor<512x10xf32>, tensor<i32>, tensor<512xf32>, tensor<512xf32>, tensor<10xf32>, tensor<64x512xf32>, tensor<512x512xf32>, tensor<512x10xf32>, tensor<512xf32>, tensor<512xf32>, tensor<10xf32>, tensor<64x512xf32>, tensor<512x512xf32>, tensor<512x10xf32>, tensor<f32>
    }
    return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6, %0#7, %0#8, %0#9, %0#10, %0#11, %0#12, %0#13, %0#14, %0#15, %0#16, %0#17, %0#18, %0#19 : !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<10xf32>, <@mesh, [{}]>>, !epl.dist<tensor<64x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x10xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<i32>, <@mesh, []>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<10xf32>, <@mesh, [{}]>>, !epl.dist<tensor<64x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x10xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<512xf32>, <@mesh, [{}]>>, !epl.dist<tensor<10xf32>, <@mesh, [{}]>>, !epl.dist<tensor<64x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x512xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<512x10xf32>, <@mesh, [{}, {}]>>, !epl.dist<tensor<f32>, <@mesh, []>>
  }
}

