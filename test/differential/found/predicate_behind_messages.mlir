// epl-compile --devices=cpu:2 --kernels=loops --cpu=host --micro-batches=4 --schedule=1f1b
func.func @main(%v0: tensor<32x2x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v2: tensor<32xi32> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v6: tensor<8x6xf32> {epl.role = "constant"}, %v44: tensor<i32> {epl.role = "constant"}) -> (tensor<i32>) {
%s5, %s7 = epl.split devices(1) -> tensor<32xi32>, tensor<32x2x6xf32> {
%v5 = epl.constrain %v2 to <[{"data"}]> : tensor<32xi32>
%t0 = tensor.empty() : tensor<32x2x6xf32>
%t1 = arith.constant 0.0 : f32
%t2 = linalg.fill ins(%t1 : f32) outs(%t0 : tensor<32x2x6xf32>) -> tensor<32x2x6xf32>
%v7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"]} ins(%v0, %v6 : tensor<32x2x8xf32>, tensor<8x6xf32>) outs(%t2 : tensor<32x2x6xf32>) {
^bb0(%in0: f32, %in1: f32, %out0: f32):
%t3 = arith.addf %out0, %in0 : f32
linalg.yield %t3 : f32
} -> tensor<32x2x6xf32> loc("jit(step)/epl.per_micro_batch/op1")
epl.yield %v5, %v7 : tensor<32xi32>, tensor<32x2x6xf32>
}
%t4 = tensor.empty() : tensor<32x2x6xf32>
%v8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s7 : tensor<32x2x6xf32>) outs(%t4 : tensor<32x2x6xf32>) {
^bb0(%in0: f32, %out0: f32):
linalg.yield %in0 : f32
} -> tensor<32x2x6xf32> loc("jit(step)/epl.per_micro_batch/op2")
%t5 = tensor.empty() : tensor<32xi32>
%t6 = tensor.empty() : tensor<32xi32>
%v14, %v15 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%s5 : tensor<32xi32>) outs(%t5, %t6 : tensor<32xi32>, tensor<32xi32>) {
^bb0(%in0: i32, %out0: i32, %out1: i32):
linalg.yield %in0, %in0 : i32, i32
} -> (tensor<32xi32>, tensor<32xi32>)
%t7 = tensor.empty() : tensor<i1>
%t8 = arith.constant true
%t9 = linalg.fill ins(%t8 : i1) outs(%t7 : tensor<i1>) -> tensor<i1>
%v42 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> ()>], iterator_types = ["reduction", "reduction", "reduction"]} ins(%v8 : tensor<32x2x6xf32>) outs(%t9 : tensor<i1>) {
^bb0(%in0: f32, %out0: i1):
%t10 = arith.constant 0.0 : f32
%t11 = arith.cmpf ogt, %in0, %t10 : f32
%t12 = arith.andi %out0, %t11 : i1
linalg.yield %t12 : i1
} -> tensor<i1>
%s46 = epl.replicate devices(1) -> tensor<i32> {
%t13 = tensor.empty() : tensor<i32>
%t14 = arith.constant 0 : i32
%t15 = linalg.fill ins(%t14 : i32) outs(%t13 : tensor<i32>) -> tensor<i32>
%v45 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%v2, %v15 : tensor<32xi32>, tensor<32xi32>) outs(%t15 : tensor<i32>) {
^bb0(%in0: i32, %in1: i32, %out0: i32):
%t16 = arith.addi %out0, %in0 : i32
linalg.yield %t16 : i32
} -> tensor<i32>
%v46 = arith.select %v42, %v44, %v45 : tensor<i1>, tensor<i32>
epl.yield %v46 : tensor<i32>
}
return %s46 : tensor<i32>
}
