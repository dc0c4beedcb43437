// epl-compile --devices=cpu:2 --kernels=loops --cpu=host --micro-batches=8 --schedule=gpipe
func.func @main(%v1: tensor<32xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v2: tensor<f32> {epl.role = "state"}, %v3: tensor<f32> {epl.role = "state"}, %v26: tensor<f32> {epl.role = "constant"}, %v25: tensor<f32> {epl.role = "constant"}, %v21: tensor<16xf32> {epl.role = "constant"}, %v12: tensor<32xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v11: tensor<32xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v7: tensor<32xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> (tensor<f32> {epl.updates = 1 : i64}, tensor<f32> {epl.updates = 2 : i64}, tensor<16xf32>, tensor<i1>, tensor<f32>, tensor<32x6xf32>) {
%s10, %s15, %s17 = epl.replicate devices(1) -> tensor<f32>, tensor<f32>, tensor<32xf32> {
%t0 = tensor.empty() : tensor<f32>
%t1 = arith.constant 0.0 : f32
%t2 = linalg.fill ins(%t1 : f32) outs(%t0 : tensor<f32>) -> tensor<f32>
%v10 = linalg.dot ins(%v1, %v7 : tensor<32xf32>, tensor<32xf32>) outs(%t2 : tensor<f32>) -> tensor<f32>
%t3 = tensor.empty() : tensor<f32>
%t4 = arith.constant 0.0 : f32
%t5 = linalg.fill ins(%t4 : f32) outs(%t3 : tensor<f32>) -> tensor<f32>
%v15 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%v11, %v12 : tensor<32xf32>, tensor<32xf32>) outs(%t5 : tensor<f32>) {
^bb0(%in0: f32, %in1: f32, %out0: f32):
%t6 = arith.addf %out0, %in0 : f32
linalg.yield %t6 : f32
} -> tensor<f32>
%v17 = tensor.extract_slice %v11[0] [32] [1] : tensor<32xf32> to tensor<32xf32>
epl.yield %v10, %v15, %v17 : tensor<f32>, tensor<f32>, tensor<32xf32>
}
%s22, %s23, %s24 = epl.replicate devices(1) -> tensor<i1>, tensor<f32>, tensor<32x6xf32> {
%t7 = tensor.empty() : tensor<i1>
%t8 = tensor.empty() : tensor<f32>
%v22, %v23 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%s10 : tensor<f32>) outs(%t7, %t8 : tensor<i1>, tensor<f32>) {
^bb0(%in0: f32, %out0: i1, %out1: f32):
%t9 = arith.constant -1.0 : f32
%t10 = arith.cmpf oeq, %in0, %t9 : f32
linalg.yield %t10, %in0 : i1, f32
} -> (tensor<i1>, tensor<f32>)
%t11 = tensor.empty() : tensor<32x6xf32>
%v24 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%s17, %s15 : tensor<32xf32>, tensor<f32>) outs(%t11 : tensor<32x6xf32>) {
^bb0(%in0: f32, %in1: f32, %out0: f32):
linalg.yield %in0 : f32
} -> tensor<32x6xf32>
epl.yield %v22, %v23, %v24 : tensor<i1>, tensor<f32>, tensor<32x6xf32>
}
return %v25, %v26, %v21, %s22, %s23, %s24 : tensor<f32>, tensor<f32>, tensor<16xf32>, tensor<i1>, tensor<f32>, tensor<32x6xf32>
}
// error: plan check: command #20 "send" of part 0 waits for what waits for it: the parts never end
