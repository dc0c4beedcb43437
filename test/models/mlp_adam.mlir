// A training step as the JAX front end hands it over, without locations: MLP 12-16-10, batch 24, optax.adam.
#map = affine_map<(d0, d1) -> (d1)>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1) -> (0, d1)>
#map3 = affine_map<(d0, d1) -> ()>
#map4 = affine_map<(d0, d1) -> (d0)>
#map5 = affine_map<(d0, d1) -> (d0, 0)>
#map6 = affine_map<(d0) -> ()>
#map7 = affine_map<(d0) -> (d0)>
#map8 = affine_map<() -> ()>
#map9 = affine_map<(d0, d1) -> (d1, d0)>
#map10 = affine_map<(d0, d1, d2) -> (d2, d0)>
#map11 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map12 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map13 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map14 = affine_map<(d0, d1, d2) -> (d1, d2)>
module @step {
  func.func public @main(%arg0: tensor<16xf32> {epl.name = "params['b0']", epl.role = "state"}, %arg1: tensor<10xf32> {epl.name = "params['b1']", epl.role = "state"}, %arg2: tensor<12x16xf32> {epl.name = "params['w0']", epl.role = "state"}, %arg3: tensor<16x10xf32> {epl.name = "params['w1']", epl.role = "state"}, %arg4: tensor<i32> {epl.name = "opt_state[0].count", epl.role = "state"}, %arg5: tensor<16xf32> {epl.name = "opt_state[0].mu['b0']", epl.role = "state"}, %arg6: tensor<10xf32> {epl.name = "opt_state[0].mu['b1']", epl.role = "state"}, %arg7: tensor<12x16xf32> {epl.name = "opt_state[0].mu['w0']", epl.role = "state"}, %arg8: tensor<16x10xf32> {epl.name = "opt_state[0].mu['w1']", epl.role = "state"}, %arg9: tensor<16xf32> {epl.name = "opt_state[0].nu['b0']", epl.role = "state"}, %arg10: tensor<10xf32> {epl.name = "opt_state[0].nu['b1']", epl.role = "state"}, %arg11: tensor<12x16xf32> {epl.name = "opt_state[0].nu['w0']", epl.role = "state"}, %arg12: tensor<16x10xf32> {epl.name = "opt_state[0].nu['w1']", epl.role = "state"}, %arg13: tensor<24x12xf32> {epl.batch_dim = 0 : i64, epl.name = "x", epl.role = "batch"}, %arg14: tensor<24xi32> {epl.batch_dim = 0 : i64, epl.name = "y", epl.role = "batch"}) -> (tensor<16xf32> {epl.name = "params['b0']", epl.updates = 0 : i64}, tensor<10xf32> {epl.name = "params['b1']", epl.updates = 1 : i64}, tensor<12x16xf32> {epl.name = "params['w0']", epl.updates = 2 : i64}, tensor<16x10xf32> {epl.name = "params['w1']", epl.updates = 3 : i64}, tensor<i32> {epl.name = "opt_state[0].count", epl.updates = 4 : i64}, tensor<16xf32> {epl.name = "opt_state[0].mu['b0']", epl.updates = 5 : i64}, tensor<10xf32> {epl.name = "opt_state[0].mu['b1']", epl.updates = 6 : i64}, tensor<12x16xf32> {epl.name = "opt_state[0].mu['w0']", epl.updates = 7 : i64}, tensor<16x10xf32> {epl.name = "opt_state[0].mu['w1']", epl.updates = 8 : i64}, tensor<16xf32> {epl.name = "opt_state[0].nu['b0']", epl.updates = 9 : i64}, tensor<10xf32> {epl.name = "opt_state[0].nu['b1']", epl.updates = 10 : i64}, tensor<12x16xf32> {epl.name = "opt_state[0].nu['w0']", epl.updates = 11 : i64}, tensor<16x10xf32> {epl.name = "opt_state[0].nu['w1']", epl.updates = 12 : i64}, tensor<f32> {epl.name = "result[2]"}) attributes {epl.default_strategy = #epl.strategy<replicate, 1>} {
    %cst = arith.constant 0.0416666679 : f32
    %cst_0 = arith.constant 9.990000e-01 : f32
    %cst_1 = arith.constant 0.899999976 : f32
    %c1_i32 = arith.constant 1 : i32
    %c2147483647_i32 = arith.constant 2147483647 : i32
    %cst_2 = arith.constant 1.000000e+00 : f32
    %cst_3 = arith.constant 2.400000e+01 : f32
    %cst_4 = arith.constant 0xFF800000 : f32
    %cst_5 = arith.constant 0.000000e+00 : f32
    %cst_6 = arith.constant dense<-0.00999999977> : tensor<f32>
    %cst_7 = arith.constant dense<9.99999993E-9> : tensor<f32>
    %cst_8 = arith.constant dense<9.990000e-01> : tensor<f32>
    %cst_9 = arith.constant dense<1.000000e-03> : tensor<f32>
    %cst_10 = arith.constant dense<0.899999976> : tensor<f32>
    %cst_11 = arith.constant dense<1.000000e-01> : tensor<f32>
    %cst_12 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_13 = arith.constant dense<0.000000e+00> : tensor<f32>
    %0 = tensor.empty() : tensor<24x16xf32>
    %1 = linalg.fill ins(%cst_5 : f32) outs(%0 : tensor<24x16xf32>) -> tensor<24x16xf32>
    %2 = linalg.matmul ins(%arg13, %arg2 : tensor<24x12xf32>, tensor<12x16xf32>) outs(%1 : tensor<24x16xf32>) -> tensor<24x16xf32>
    %3 = tensor.empty() : tensor<1x16xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<16xf32>) outs(%3 : tensor<1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x16xf32>
    %5 = tensor.empty() : tensor<24x16xf32>
    %6 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<1x16xf32>) outs(%5 : tensor<24x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<24x16xf32>
    %7 = tensor.empty() : tensor<24x16xf32>
    %8 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%2, %6 : tensor<24x16xf32>, tensor<24x16xf32>) outs(%7 : tensor<24x16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<24x16xf32>
    %9 = tensor.empty() : tensor<24x16xf32>
    %10 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_13 : tensor<f32>) outs(%9 : tensor<24x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<24x16xf32>
    %11 = tensor.empty() : tensor<24x16xf32>
    %12 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%8, %10 : tensor<24x16xf32>, tensor<24x16xf32>) outs(%11 : tensor<24x16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.maximumf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<24x16xf32>
    %13 = tensor.empty() : tensor<24x16xf32>
    %14 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_13 : tensor<f32>) outs(%13 : tensor<24x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<24x16xf32>
    %15 = tensor.empty() : tensor<24x16xi1>
    %16 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%8, %14 : tensor<24x16xf32>, tensor<24x16xf32>) outs(%15 : tensor<24x16xi1>) {
    ^bb0(%in: f32, %in_16: f32, %out: i1):
      %341 = arith.cmpf ogt, %in, %in_16 : f32
      linalg.yield %341 : i1
    } -> tensor<24x16xi1>
    %17 = tensor.empty() : tensor<24x10xf32>
    %18 = linalg.fill ins(%cst_5 : f32) outs(%17 : tensor<24x10xf32>) -> tensor<24x10xf32>
    %19 = linalg.matmul ins(%12, %arg3 : tensor<24x16xf32>, tensor<16x10xf32>) outs(%18 : tensor<24x10xf32>) -> tensor<24x10xf32>
    %20 = tensor.empty() : tensor<1x10xf32>
    %21 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg1 : tensor<10xf32>) outs(%20 : tensor<1x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x10xf32>
    %22 = tensor.empty() : tensor<24x10xf32>
    %23 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel"]} ins(%21 : tensor<1x10xf32>) outs(%22 : tensor<24x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<24x10xf32>
    %24 = tensor.empty() : tensor<24x10xf32>
    %25 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%19, %23 : tensor<24x10xf32>, tensor<24x10xf32>) outs(%24 : tensor<24x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<24x10xf32>
    %26 = tensor.empty() : tensor<24x1xi32>
    %27 = linalg.generic {indexing_maps = [#map4, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg14 : tensor<24xi32>) outs(%26 : tensor<24x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<24x1xi32>
    %28 = tensor.empty() : tensor<1x10xi32>
    %29 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel", "parallel"]} outs(%28 : tensor<1x10xi32>) {
    ^bb0(%out: i32):
      %341 = linalg.index 1 : index
      %342 = arith.index_cast %341 : index to i32
      linalg.yield %342 : i32
    } -> tensor<1x10xi32>
    %30 = tensor.empty() : tensor<24x10xi32>
    %31 = linalg.generic {indexing_maps = [#map5, #map1], iterator_types = ["parallel", "parallel"]} ins(%27 : tensor<24x1xi32>) outs(%30 : tensor<24x10xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<24x10xi32>
    %32 = tensor.empty() : tensor<24x10xi32>
    %33 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel"]} ins(%29 : tensor<1x10xi32>) outs(%32 : tensor<24x10xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<24x10xi32>
    %34 = tensor.empty() : tensor<24x10xi1>
    %35 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%31, %33 : tensor<24x10xi32>, tensor<24x10xi32>) outs(%34 : tensor<24x10xi1>) {
    ^bb0(%in: i32, %in_16: i32, %out: i1):
      %341 = arith.cmpi eq, %in, %in_16 : i32
      linalg.yield %341 : i1
    } -> tensor<24x10xi1>
    %36 = tensor.empty() : tensor<24x10xf32>
    %37 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%35 : tensor<24x10xi1>) outs(%36 : tensor<24x10xf32>) {
    ^bb0(%in: i1, %out: f32):
      %341 = arith.uitofp %in : i1 to f32
      linalg.yield %341 : f32
    } -> tensor<24x10xf32>
    %38 = tensor.empty() : tensor<24xf32>
    %39 = linalg.fill ins(%cst_4 : f32) outs(%38 : tensor<24xf32>) -> tensor<24xf32>
    %40 = linalg.generic {indexing_maps = [#map1, #map4], iterator_types = ["parallel", "reduction"]} ins(%25 : tensor<24x10xf32>) outs(%39 : tensor<24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = arith.maximumf %out, %in : f32
      linalg.yield %341 : f32
    } -> tensor<24xf32>
    %41 = tensor.empty() : tensor<24xf32>
    %42 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%cst_12 : tensor<f32>) outs(%41 : tensor<24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<24xf32>
    %43 = tensor.empty() : tensor<24xf32>
    %44 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%42, %40 : tensor<24xf32>, tensor<24xf32>) outs(%43 : tensor<24xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.maximumf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<24xf32>
    %45 = tensor.empty() : tensor<24x1xf32>
    %46 = linalg.generic {indexing_maps = [#map4, #map1], iterator_types = ["parallel", "parallel"]} ins(%44 : tensor<24xf32>) outs(%45 : tensor<24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<24x1xf32>
    %47 = tensor.empty() : tensor<24x10xf32>
    %48 = linalg.generic {indexing_maps = [#map5, #map1], iterator_types = ["parallel", "parallel"]} ins(%46 : tensor<24x1xf32>) outs(%47 : tensor<24x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<24x10xf32>
    %49 = tensor.empty() : tensor<24x10xf32>
    %50 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%25, %48 : tensor<24x10xf32>, tensor<24x10xf32>) outs(%49 : tensor<24x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.subf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<24x10xf32>
    %51 = tensor.empty() : tensor<24x10xf32>
    %52 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%50 : tensor<24x10xf32>) outs(%51 : tensor<24x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = math.exp %in : f32
      linalg.yield %341 : f32
    } -> tensor<24x10xf32>
    %53 = tensor.empty() : tensor<24xf32>
    %54 = linalg.fill ins(%cst_5 : f32) outs(%53 : tensor<24xf32>) -> tensor<24xf32>
    %55 = linalg.generic {indexing_maps = [#map1, #map4], iterator_types = ["parallel", "reduction"]} ins(%52 : tensor<24x10xf32>) outs(%54 : tensor<24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = arith.addf %out, %in : f32
      linalg.yield %341 : f32
    } -> tensor<24xf32>
    %56 = tensor.empty() : tensor<24x1xf32>
    %57 = linalg.generic {indexing_maps = [#map4, #map1], iterator_types = ["parallel", "parallel"]} ins(%55 : tensor<24xf32>) outs(%56 : tensor<24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<24x1xf32>
    %58 = tensor.empty() : tensor<24x1xf32>
    %59 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%57 : tensor<24x1xf32>) outs(%58 : tensor<24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = math.log %in : f32
      linalg.yield %341 : f32
    } -> tensor<24x1xf32>
    %60 = tensor.empty() : tensor<24x10xf32>
    %61 = linalg.generic {indexing_maps = [#map5, #map1], iterator_types = ["parallel", "parallel"]} ins(%59 : tensor<24x1xf32>) outs(%60 : tensor<24x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<24x10xf32>
    %62 = tensor.empty() : tensor<24x10xf32>
    %63 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%50, %61 : tensor<24x10xf32>, tensor<24x10xf32>) outs(%62 : tensor<24x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.subf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<24x10xf32>
    %64 = tensor.empty() : tensor<24x10xf32>
    %65 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%37, %63 : tensor<24x10xf32>, tensor<24x10xf32>) outs(%64 : tensor<24x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<24x10xf32>
    %66 = tensor.empty() : tensor<24xf32>
    %67 = linalg.fill ins(%cst_5 : f32) outs(%66 : tensor<24xf32>) -> tensor<24xf32>
    %68 = linalg.generic {indexing_maps = [#map1, #map4], iterator_types = ["parallel", "reduction"]} ins(%65 : tensor<24x10xf32>) outs(%67 : tensor<24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = arith.addf %out, %in : f32
      linalg.yield %341 : f32
    } -> tensor<24xf32>
    %69 = tensor.empty() : tensor<24xf32>
    %70 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel"]} ins(%68 : tensor<24xf32>) outs(%69 : tensor<24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = arith.negf %in : f32
      linalg.yield %341 : f32
    } -> tensor<24xf32>
    %71 = tensor.empty() : tensor<f32>
    %72 = linalg.fill ins(%cst_5 : f32) outs(%71 : tensor<f32>) -> tensor<f32>
    %73 = linalg.generic {indexing_maps = [#map7, #map6], iterator_types = ["reduction"]} ins(%70 : tensor<24xf32>) outs(%72 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = arith.addf %out, %in : f32
      linalg.yield %341 : f32
    } -> tensor<f32>
    %74 = tensor.empty() : tensor<f32>
    %75 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = []} ins(%73 : tensor<f32>) outs(%74 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = arith.divf %in, %cst_3 : f32
      linalg.yield %341 : f32
    } -> tensor<f32>
    %76 = tensor.empty() : tensor<f32>
    %77 = linalg.generic {indexing_maps = [#map8], iterator_types = []} outs(%76 : tensor<f32>) {
    ^bb0(%out: f32):
      linalg.yield %cst : f32
    } -> tensor<f32>
    %78 = tensor.empty() : tensor<24xf32>
    %79 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%77 : tensor<f32>) outs(%78 : tensor<24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<24xf32>
    %80 = tensor.empty() : tensor<24xf32>
    %81 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel"]} ins(%79 : tensor<24xf32>) outs(%80 : tensor<24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = arith.negf %in : f32
      linalg.yield %341 : f32
    } -> tensor<24xf32>
    %82 = tensor.empty() : tensor<24x10xf32>
    %83 = linalg.generic {indexing_maps = [#map4, #map1], iterator_types = ["parallel", "parallel"]} ins(%81 : tensor<24xf32>) outs(%82 : tensor<24x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<24x10xf32>
    %84 = tensor.empty() : tensor<24x10xf32>
    %85 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%37, %83 : tensor<24x10xf32>, tensor<24x10xf32>) outs(%84 : tensor<24x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<24x10xf32>
    %86 = tensor.empty() : tensor<24x10xf32>
    %87 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%85 : tensor<24x10xf32>) outs(%86 : tensor<24x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = arith.negf %in : f32
      linalg.yield %341 : f32
    } -> tensor<24x10xf32>
    %88 = tensor.empty() : tensor<24xf32>
    %89 = linalg.fill ins(%cst_5 : f32) outs(%88 : tensor<24xf32>) -> tensor<24xf32>
    %90 = linalg.generic {indexing_maps = [#map1, #map4], iterator_types = ["parallel", "reduction"]} ins(%87 : tensor<24x10xf32>) outs(%89 : tensor<24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = arith.addf %out, %in : f32
      linalg.yield %341 : f32
    } -> tensor<24xf32>
    %expanded = tensor.expand_shape %90 [[0, 1]] output_shape [24, 1] : tensor<24xf32> into tensor<24x1xf32>
    %91 = tensor.empty() : tensor<24x1xf32>
    %92 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%expanded, %57 : tensor<24x1xf32>, tensor<24x1xf32>) outs(%91 : tensor<24x1xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.divf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<24x1xf32>
    %93 = tensor.empty() : tensor<24xf32>
    %94 = linalg.fill ins(%cst_5 : f32) outs(%93 : tensor<24xf32>) -> tensor<24xf32>
    %95 = linalg.generic {indexing_maps = [#map1, #map4], iterator_types = ["parallel", "reduction"]} ins(%92 : tensor<24x1xf32>) outs(%94 : tensor<24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = arith.addf %out, %in : f32
      linalg.yield %341 : f32
    } -> tensor<24xf32>
    %96 = tensor.empty() : tensor<24x10xf32>
    %97 = linalg.generic {indexing_maps = [#map4, #map1], iterator_types = ["parallel", "parallel"]} ins(%95 : tensor<24xf32>) outs(%96 : tensor<24x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<24x10xf32>
    %98 = tensor.empty() : tensor<24x10xf32>
    %99 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%97, %52 : tensor<24x10xf32>, tensor<24x10xf32>) outs(%98 : tensor<24x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<24x10xf32>
    %100 = tensor.empty() : tensor<24x10xf32>
    %101 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%85, %99 : tensor<24x10xf32>, tensor<24x10xf32>) outs(%100 : tensor<24x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<24x10xf32>
    %102 = tensor.empty() : tensor<10xf32>
    %103 = linalg.fill ins(%cst_5 : f32) outs(%102 : tensor<10xf32>) -> tensor<10xf32>
    %104 = linalg.generic {indexing_maps = [#map9, #map4], iterator_types = ["parallel", "reduction"]} ins(%101 : tensor<24x10xf32>) outs(%103 : tensor<10xf32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = arith.addf %out, %in : f32
      linalg.yield %341 : f32
    } -> tensor<10xf32>
    %expanded_14 = tensor.expand_shape %104 [[0, 1]] output_shape [1, 10] : tensor<10xf32> into tensor<1x10xf32>
    %105 = tensor.empty() : tensor<10xf32>
    %106 = linalg.fill ins(%cst_5 : f32) outs(%105 : tensor<10xf32>) -> tensor<10xf32>
    %107 = linalg.generic {indexing_maps = [#map9, #map4], iterator_types = ["parallel", "reduction"]} ins(%expanded_14 : tensor<1x10xf32>) outs(%106 : tensor<10xf32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = arith.addf %out, %in : f32
      linalg.yield %341 : f32
    } -> tensor<10xf32>
    %108 = tensor.empty() : tensor<10x16xf32>
    %109 = linalg.fill ins(%cst_5 : f32) outs(%108 : tensor<10x16xf32>) -> tensor<10x16xf32>
    %110 = linalg.generic {indexing_maps = [#map10, #map11, #map12], iterator_types = ["parallel", "parallel", "reduction"]} ins(%101, %12 : tensor<24x10xf32>, tensor<24x16xf32>) outs(%109 : tensor<10x16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      %342 = arith.addf %out, %341 : f32
      linalg.yield %342 : f32
    } -> tensor<10x16xf32>
    %111 = tensor.empty() : tensor<16x10xf32>
    %112 = linalg.generic {indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel"]} ins(%110 : tensor<10x16xf32>) outs(%111 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x10xf32>
    %113 = tensor.empty() : tensor<24x16xf32>
    %114 = linalg.fill ins(%cst_5 : f32) outs(%113 : tensor<24x16xf32>) -> tensor<24x16xf32>
    %115 = linalg.generic {indexing_maps = [#map13, #map14, #map12], iterator_types = ["parallel", "parallel", "reduction"]} ins(%101, %arg3 : tensor<24x10xf32>, tensor<16x10xf32>) outs(%114 : tensor<24x16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      %342 = arith.addf %out, %341 : f32
      linalg.yield %342 : f32
    } -> tensor<24x16xf32>
    %116 = tensor.empty() : tensor<24x16xf32>
    %117 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_13 : tensor<f32>) outs(%116 : tensor<24x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<24x16xf32>
    %118 = tensor.empty() : tensor<24x16xf32>
    %119 = linalg.generic {indexing_maps = [#map1, #map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%16, %115, %117 : tensor<24x16xi1>, tensor<24x16xf32>, tensor<24x16xf32>) outs(%118 : tensor<24x16xf32>) {
    ^bb0(%in: i1, %in_16: f32, %in_17: f32, %out: f32):
      %341 = arith.select %in, %in_16, %in_17 : f32
      linalg.yield %341 : f32
    } -> tensor<24x16xf32>
    %120 = tensor.empty() : tensor<16xf32>
    %121 = linalg.fill ins(%cst_5 : f32) outs(%120 : tensor<16xf32>) -> tensor<16xf32>
    %122 = linalg.generic {indexing_maps = [#map9, #map4], iterator_types = ["parallel", "reduction"]} ins(%119 : tensor<24x16xf32>) outs(%121 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = arith.addf %out, %in : f32
      linalg.yield %341 : f32
    } -> tensor<16xf32>
    %expanded_15 = tensor.expand_shape %122 [[0, 1]] output_shape [1, 16] : tensor<16xf32> into tensor<1x16xf32>
    %123 = tensor.empty() : tensor<16xf32>
    %124 = linalg.fill ins(%cst_5 : f32) outs(%123 : tensor<16xf32>) -> tensor<16xf32>
    %125 = linalg.generic {indexing_maps = [#map9, #map4], iterator_types = ["parallel", "reduction"]} ins(%expanded_15 : tensor<1x16xf32>) outs(%124 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = arith.addf %out, %in : f32
      linalg.yield %341 : f32
    } -> tensor<16xf32>
    %126 = tensor.empty() : tensor<16x12xf32>
    %127 = linalg.fill ins(%cst_5 : f32) outs(%126 : tensor<16x12xf32>) -> tensor<16x12xf32>
    %128 = linalg.generic {indexing_maps = [#map10, #map11, #map12], iterator_types = ["parallel", "parallel", "reduction"]} ins(%119, %arg13 : tensor<24x16xf32>, tensor<24x12xf32>) outs(%127 : tensor<16x12xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      %342 = arith.addf %out, %341 : f32
      linalg.yield %342 : f32
    } -> tensor<16x12xf32>
    %129 = tensor.empty() : tensor<12x16xf32>
    %130 = linalg.generic {indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel"]} ins(%128 : tensor<16x12xf32>) outs(%129 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<12x16xf32>
    %131 = tensor.empty() : tensor<16xf32>
    %132 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%cst_11 : tensor<f32>) outs(%131 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16xf32>
    %133 = tensor.empty() : tensor<16xf32>
    %134 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%132, %125 : tensor<16xf32>, tensor<16xf32>) outs(%133 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16xf32>
    %135 = tensor.empty() : tensor<16xf32>
    %136 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%cst_10 : tensor<f32>) outs(%135 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16xf32>
    %137 = tensor.empty() : tensor<16xf32>
    %138 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%136, %arg5 : tensor<16xf32>, tensor<16xf32>) outs(%137 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16xf32>
    %139 = tensor.empty() : tensor<16xf32>
    %140 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%134, %138 : tensor<16xf32>, tensor<16xf32>) outs(%139 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16xf32>
    %141 = tensor.empty() : tensor<10xf32>
    %142 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%cst_11 : tensor<f32>) outs(%141 : tensor<10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<10xf32>
    %143 = tensor.empty() : tensor<10xf32>
    %144 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%142, %107 : tensor<10xf32>, tensor<10xf32>) outs(%143 : tensor<10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<10xf32>
    %145 = tensor.empty() : tensor<10xf32>
    %146 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%cst_10 : tensor<f32>) outs(%145 : tensor<10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<10xf32>
    %147 = tensor.empty() : tensor<10xf32>
    %148 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%146, %arg6 : tensor<10xf32>, tensor<10xf32>) outs(%147 : tensor<10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<10xf32>
    %149 = tensor.empty() : tensor<10xf32>
    %150 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%144, %148 : tensor<10xf32>, tensor<10xf32>) outs(%149 : tensor<10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<10xf32>
    %151 = tensor.empty() : tensor<12x16xf32>
    %152 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_11 : tensor<f32>) outs(%151 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<12x16xf32>
    %153 = tensor.empty() : tensor<12x16xf32>
    %154 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%152, %130 : tensor<12x16xf32>, tensor<12x16xf32>) outs(%153 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<12x16xf32>
    %155 = tensor.empty() : tensor<12x16xf32>
    %156 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_10 : tensor<f32>) outs(%155 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<12x16xf32>
    %157 = tensor.empty() : tensor<12x16xf32>
    %158 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%156, %arg7 : tensor<12x16xf32>, tensor<12x16xf32>) outs(%157 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<12x16xf32>
    %159 = tensor.empty() : tensor<12x16xf32>
    %160 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%154, %158 : tensor<12x16xf32>, tensor<12x16xf32>) outs(%159 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<12x16xf32>
    %161 = tensor.empty() : tensor<16x10xf32>
    %162 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_11 : tensor<f32>) outs(%161 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x10xf32>
    %163 = tensor.empty() : tensor<16x10xf32>
    %164 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%162, %112 : tensor<16x10xf32>, tensor<16x10xf32>) outs(%163 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16x10xf32>
    %165 = tensor.empty() : tensor<16x10xf32>
    %166 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_10 : tensor<f32>) outs(%165 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x10xf32>
    %167 = tensor.empty() : tensor<16x10xf32>
    %168 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%166, %arg8 : tensor<16x10xf32>, tensor<16x10xf32>) outs(%167 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16x10xf32>
    %169 = tensor.empty() : tensor<16x10xf32>
    %170 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%164, %168 : tensor<16x10xf32>, tensor<16x10xf32>) outs(%169 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16x10xf32>
    %171 = tensor.empty() : tensor<16xf32>
    %172 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%125, %125 : tensor<16xf32>, tensor<16xf32>) outs(%171 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16xf32>
    %173 = tensor.empty() : tensor<16xf32>
    %174 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%cst_9 : tensor<f32>) outs(%173 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16xf32>
    %175 = tensor.empty() : tensor<16xf32>
    %176 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%174, %172 : tensor<16xf32>, tensor<16xf32>) outs(%175 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16xf32>
    %177 = tensor.empty() : tensor<16xf32>
    %178 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%cst_8 : tensor<f32>) outs(%177 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16xf32>
    %179 = tensor.empty() : tensor<16xf32>
    %180 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%178, %arg9 : tensor<16xf32>, tensor<16xf32>) outs(%179 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16xf32>
    %181 = tensor.empty() : tensor<16xf32>
    %182 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%176, %180 : tensor<16xf32>, tensor<16xf32>) outs(%181 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16xf32>
    %183 = tensor.empty() : tensor<10xf32>
    %184 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%107, %107 : tensor<10xf32>, tensor<10xf32>) outs(%183 : tensor<10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<10xf32>
    %185 = tensor.empty() : tensor<10xf32>
    %186 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%cst_9 : tensor<f32>) outs(%185 : tensor<10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<10xf32>
    %187 = tensor.empty() : tensor<10xf32>
    %188 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%186, %184 : tensor<10xf32>, tensor<10xf32>) outs(%187 : tensor<10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<10xf32>
    %189 = tensor.empty() : tensor<10xf32>
    %190 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%cst_8 : tensor<f32>) outs(%189 : tensor<10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<10xf32>
    %191 = tensor.empty() : tensor<10xf32>
    %192 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%190, %arg10 : tensor<10xf32>, tensor<10xf32>) outs(%191 : tensor<10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<10xf32>
    %193 = tensor.empty() : tensor<10xf32>
    %194 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%188, %192 : tensor<10xf32>, tensor<10xf32>) outs(%193 : tensor<10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<10xf32>
    %195 = tensor.empty() : tensor<12x16xf32>
    %196 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%130, %130 : tensor<12x16xf32>, tensor<12x16xf32>) outs(%195 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<12x16xf32>
    %197 = tensor.empty() : tensor<12x16xf32>
    %198 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_9 : tensor<f32>) outs(%197 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<12x16xf32>
    %199 = tensor.empty() : tensor<12x16xf32>
    %200 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%198, %196 : tensor<12x16xf32>, tensor<12x16xf32>) outs(%199 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<12x16xf32>
    %201 = tensor.empty() : tensor<12x16xf32>
    %202 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_8 : tensor<f32>) outs(%201 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<12x16xf32>
    %203 = tensor.empty() : tensor<12x16xf32>
    %204 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%202, %arg11 : tensor<12x16xf32>, tensor<12x16xf32>) outs(%203 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<12x16xf32>
    %205 = tensor.empty() : tensor<12x16xf32>
    %206 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%200, %204 : tensor<12x16xf32>, tensor<12x16xf32>) outs(%205 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<12x16xf32>
    %207 = tensor.empty() : tensor<16x10xf32>
    %208 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%112, %112 : tensor<16x10xf32>, tensor<16x10xf32>) outs(%207 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16x10xf32>
    %209 = tensor.empty() : tensor<16x10xf32>
    %210 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_9 : tensor<f32>) outs(%209 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x10xf32>
    %211 = tensor.empty() : tensor<16x10xf32>
    %212 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%210, %208 : tensor<16x10xf32>, tensor<16x10xf32>) outs(%211 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16x10xf32>
    %213 = tensor.empty() : tensor<16x10xf32>
    %214 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_8 : tensor<f32>) outs(%213 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x10xf32>
    %215 = tensor.empty() : tensor<16x10xf32>
    %216 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%214, %arg12 : tensor<16x10xf32>, tensor<16x10xf32>) outs(%215 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16x10xf32>
    %217 = tensor.empty() : tensor<16x10xf32>
    %218 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%212, %216 : tensor<16x10xf32>, tensor<16x10xf32>) outs(%217 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16x10xf32>
    %219 = tensor.empty() : tensor<i1>
    %220 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = []} ins(%arg4 : tensor<i32>) outs(%219 : tensor<i1>) {
    ^bb0(%in: i32, %out: i1):
      %341 = arith.cmpi slt, %in, %c2147483647_i32 : i32
      linalg.yield %341 : i1
    } -> tensor<i1>
    %221 = tensor.empty() : tensor<i32>
    %222 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = []} ins(%arg4 : tensor<i32>) outs(%221 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %341 = arith.addi %in, %c1_i32 : i32
      linalg.yield %341 : i32
    } -> tensor<i32>
    %223 = tensor.empty() : tensor<i32>
    %224 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = []} ins(%220, %222 : tensor<i1>, tensor<i32>) outs(%223 : tensor<i32>) {
    ^bb0(%in: i1, %in_16: i32, %out: i32):
      %341 = arith.select %in, %in_16, %c2147483647_i32 : i32
      linalg.yield %341 : i32
    } -> tensor<i32>
    %225 = tensor.empty() : tensor<f32>
    %226 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = []} ins(%224 : tensor<i32>) outs(%225 : tensor<f32>) {
    ^bb0(%in: i32, %out: f32):
      %341 = arith.sitofp %in : i32 to f32
      linalg.yield %341 : f32
    } -> tensor<f32>
    %227 = tensor.empty() : tensor<f32>
    %228 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = []} ins(%226 : tensor<f32>) outs(%227 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = math.powf %cst_1, %in : f32
      linalg.yield %341 : f32
    } -> tensor<f32>
    %229 = tensor.empty() : tensor<f32>
    %230 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = []} ins(%228 : tensor<f32>) outs(%229 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = arith.subf %cst_2, %in : f32
      linalg.yield %341 : f32
    } -> tensor<f32>
    %231 = tensor.empty() : tensor<16xf32>
    %232 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%230 : tensor<f32>) outs(%231 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16xf32>
    %233 = tensor.empty() : tensor<16xf32>
    %234 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%140, %232 : tensor<16xf32>, tensor<16xf32>) outs(%233 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.divf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16xf32>
    %235 = tensor.empty() : tensor<10xf32>
    %236 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%230 : tensor<f32>) outs(%235 : tensor<10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<10xf32>
    %237 = tensor.empty() : tensor<10xf32>
    %238 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%150, %236 : tensor<10xf32>, tensor<10xf32>) outs(%237 : tensor<10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.divf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<10xf32>
    %239 = tensor.empty() : tensor<12x16xf32>
    %240 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%230 : tensor<f32>) outs(%239 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<12x16xf32>
    %241 = tensor.empty() : tensor<12x16xf32>
    %242 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%160, %240 : tensor<12x16xf32>, tensor<12x16xf32>) outs(%241 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.divf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<12x16xf32>
    %243 = tensor.empty() : tensor<16x10xf32>
    %244 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%230 : tensor<f32>) outs(%243 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x10xf32>
    %245 = tensor.empty() : tensor<16x10xf32>
    %246 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%170, %244 : tensor<16x10xf32>, tensor<16x10xf32>) outs(%245 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.divf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16x10xf32>
    %247 = tensor.empty() : tensor<f32>
    %248 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = []} ins(%224 : tensor<i32>) outs(%247 : tensor<f32>) {
    ^bb0(%in: i32, %out: f32):
      %341 = arith.sitofp %in : i32 to f32
      linalg.yield %341 : f32
    } -> tensor<f32>
    %249 = tensor.empty() : tensor<f32>
    %250 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = []} ins(%248 : tensor<f32>) outs(%249 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = math.powf %cst_0, %in : f32
      linalg.yield %341 : f32
    } -> tensor<f32>
    %251 = tensor.empty() : tensor<f32>
    %252 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = []} ins(%250 : tensor<f32>) outs(%251 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = arith.subf %cst_2, %in : f32
      linalg.yield %341 : f32
    } -> tensor<f32>
    %253 = tensor.empty() : tensor<16xf32>
    %254 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%252 : tensor<f32>) outs(%253 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16xf32>
    %255 = tensor.empty() : tensor<16xf32>
    %256 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%182, %254 : tensor<16xf32>, tensor<16xf32>) outs(%255 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.divf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16xf32>
    %257 = tensor.empty() : tensor<10xf32>
    %258 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%252 : tensor<f32>) outs(%257 : tensor<10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<10xf32>
    %259 = tensor.empty() : tensor<10xf32>
    %260 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%194, %258 : tensor<10xf32>, tensor<10xf32>) outs(%259 : tensor<10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.divf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<10xf32>
    %261 = tensor.empty() : tensor<12x16xf32>
    %262 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%252 : tensor<f32>) outs(%261 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<12x16xf32>
    %263 = tensor.empty() : tensor<12x16xf32>
    %264 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%206, %262 : tensor<12x16xf32>, tensor<12x16xf32>) outs(%263 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.divf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<12x16xf32>
    %265 = tensor.empty() : tensor<16x10xf32>
    %266 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%252 : tensor<f32>) outs(%265 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x10xf32>
    %267 = tensor.empty() : tensor<16x10xf32>
    %268 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%218, %266 : tensor<16x10xf32>, tensor<16x10xf32>) outs(%267 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.divf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16x10xf32>
    %269 = tensor.empty() : tensor<16xf32>
    %270 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%cst_13 : tensor<f32>) outs(%269 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16xf32>
    %271 = tensor.empty() : tensor<16xf32>
    %272 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%256, %270 : tensor<16xf32>, tensor<16xf32>) outs(%271 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16xf32>
    %273 = tensor.empty() : tensor<16xf32>
    %274 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel"]} ins(%272 : tensor<16xf32>) outs(%273 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = math.sqrt %in : f32
      linalg.yield %341 : f32
    } -> tensor<16xf32>
    %275 = tensor.empty() : tensor<16xf32>
    %276 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%cst_7 : tensor<f32>) outs(%275 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16xf32>
    %277 = tensor.empty() : tensor<16xf32>
    %278 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%274, %276 : tensor<16xf32>, tensor<16xf32>) outs(%277 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16xf32>
    %279 = tensor.empty() : tensor<16xf32>
    %280 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%234, %278 : tensor<16xf32>, tensor<16xf32>) outs(%279 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.divf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16xf32>
    %281 = tensor.empty() : tensor<10xf32>
    %282 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%cst_13 : tensor<f32>) outs(%281 : tensor<10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<10xf32>
    %283 = tensor.empty() : tensor<10xf32>
    %284 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%260, %282 : tensor<10xf32>, tensor<10xf32>) outs(%283 : tensor<10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<10xf32>
    %285 = tensor.empty() : tensor<10xf32>
    %286 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel"]} ins(%284 : tensor<10xf32>) outs(%285 : tensor<10xf32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = math.sqrt %in : f32
      linalg.yield %341 : f32
    } -> tensor<10xf32>
    %287 = tensor.empty() : tensor<10xf32>
    %288 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%cst_7 : tensor<f32>) outs(%287 : tensor<10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<10xf32>
    %289 = tensor.empty() : tensor<10xf32>
    %290 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%286, %288 : tensor<10xf32>, tensor<10xf32>) outs(%289 : tensor<10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<10xf32>
    %291 = tensor.empty() : tensor<10xf32>
    %292 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%238, %290 : tensor<10xf32>, tensor<10xf32>) outs(%291 : tensor<10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.divf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<10xf32>
    %293 = tensor.empty() : tensor<12x16xf32>
    %294 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_13 : tensor<f32>) outs(%293 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<12x16xf32>
    %295 = tensor.empty() : tensor<12x16xf32>
    %296 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%264, %294 : tensor<12x16xf32>, tensor<12x16xf32>) outs(%295 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<12x16xf32>
    %297 = tensor.empty() : tensor<12x16xf32>
    %298 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%296 : tensor<12x16xf32>) outs(%297 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = math.sqrt %in : f32
      linalg.yield %341 : f32
    } -> tensor<12x16xf32>
    %299 = tensor.empty() : tensor<12x16xf32>
    %300 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_7 : tensor<f32>) outs(%299 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<12x16xf32>
    %301 = tensor.empty() : tensor<12x16xf32>
    %302 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%298, %300 : tensor<12x16xf32>, tensor<12x16xf32>) outs(%301 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<12x16xf32>
    %303 = tensor.empty() : tensor<12x16xf32>
    %304 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%242, %302 : tensor<12x16xf32>, tensor<12x16xf32>) outs(%303 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.divf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<12x16xf32>
    %305 = tensor.empty() : tensor<16x10xf32>
    %306 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_13 : tensor<f32>) outs(%305 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x10xf32>
    %307 = tensor.empty() : tensor<16x10xf32>
    %308 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%268, %306 : tensor<16x10xf32>, tensor<16x10xf32>) outs(%307 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16x10xf32>
    %309 = tensor.empty() : tensor<16x10xf32>
    %310 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%308 : tensor<16x10xf32>) outs(%309 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      %341 = math.sqrt %in : f32
      linalg.yield %341 : f32
    } -> tensor<16x10xf32>
    %311 = tensor.empty() : tensor<16x10xf32>
    %312 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_7 : tensor<f32>) outs(%311 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x10xf32>
    %313 = tensor.empty() : tensor<16x10xf32>
    %314 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%310, %312 : tensor<16x10xf32>, tensor<16x10xf32>) outs(%313 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16x10xf32>
    %315 = tensor.empty() : tensor<16x10xf32>
    %316 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%246, %314 : tensor<16x10xf32>, tensor<16x10xf32>) outs(%315 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.divf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16x10xf32>
    %317 = tensor.empty() : tensor<16xf32>
    %318 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%cst_6 : tensor<f32>) outs(%317 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16xf32>
    %319 = tensor.empty() : tensor<16xf32>
    %320 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%318, %280 : tensor<16xf32>, tensor<16xf32>) outs(%319 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16xf32>
    %321 = tensor.empty() : tensor<10xf32>
    %322 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel"]} ins(%cst_6 : tensor<f32>) outs(%321 : tensor<10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<10xf32>
    %323 = tensor.empty() : tensor<10xf32>
    %324 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%322, %292 : tensor<10xf32>, tensor<10xf32>) outs(%323 : tensor<10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<10xf32>
    %325 = tensor.empty() : tensor<12x16xf32>
    %326 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_6 : tensor<f32>) outs(%325 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<12x16xf32>
    %327 = tensor.empty() : tensor<12x16xf32>
    %328 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%326, %304 : tensor<12x16xf32>, tensor<12x16xf32>) outs(%327 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<12x16xf32>
    %329 = tensor.empty() : tensor<16x10xf32>
    %330 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_6 : tensor<f32>) outs(%329 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x10xf32>
    %331 = tensor.empty() : tensor<16x10xf32>
    %332 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%330, %316 : tensor<16x10xf32>, tensor<16x10xf32>) outs(%331 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.mulf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16x10xf32>
    %333 = tensor.empty() : tensor<16xf32>
    %334 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%arg0, %320 : tensor<16xf32>, tensor<16xf32>) outs(%333 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16xf32>
    %335 = tensor.empty() : tensor<10xf32>
    %336 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel"]} ins(%arg1, %324 : tensor<10xf32>, tensor<10xf32>) outs(%335 : tensor<10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<10xf32>
    %337 = tensor.empty() : tensor<12x16xf32>
    %338 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg2, %328 : tensor<12x16xf32>, tensor<12x16xf32>) outs(%337 : tensor<12x16xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<12x16xf32>
    %339 = tensor.empty() : tensor<16x10xf32>
    %340 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg3, %332 : tensor<16x10xf32>, tensor<16x10xf32>) outs(%339 : tensor<16x10xf32>) {
    ^bb0(%in: f32, %in_16: f32, %out: f32):
      %341 = arith.addf %in, %in_16 : f32
      linalg.yield %341 : f32
    } -> tensor<16x10xf32>
    return %334, %336, %338, %340, %224, %140, %150, %160, %170, %182, %194, %206, %218, %75 : tensor<16xf32>, tensor<10xf32>, tensor<12x16xf32>, tensor<16x10xf32>, tensor<i32>, tensor<16xf32>, tensor<10xf32>, tensor<12x16xf32>, tensor<16x10xf32>, tensor<16xf32>, tensor<10xf32>, tensor<12x16xf32>, tensor<16x10xf32>, tensor<f32>
  }
}

