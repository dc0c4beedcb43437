// epl-compile --devices=cpu:2 --kernels=loops --micro-batches=2
func.func @main(%v17: tensor<12x8xf64> {epl.role = "constant"}, %v20: tensor<12x8xf64> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v14: tensor<3x12x12xf64> {epl.role = "batch", epl.batch_dim = 1 : i64}, %v11: tensor<12x12xf64> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v6: tensor<i1> {epl.role = "constant"}) -> (tensor<12x8xf64>) attributes {epl.default_strategy = #epl.strategy<replicate, 1>} {
%v12 = tensor.expand_shape %v11 [[0], [1, 2]] output_shape [12, 3, 4] : tensor<12x12xf64> into tensor<12x3x4xf64>
%t0 = tensor.empty() : tensor<12x3x4xf64>
%t1 = arith.constant 0.0 : f64
%t2 = linalg.fill ins(%t1 : f64) outs(%t0 : tensor<12x3x4xf64>) -> tensor<12x3x4xf64>
%v15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d2, d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d0, d3)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"]} ins(%v14, %v12 : tensor<3x12x12xf64>, tensor<12x3x4xf64>) outs(%t2 : tensor<12x3x4xf64>) {
^bb0(%in0: f64, %in1: f64, %out0: f64):
%t3 = arith.addf %out0, %in0 : f64
linalg.yield %t3 : f64
} -> tensor<12x3x4xf64>
%v16 = tensor.collapse_shape %v15 [[0], [1, 2]] : tensor<12x3x4xf64> into tensor<12x12xf64>
%t4 = tensor.empty() : tensor<12x8xf64>
%t5 = arith.constant 0.0 : f64
%t6 = linalg.fill ins(%t5 : f64) outs(%t4 : tensor<12x8xf64>) -> tensor<12x8xf64>
%v18 = linalg.matmul ins(%v16, %v17 : tensor<12x12xf64>, tensor<12x8xf64>) outs(%t6 : tensor<12x8xf64>) -> tensor<12x8xf64>
%t7 = tensor.empty() : tensor<12x8xf64>
%v21 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v6, %v18, %v20 : tensor<i1>, tensor<12x8xf64>, tensor<12x8xf64>) outs(%t7 : tensor<12x8xf64>) {
^bb0(%in0: i1, %in1: f64, %in2: f64, %out0: f64):
%t8 = arith.select %in0, %in1, %in2 : f64
linalg.yield %t8 : f64
} -> tensor<12x8xf64>
return %v21 : tensor<12x8xf64>
}
