// epl-compile --devices=cpu:8 --kernels=vectorized --cpu=host --micro-batches=6 --schedule=preferbackwardoptimizer --recompute=collection
func.func @main(%v1: tensor<120x17xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v3: tensor<f32> {epl.role = "state"}, %v4: tensor<f32> {epl.role = "state"}, %v5: tensor<17xbf16> {epl.role = "constant"}, %v7: tensor<5x7xbf16> {epl.role = "state"}, %v9: tensor<17x8xf32> {epl.role = "state"}, %v17: tensor<8x17xf32> {epl.role = "state"}) -> (tensor<f32> {epl.updates = 1 : i64}, tensor<f32> {epl.updates = 2 : i64}, tensor<5x7xbf16> {epl.updates = 4 : i64}, tensor<17x8xf32> {epl.updates = 5 : i64}, tensor<8x17xf32> {epl.updates = 6 : i64}, tensor<1xbf16>, tensor<7xbf16>, tensor<120x4xf32>, tensor<960x1xf32>) {
%s15, %s16, %s19 = epl.split devices(2) -> tensor<120x4xf32>, tensor<120x8xf32>, tensor<17x8xf32> {
%t0 = tensor.empty() : tensor<120x8xf32>
%t1 = arith.constant 0.0 : f32
%t2 = linalg.fill ins(%t1 : f32) outs(%t0 : tensor<120x8xf32>) -> tensor<120x8xf32>
%v10 = linalg.matmul ins(%v1, %v9 : tensor<120x17xf32>, tensor<17x8xf32>) outs(%t2 : tensor<120x8xf32>) -> tensor<120x8xf32>
epl.checkpoint %v10 : tensor<120x8xf32>
%t3 = tensor.empty() : tensor<120x8xf32>
%v11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v10 : tensor<120x8xf32>) outs(%t3 : tensor<120x8xf32>) {
^bb0(%in0: f32, %out0: f32):
%t4 = arith.constant -1.0 : f32
%t5 = arith.maximumf %in0, %t4 : f32
%t6 = arith.constant 1.0 : f32
%t7 = arith.minimumf %t5, %t6 : f32
linalg.yield %t7 : f32
} -> tensor<120x8xf32>
%v12 = tensor.extract_slice %v11[0, 0] [120, 4] [1, 1] : tensor<120x8xf32> to tensor<120x4xf32>
%v13 = tensor.extract_slice %v11[0, 4] [120, 4] [1, 1] : tensor<120x8xf32> to tensor<120x4xf32>
epl.checkpoint %v13 : tensor<120x4xf32>
%t8 = tensor.empty() : tensor<120x4xf32>
%v14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v12 : tensor<120x4xf32>) outs(%t8 : tensor<120x4xf32>) {
^bb0(%in0: f32, %out0: f32):
%t9 = arith.constant -1.0 : f32
%t10 = arith.maximumf %in0, %t9 : f32
%t11 = arith.constant 1.0 : f32
%t12 = arith.minimumf %t10, %t11 : f32
linalg.yield %t12 : f32
} -> tensor<120x4xf32>
%t13 = tensor.empty() : tensor<120x4xf32>
%v15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v13 : tensor<120x4xf32>) outs(%t13 : tensor<120x4xf32>) {
^bb0(%in0: f32, %out0: f32):
%t14 = arith.constant -1.0 : f32
%t15 = arith.maximumf %in0, %t14 : f32
%t16 = arith.constant 1.0 : f32
%t17 = arith.minimumf %t15, %t16 : f32
linalg.yield %t17 : f32
} -> tensor<120x4xf32>
%v16 = epl.concatenate %v14, %v15 dim 1 : (tensor<120x4xf32>, tensor<120x4xf32>) -> tensor<120x8xf32>
epl.checkpoint %v16 : tensor<120x8xf32>
%t18 = tensor.empty() : tensor<17x8xf32>
%t19 = arith.constant 0.0 : f32
%t20 = linalg.fill ins(%t19 : f32) outs(%t18 : tensor<17x8xf32>) -> tensor<17x8xf32>
%v19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%v1, %v16 : tensor<120x17xf32>, tensor<120x8xf32>) outs(%t20 : tensor<17x8xf32>) {
^bb0(%in0: f32, %in1: f32, %out0: f32):
%t21 = arith.mulf %in0, %in1 : f32
%t22 = arith.addf %out0, %t21 : f32
linalg.yield %t22 : f32
} -> tensor<17x8xf32>
epl.yield %v15, %v16, %v19 : tensor<120x4xf32>, tensor<120x8xf32>, tensor<17x8xf32>
}
%s26 = epl.replicate devices(5) -> tensor<1xbf16> {
%v25 = tensor.extract_slice %v5[10] [1] [1] : tensor<17xbf16> to tensor<1xbf16>
%t23 = tensor.empty() : tensor<1xbf16>
%v26 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v25 : tensor<1xbf16>) outs(%t23 : tensor<1xbf16>) {
^bb0(%in0: bf16, %out0: bf16):
%t24 = arith.constant 1.0 : bf16
%t25 = arith.maxnumf %in0, %t24 : bf16
linalg.yield %t25 : bf16
} -> tensor<1xbf16>
epl.checkpoint %v26 : tensor<1xbf16>
epl.yield %v26 : tensor<1xbf16>
}
%s28, %s30, %s31 = epl.replicate devices(1) -> tensor<7xbf16>, tensor<120x4xf32>, tensor<960x1xf32> {
%v27 = tensor.extract_slice %v7[2, 0] [1, 7] [1, 1] : tensor<5x7xbf16> to tensor<7xbf16>
%t26 = tensor.empty() : tensor<7xbf16>
%v28 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v27 : tensor<7xbf16>) outs(%t26 : tensor<7xbf16>) {
^bb0(%in0: bf16, %out0: bf16):
linalg.yield %in0 : bf16
} -> tensor<7xbf16>
%v29 = tensor.expand_shape %s16 [[0], [1, 2]] output_shape [120, 8, 1] : tensor<120x8xf32> into tensor<120x8x1xf32>
epl.checkpoint %v29 : tensor<120x8x1xf32>
%v30 = epl.constrain %s15 to <[{"data"}, {}]> : tensor<120x4xf32>
%v31 = tensor.collapse_shape %v29 [[0, 1], [2]] : tensor<120x8x1xf32> into tensor<960x1xf32>
epl.yield %v28, %v30, %v31 : tensor<7xbf16>, tensor<120x4xf32>, tensor<960x1xf32>
}
%t27 = tensor.empty() : tensor<f32>
%v32 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%v3 : tensor<f32>) outs(%t27 : tensor<f32>) {
^bb0(%in0: f32, %out0: f32):
%t28 = arith.constant 1.0 : f32
%t29 = arith.subf %in0, %t28 : f32
linalg.yield %t29 : f32
} -> tensor<f32>
epl.checkpoint %v32 : tensor<f32>
%t30 = tensor.empty() : tensor<f32>
%v33 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%v4 : tensor<f32>) outs(%t30 : tensor<f32>) {
^bb0(%in0: f32, %out0: f32):
linalg.yield %in0 : f32
} -> tensor<f32>
%t31 = tensor.empty() : tensor<5x7xbf16>
%v34 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v7 : tensor<5x7xbf16>) outs(%t31 : tensor<5x7xbf16>) {
^bb0(%in0: bf16, %out0: bf16):
linalg.yield %in0 : bf16
} -> tensor<5x7xbf16>
%t32 = tensor.empty() : tensor<8x17xf32>
%v35 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v17 : tensor<8x17xf32>) outs(%t32 : tensor<8x17xf32>) {
^bb0(%in0: f32, %out0: f32):
linalg.yield %in0 : f32
} -> tensor<8x17xf32>
epl.checkpoint %v35 : tensor<8x17xf32>
return %v32, %v33, %v34, %s19, %v35, %s26, %s28, %s30, %s31 : tensor<f32>, tensor<f32>, tensor<5x7xbf16>, tensor<17x8xf32>, tensor<8x17xf32>, tensor<1xbf16>, tensor<7xbf16>, tensor<120x4xf32>, tensor<960x1xf32>
}
// epl-compile --devices=cpu:8 --kernels=vectorized --cpu=host --micro-batches=6 --schedule=preferbackwardoptimizer --recompute=collection ended with 1:
// /tmp/tmpc7op50f0/48.mlir:1:1: warning: no gradient needs a value that is named for recomputation ("checkpoints"): nothing is computed again
// func.func @main(%v1: tensor<120x17xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v3: tensor<f32> {epl.role = "state"}, %v4: tensor<f32> {epl.role = "state"}, %v5: tensor<17xbf16> {epl.role = "constant"}, %v7: tensor<5x7xbf16> {epl.role = "state"}, %v9: tensor<17x8xf32> {epl.role = "state"}, %v17: tensor<8x17xf32> {epl.role = "state"}) -> (tensor<f32> {epl.updates = 1 : i64}, tensor<f32> {epl.updates = 2 : i64}, tensor<5x7xbf16> {epl.updates = 4 : i64}, tensor<17x8xf32> {epl.updates = 5 : i64}, tensor<8x17xf32> {epl.updates = 6 : i64}, tensor<1xbf16>, tensor<7xbf16>, tensor<120x4xf32>, tensor<960x1xf32>) {
// ^
// /tmp/tmpc7op50f0/48.mlir:38:8: error: 'tensor.collapse_shape' op is done in each iteration of loop 0, expected it before what leaves the loop
// %v16 = epl.concatenate %v14, %v15 dim 1 : (tensor<120x4xf32>, tensor<120x4xf32>) -> tensor<120x8xf32>
//        ^
// /tmp/tmpc7op50f0/48.mlir:30:8: note: the loop is left here
// %v15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v13 : tensor<120x4xf32>) outs(%t13 : tensor<120x4xf32>) {
//        ^
