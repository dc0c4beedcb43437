// RUN: epl-opt %s -epl-seed-batch -epl-propagate -epl-place -epl-verify-sharded | FileCheck %s

// A training step as the front end hands it over: an MLP of three layers (4-6-5-3, relu, one-hot cross entropy)
// with SGD, traced from JAX, legalized to linalg and generalized. Data parallelism needs one sum for each of
// the six parameters and one for the loss, and no gather; no linear op of the same work comes after a sum.

// CHECK: func.func public @main
// CHECK-NOT: epl.reshard
// CHECK: epl.reshard %{{.*}} to <@mesh, []>{{.*}} : tensor<f32>
// CHECK-NOT: epl.reshard
// CHECK: epl.reshard %{{.*}} to <@mesh, [{}]>{{.*}} : tensor<6xf32>
// CHECK-NOT: epl.reshard
// CHECK: epl.reshard %{{.*}} to <@mesh, [{}]>{{.*}} : tensor<5xf32>
// CHECK-NOT: epl.reshard
// CHECK: epl.reshard %{{.*}} to <@mesh, [{}]>{{.*}} : tensor<3xf32>
// CHECK-NOT: epl.reshard
// CHECK: epl.reshard %{{.*}} to <@mesh, [{}, {}]>{{.*}} : tensor<4x6xf32>
// CHECK-NOT: epl.reshard
// CHECK: epl.reshard %{{.*}} to <@mesh, [{}, {}]>{{.*}} : tensor<6x5xf32>
// CHECK-NOT: epl.reshard
// CHECK: epl.reshard %{{.*}} to <@mesh, [{}, {}]>{{.*}} : tensor<5x3xf32>
// CHECK-NOT: epl.reshard

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
epl.mesh @mesh axes ["data"=2]

func.func public @main(%arg0: tensor<6xf32> {epl.role = "state"}, %arg1: tensor<5xf32> {epl.role = "state"}, %arg2: tensor<3xf32> {epl.role = "state"}, %arg3: tensor<4x6xf32> {epl.role = "state"}, %arg4: tensor<6x5xf32> {epl.role = "state"}, %arg5: tensor<5x3xf32> {epl.role = "state"}, %arg6: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %arg7: tensor<8xi32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> (tensor<6xf32> {epl.updates = 0 : i64}, tensor<5xf32> {epl.updates = 1 : i64}, tensor<3xf32> {epl.updates = 2 : i64}, tensor<4x6xf32> {epl.updates = 3 : i64}, tensor<6x5xf32> {epl.updates = 4 : i64}, tensor<5x3xf32> {epl.updates = 5 : i64}, tensor<f32>) {
  %cst = arith.constant 0xFF800000 : f32
  %cst_0 = arith.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = arith.constant 1.250000e-01 : f32
  %cst_2 = arith.constant dense<1.000000e-01> : tensor<f32>
  %cst_3 = arith.constant 8.000000e+00 : f32
  %cst_4 = arith.constant dense<0.000000e+00> : tensor<f32>
  %cst_5 = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<8x6xf32>
  %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_5 : f32) outs(%0 : tensor<8x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x6xf32>
  %2 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg6, %arg3 : tensor<8x4xf32>, tensor<4x6xf32>) outs(%1 : tensor<8x6xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.mulf %in, %in_9 : f32
    %124 = arith.addf %out, %123 : f32
    linalg.yield %124 : f32
  } -> tensor<8x6xf32>
  %3 = tensor.empty() : tensor<1x6xf32>
  %4 = linalg.generic {indexing_maps = [#map5, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<6xf32>) outs(%3 : tensor<1x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x6xf32>
  %5 = linalg.generic {indexing_maps = [#map6, #map1], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<1x6xf32>) outs(%0 : tensor<8x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x6xf32>
  %6 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%2, %5 : tensor<8x6xf32>, tensor<8x6xf32>) outs(%0 : tensor<8x6xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.addf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<8x6xf32>
  %7 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_4 : tensor<f32>) outs(%0 : tensor<8x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x6xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%6, %7 : tensor<8x6xf32>, tensor<8x6xf32>) outs(%0 : tensor<8x6xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.maximumf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<8x6xf32>
  %9 = tensor.empty() : tensor<8x6xi1>
  %10 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%6, %7 : tensor<8x6xf32>, tensor<8x6xf32>) outs(%9 : tensor<8x6xi1>) {
  ^bb0(%in: f32, %in_9: f32, %out: i1):
    %123 = arith.cmpf ogt, %in, %in_9 : f32
    linalg.yield %123 : i1
  } -> tensor<8x6xi1>
  %11 = tensor.empty() : tensor<8x5xf32>
  %12 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_5 : f32) outs(%11 : tensor<8x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x5xf32>
  %13 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%8, %arg4 : tensor<8x6xf32>, tensor<6x5xf32>) outs(%12 : tensor<8x5xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.mulf %in, %in_9 : f32
    %124 = arith.addf %out, %123 : f32
    linalg.yield %124 : f32
  } -> tensor<8x5xf32>
  %14 = tensor.empty() : tensor<1x5xf32>
  %15 = linalg.generic {indexing_maps = [#map5, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg1 : tensor<5xf32>) outs(%14 : tensor<1x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x5xf32>
  %16 = linalg.generic {indexing_maps = [#map6, #map1], iterator_types = ["parallel", "parallel"]} ins(%15 : tensor<1x5xf32>) outs(%11 : tensor<8x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x5xf32>
  %17 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%13, %16 : tensor<8x5xf32>, tensor<8x5xf32>) outs(%11 : tensor<8x5xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.addf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<8x5xf32>
  %18 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_4 : tensor<f32>) outs(%11 : tensor<8x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x5xf32>
  %19 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%17, %18 : tensor<8x5xf32>, tensor<8x5xf32>) outs(%11 : tensor<8x5xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.maximumf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<8x5xf32>
  %20 = tensor.empty() : tensor<8x5xi1>
  %21 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%17, %18 : tensor<8x5xf32>, tensor<8x5xf32>) outs(%20 : tensor<8x5xi1>) {
  ^bb0(%in: f32, %in_9: f32, %out: i1):
    %123 = arith.cmpf ogt, %in, %in_9 : f32
    linalg.yield %123 : i1
  } -> tensor<8x5xi1>
  %22 = tensor.empty() : tensor<8x3xf32>
  %23 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_5 : f32) outs(%22 : tensor<8x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x3xf32>
  %24 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%19, %arg5 : tensor<8x5xf32>, tensor<5x3xf32>) outs(%23 : tensor<8x3xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.mulf %in, %in_9 : f32
    %124 = arith.addf %out, %123 : f32
    linalg.yield %124 : f32
  } -> tensor<8x3xf32>
  %25 = tensor.empty() : tensor<1x3xf32>
  %26 = linalg.generic {indexing_maps = [#map5, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg2 : tensor<3xf32>) outs(%25 : tensor<1x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x3xf32>
  %27 = linalg.generic {indexing_maps = [#map6, #map1], iterator_types = ["parallel", "parallel"]} ins(%26 : tensor<1x3xf32>) outs(%22 : tensor<8x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x3xf32>
  %28 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%24, %27 : tensor<8x3xf32>, tensor<8x3xf32>) outs(%22 : tensor<8x3xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.addf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<8x3xf32>
  %29 = tensor.empty() : tensor<8x1xi32>
  %30 = linalg.generic {indexing_maps = [#map7, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg7 : tensor<8xi32>) outs(%29 : tensor<8x1xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<8x1xi32>
  %31 = tensor.empty() : tensor<1x3xi32>
  %32 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel", "parallel"]} outs(%31 : tensor<1x3xi32>) {
  ^bb0(%out: i32):
    %123 = linalg.index 1 : index
    %124 = arith.index_cast %123 : index to i32
    linalg.yield %124 : i32
  } -> tensor<1x3xi32>
  %33 = tensor.empty() : tensor<8x3xi32>
  %34 = linalg.generic {indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel"]} ins(%30 : tensor<8x1xi32>) outs(%33 : tensor<8x3xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<8x3xi32>
  %35 = linalg.generic {indexing_maps = [#map6, #map1], iterator_types = ["parallel", "parallel"]} ins(%32 : tensor<1x3xi32>) outs(%33 : tensor<8x3xi32>) {
  ^bb0(%in: i32, %out: i32):
    linalg.yield %in : i32
  } -> tensor<8x3xi32>
  %36 = tensor.empty() : tensor<8x3xi1>
  %37 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%34, %35 : tensor<8x3xi32>, tensor<8x3xi32>) outs(%36 : tensor<8x3xi1>) {
  ^bb0(%in: i32, %in_9: i32, %out: i1):
    %123 = arith.cmpi eq, %in, %in_9 : i32
    linalg.yield %123 : i1
  } -> tensor<8x3xi1>
  %38 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%37 : tensor<8x3xi1>) outs(%22 : tensor<8x3xf32>) {
  ^bb0(%in: i1, %out: f32):
    %123 = arith.uitofp %in : i1 to f32
    linalg.yield %123 : f32
  } -> tensor<8x3xf32>
  %39 = tensor.empty() : tensor<8xf32>
  %40 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst : f32) outs(%39 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8xf32>
  %41 = linalg.generic {indexing_maps = [#map1, #map7], iterator_types = ["parallel", "reduction"]} ins(%28 : tensor<8x3xf32>) outs(%40 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %123 = arith.maximumf %out, %in : f32
    linalg.yield %123 : f32
  } -> tensor<8xf32>
  %42 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_0 : tensor<f32>) outs(%39 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8xf32>
  %43 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%42, %41 : tensor<8xf32>, tensor<8xf32>) outs(%39 : tensor<8xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.maximumf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<8xf32>
  %44 = tensor.empty() : tensor<8x1xf32>
  %45 = linalg.generic {indexing_maps = [#map7, #map1], iterator_types = ["parallel", "parallel"]} ins(%43 : tensor<8xf32>) outs(%44 : tensor<8x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x1xf32>
  %46 = linalg.generic {indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel"]} ins(%45 : tensor<8x1xf32>) outs(%22 : tensor<8x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x3xf32>
  %47 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%28, %46 : tensor<8x3xf32>, tensor<8x3xf32>) outs(%22 : tensor<8x3xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.subf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<8x3xf32>
  %48 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%47 : tensor<8x3xf32>) outs(%22 : tensor<8x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %123 = math.exp %in : f32
    linalg.yield %123 : f32
  } -> tensor<8x3xf32>
  %49 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_5 : f32) outs(%39 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8xf32>
  %50 = linalg.generic {indexing_maps = [#map1, #map7], iterator_types = ["parallel", "reduction"]} ins(%48 : tensor<8x3xf32>) outs(%49 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %123 = arith.addf %out, %in : f32
    linalg.yield %123 : f32
  } -> tensor<8xf32>
  %51 = linalg.generic {indexing_maps = [#map7, #map1], iterator_types = ["parallel", "parallel"]} ins(%50 : tensor<8xf32>) outs(%44 : tensor<8x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x1xf32>
  %52 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%51 : tensor<8x1xf32>) outs(%44 : tensor<8x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %123 = math.log %in : f32
    linalg.yield %123 : f32
  } -> tensor<8x1xf32>
  %53 = linalg.generic {indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel"]} ins(%52 : tensor<8x1xf32>) outs(%22 : tensor<8x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x3xf32>
  %54 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%47, %53 : tensor<8x3xf32>, tensor<8x3xf32>) outs(%22 : tensor<8x3xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.subf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<8x3xf32>
  %55 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%38, %54 : tensor<8x3xf32>, tensor<8x3xf32>) outs(%22 : tensor<8x3xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.mulf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<8x3xf32>
  %56 = linalg.generic {indexing_maps = [#map1, #map7], iterator_types = ["parallel", "reduction"]} ins(%55 : tensor<8x3xf32>) outs(%49 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %123 = arith.addf %out, %in : f32
    linalg.yield %123 : f32
  } -> tensor<8xf32>
  %57 = linalg.generic {indexing_maps = [#map10, #map10], iterator_types = ["parallel"]} ins(%56 : tensor<8xf32>) outs(%39 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %123 = arith.negf %in : f32
    linalg.yield %123 : f32
  } -> tensor<8xf32>
  %58 = tensor.empty() : tensor<f32>
  %59 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = []} ins(%cst_5 : f32) outs(%58 : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<f32>
  %60 = linalg.generic {indexing_maps = [#map10, #map9], iterator_types = ["reduction"]} ins(%57 : tensor<8xf32>) outs(%59 : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %123 = arith.addf %out, %in : f32
    linalg.yield %123 : f32
  } -> tensor<f32>
  %61 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = []} ins(%60 : tensor<f32>) outs(%58 : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %123 = arith.divf %in, %cst_3 : f32
    linalg.yield %123 : f32
  } -> tensor<f32>
  %62 = linalg.generic {indexing_maps = [#map11], iterator_types = []} outs(%58 : tensor<f32>) {
  ^bb0(%out: f32):
    linalg.yield %cst_1 : f32
  } -> tensor<f32>
  %63 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%62 : tensor<f32>) outs(%39 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8xf32>
  %64 = linalg.generic {indexing_maps = [#map10, #map10], iterator_types = ["parallel"]} ins(%63 : tensor<8xf32>) outs(%39 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %123 = arith.negf %in : f32
    linalg.yield %123 : f32
  } -> tensor<8xf32>
  %65 = linalg.generic {indexing_maps = [#map7, #map1], iterator_types = ["parallel", "parallel"]} ins(%64 : tensor<8xf32>) outs(%22 : tensor<8x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x3xf32>
  %66 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%38, %65 : tensor<8x3xf32>, tensor<8x3xf32>) outs(%22 : tensor<8x3xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.mulf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<8x3xf32>
  %67 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%66 : tensor<8x3xf32>) outs(%22 : tensor<8x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %123 = arith.negf %in : f32
    linalg.yield %123 : f32
  } -> tensor<8x3xf32>
  %68 = linalg.generic {indexing_maps = [#map1, #map7], iterator_types = ["parallel", "reduction"]} ins(%67 : tensor<8x3xf32>) outs(%49 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %123 = arith.addf %out, %in : f32
    linalg.yield %123 : f32
  } -> tensor<8xf32>
  %expanded = tensor.expand_shape %68 [[0, 1]] output_shape [8, 1] : tensor<8xf32> into tensor<8x1xf32>
  %69 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%expanded, %51 : tensor<8x1xf32>, tensor<8x1xf32>) outs(%44 : tensor<8x1xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.divf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<8x1xf32>
  %70 = linalg.generic {indexing_maps = [#map1, #map7], iterator_types = ["parallel", "reduction"]} ins(%69 : tensor<8x1xf32>) outs(%49 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %123 = arith.addf %out, %in : f32
    linalg.yield %123 : f32
  } -> tensor<8xf32>
  %71 = linalg.generic {indexing_maps = [#map7, #map1], iterator_types = ["parallel", "parallel"]} ins(%70 : tensor<8xf32>) outs(%22 : tensor<8x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x3xf32>
  %72 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%71, %48 : tensor<8x3xf32>, tensor<8x3xf32>) outs(%22 : tensor<8x3xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.mulf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<8x3xf32>
  %73 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%66, %72 : tensor<8x3xf32>, tensor<8x3xf32>) outs(%22 : tensor<8x3xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.addf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<8x3xf32>
  %74 = tensor.empty() : tensor<3xf32>
  %75 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_5 : f32) outs(%74 : tensor<3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3xf32>
  %76 = linalg.generic {indexing_maps = [#map12, #map7], iterator_types = ["parallel", "reduction"]} ins(%73 : tensor<8x3xf32>) outs(%75 : tensor<3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %123 = arith.addf %out, %in : f32
    linalg.yield %123 : f32
  } -> tensor<3xf32>
  %expanded_6 = tensor.expand_shape %76 [[0, 1]] output_shape [1, 3] : tensor<3xf32> into tensor<1x3xf32>
  %77 = linalg.generic {indexing_maps = [#map12, #map7], iterator_types = ["parallel", "reduction"]} ins(%expanded_6 : tensor<1x3xf32>) outs(%75 : tensor<3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %123 = arith.addf %out, %in : f32
    linalg.yield %123 : f32
  } -> tensor<3xf32>
  %78 = tensor.empty() : tensor<3x5xf32>
  %79 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_5 : f32) outs(%78 : tensor<3x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x5xf32>
  %80 = linalg.generic {indexing_maps = [#map13, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%73, %19 : tensor<8x3xf32>, tensor<8x5xf32>) outs(%79 : tensor<3x5xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.mulf %in, %in_9 : f32
    %124 = arith.addf %out, %123 : f32
    linalg.yield %124 : f32
  } -> tensor<3x5xf32>
  %81 = tensor.empty() : tensor<5x3xf32>
  %82 = linalg.generic {indexing_maps = [#map12, #map1], iterator_types = ["parallel", "parallel"]} ins(%80 : tensor<3x5xf32>) outs(%81 : tensor<5x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<5x3xf32>
  %83 = linalg.generic {indexing_maps = [#map2, #map14, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%73, %arg5 : tensor<8x3xf32>, tensor<5x3xf32>) outs(%12 : tensor<8x5xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.mulf %in, %in_9 : f32
    %124 = arith.addf %out, %123 : f32
    linalg.yield %124 : f32
  } -> tensor<8x5xf32>
  %84 = linalg.generic {indexing_maps = [#map1, #map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%21, %83, %18 : tensor<8x5xi1>, tensor<8x5xf32>, tensor<8x5xf32>) outs(%11 : tensor<8x5xf32>) {
  ^bb0(%in: i1, %in_9: f32, %in_10: f32, %out: f32):
    %123 = arith.select %in, %in_9, %in_10 : f32
    linalg.yield %123 : f32
  } -> tensor<8x5xf32>
  %85 = tensor.empty() : tensor<5xf32>
  %86 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_5 : f32) outs(%85 : tensor<5xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<5xf32>
  %87 = linalg.generic {indexing_maps = [#map12, #map7], iterator_types = ["parallel", "reduction"]} ins(%84 : tensor<8x5xf32>) outs(%86 : tensor<5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %123 = arith.addf %out, %in : f32
    linalg.yield %123 : f32
  } -> tensor<5xf32>
  %expanded_7 = tensor.expand_shape %87 [[0, 1]] output_shape [1, 5] : tensor<5xf32> into tensor<1x5xf32>
  %88 = linalg.generic {indexing_maps = [#map12, #map7], iterator_types = ["parallel", "reduction"]} ins(%expanded_7 : tensor<1x5xf32>) outs(%86 : tensor<5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %123 = arith.addf %out, %in : f32
    linalg.yield %123 : f32
  } -> tensor<5xf32>
  %89 = tensor.empty() : tensor<5x6xf32>
  %90 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_5 : f32) outs(%89 : tensor<5x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<5x6xf32>
  %91 = linalg.generic {indexing_maps = [#map13, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%84, %8 : tensor<8x5xf32>, tensor<8x6xf32>) outs(%90 : tensor<5x6xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.mulf %in, %in_9 : f32
    %124 = arith.addf %out, %123 : f32
    linalg.yield %124 : f32
  } -> tensor<5x6xf32>
  %92 = tensor.empty() : tensor<6x5xf32>
  %93 = linalg.generic {indexing_maps = [#map12, #map1], iterator_types = ["parallel", "parallel"]} ins(%91 : tensor<5x6xf32>) outs(%92 : tensor<6x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<6x5xf32>
  %94 = linalg.generic {indexing_maps = [#map2, #map14, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%84, %arg4 : tensor<8x5xf32>, tensor<6x5xf32>) outs(%1 : tensor<8x6xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.mulf %in, %in_9 : f32
    %124 = arith.addf %out, %123 : f32
    linalg.yield %124 : f32
  } -> tensor<8x6xf32>
  %95 = linalg.generic {indexing_maps = [#map1, #map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%10, %94, %7 : tensor<8x6xi1>, tensor<8x6xf32>, tensor<8x6xf32>) outs(%0 : tensor<8x6xf32>) {
  ^bb0(%in: i1, %in_9: f32, %in_10: f32, %out: f32):
    %123 = arith.select %in, %in_9, %in_10 : f32
    linalg.yield %123 : f32
  } -> tensor<8x6xf32>
  %96 = tensor.empty() : tensor<6xf32>
  %97 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_5 : f32) outs(%96 : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<6xf32>
  %98 = linalg.generic {indexing_maps = [#map12, #map7], iterator_types = ["parallel", "reduction"]} ins(%95 : tensor<8x6xf32>) outs(%97 : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %123 = arith.addf %out, %in : f32
    linalg.yield %123 : f32
  } -> tensor<6xf32>
  %expanded_8 = tensor.expand_shape %98 [[0, 1]] output_shape [1, 6] : tensor<6xf32> into tensor<1x6xf32>
  %99 = linalg.generic {indexing_maps = [#map12, #map7], iterator_types = ["parallel", "reduction"]} ins(%expanded_8 : tensor<1x6xf32>) outs(%97 : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %123 = arith.addf %out, %in : f32
    linalg.yield %123 : f32
  } -> tensor<6xf32>
  %100 = tensor.empty() : tensor<6x4xf32>
  %101 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_5 : f32) outs(%100 : tensor<6x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<6x4xf32>
  %102 = linalg.generic {indexing_maps = [#map13, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%95, %arg6 : tensor<8x6xf32>, tensor<8x4xf32>) outs(%101 : tensor<6x4xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.mulf %in, %in_9 : f32
    %124 = arith.addf %out, %123 : f32
    linalg.yield %124 : f32
  } -> tensor<6x4xf32>
  %103 = tensor.empty() : tensor<4x6xf32>
  %104 = linalg.generic {indexing_maps = [#map12, #map1], iterator_types = ["parallel", "parallel"]} ins(%102 : tensor<6x4xf32>) outs(%103 : tensor<4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x6xf32>
  %105 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_2 : tensor<f32>) outs(%96 : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<6xf32>
  %106 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%105, %99 : tensor<6xf32>, tensor<6xf32>) outs(%96 : tensor<6xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.mulf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<6xf32>
  %107 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%arg0, %106 : tensor<6xf32>, tensor<6xf32>) outs(%96 : tensor<6xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.subf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<6xf32>
  %108 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_2 : tensor<f32>) outs(%85 : tensor<5xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<5xf32>
  %109 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%108, %88 : tensor<5xf32>, tensor<5xf32>) outs(%85 : tensor<5xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.mulf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<5xf32>
  %110 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%arg1, %109 : tensor<5xf32>, tensor<5xf32>) outs(%85 : tensor<5xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.subf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<5xf32>
  %111 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel"]} ins(%cst_2 : tensor<f32>) outs(%74 : tensor<3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3xf32>
  %112 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%111, %77 : tensor<3xf32>, tensor<3xf32>) outs(%74 : tensor<3xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.mulf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<3xf32>
  %113 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel"]} ins(%arg2, %112 : tensor<3xf32>, tensor<3xf32>) outs(%74 : tensor<3xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.subf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<3xf32>
  %114 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%103 : tensor<4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x6xf32>
  %115 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%114, %104 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%103 : tensor<4x6xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.mulf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<4x6xf32>
  %116 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg3, %115 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%103 : tensor<4x6xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.subf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<4x6xf32>
  %117 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%92 : tensor<6x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<6x5xf32>
  %118 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%117, %93 : tensor<6x5xf32>, tensor<6x5xf32>) outs(%92 : tensor<6x5xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.mulf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<6x5xf32>
  %119 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg4, %118 : tensor<6x5xf32>, tensor<6x5xf32>) outs(%92 : tensor<6x5xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.subf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<6x5xf32>
  %120 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%81 : tensor<5x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<5x3xf32>
  %121 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%120, %82 : tensor<5x3xf32>, tensor<5x3xf32>) outs(%81 : tensor<5x3xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.mulf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<5x3xf32>
  %122 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg5, %121 : tensor<5x3xf32>, tensor<5x3xf32>) outs(%81 : tensor<5x3xf32>) {
  ^bb0(%in: f32, %in_9: f32, %out: f32):
    %123 = arith.subf %in, %in_9 : f32
    linalg.yield %123 : f32
  } -> tensor<5x3xf32>
  return %107, %110, %113, %116, %119, %122, %61 : tensor<6xf32>, tensor<5xf32>, tensor<3xf32>, tensor<4x6xf32>, tensor<6x5xf32>, tensor<5x3xf32>, tensor<f32>
}
