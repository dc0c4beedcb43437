// epl-compile --devices=cpu:1 --kernels=loops --cpu=x86-64 --micro-batches=2 --schedule=1f1b
func.func @main(%v40: tensor<6x12xf64> {epl.role = "constant"}, %v47: tensor<8x12xf64> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v27: tensor<i1> {epl.role = "constant"}, %v2: tensor<8x6xf64> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> (tensor<6x12xf64>) {
%t0 = tensor.empty() : tensor<6x12xf64>
%t1 = arith.constant 0.0 : f64
%t2 = linalg.fill ins(%t1 : f64) outs(%t0 : tensor<6x12xf64>) -> tensor<6x12xf64>
%v50 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%v2, %v47 : tensor<8x6xf64>, tensor<8x12xf64>) outs(%t2 : tensor<6x12xf64>) {
^bb0(%in0: f64, %in1: f64, %out0: f64):
%t3 = arith.addf %out0, %in0 : f64
linalg.yield %t3 : f64
} -> tensor<6x12xf64>
%t4 = tensor.empty() : tensor<6x12xf64>
%v58 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v27, %v40, %v50 : tensor<i1>, tensor<6x12xf64>, tensor<6x12xf64>) outs(%t4 : tensor<6x12xf64>) {
^bb0(%in0: i1, %in1: f64, %in2: f64, %out0: f64):
linalg.yield %in1 : f64
} -> tensor<6x12xf64>
return %v58 : tensor<6x12xf64>
}
