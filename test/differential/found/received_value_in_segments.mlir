// epl-compile --devices=cpu:6 --kernels=loops --cpu=host
func.func @main(%v0: tensor<12x12xi8> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v28: tensor<26x4xf64> {epl.role = "state"}, %v30: tensor<12x4xf64> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v20: tensor<12x8xf64> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v19: tensor<12x12xf64> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v18: tensor<12x6xf64> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v13: tensor<12x26xf64> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v6: tensor<12xi8> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> (tensor<26x4xf64> {epl.updates = 1 : i64}) {
%s5 = epl.split name("s0") devices(2) -> tensor<i1> {
%t0 = tensor.empty() : tensor<i1>
%t1 = arith.constant true
%t2 = linalg.fill ins(%t1 : i1) outs(%t0 : tensor<i1>) -> tensor<i1>
%v5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%v0 : tensor<12x12xi8>) outs(%t2 : tensor<i1>) {
^bb0(%in0: i8, %out0: i1):
%t3 = arith.constant 1 : i8
%t4 = arith.cmpi sgt, %in0, %t3 : i8
%t5 = arith.andi %out0, %t4 : i1
linalg.yield %t5 : i1
} -> tensor<i1>
epl.yield %v5 : tensor<i1>
}
%s10, %s14 = epl.replicate devices(4) -> tensor<i1>, tensor<12x26xf64> {
%t6 = tensor.empty() : tensor<12xi8>
%v9 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%s5, %v6, %v6 : tensor<i1>, tensor<12xi8>, tensor<12xi8>) outs(%t6 : tensor<12xi8>) {
^bb0(%in0: i1, %in1: i8, %in2: i8, %out0: i8):
linalg.yield %in1 : i8
} -> tensor<12xi8>
%t7 = tensor.empty() : tensor<i1>
%t8 = arith.constant true
%t9 = linalg.fill ins(%t8 : i1) outs(%t7 : tensor<i1>) -> tensor<i1>
%v10 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%v9 : tensor<12xi8>) outs(%t9 : tensor<i1>) {
^bb0(%in0: i8, %out0: i1):
%t10 = arith.constant -1 : i8
%t11 = arith.cmpi sgt, %in0, %t10 : i8
%t12 = arith.andi %out0, %t11 : i1
linalg.yield %t12 : i1
} -> tensor<i1>
%t13 = tensor.empty() : tensor<12x26xf64>
%v14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v13 : tensor<12x26xf64>) outs(%t13 : tensor<12x26xf64>) {
^bb0(%in0: f64, %out0: f64):
linalg.yield %in0 : f64
} -> tensor<12x26xf64>
epl.yield %v10, %v14 : tensor<i1>, tensor<12x26xf64>
}
%s33 = epl.split name("s0") devices(2) -> tensor<26x4xf64> {
%v21 = epl.concatenate %v18, %v19, %v20 dim 1 : (tensor<12x6xf64>, tensor<12x12xf64>, tensor<12x8xf64>) -> tensor<12x26xf64>
%t14 = tensor.empty() : tensor<12x26xf64>
%v24 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%s10, %v21, %s14 : tensor<i1>, tensor<12x26xf64>, tensor<12x26xf64>) outs(%t14 : tensor<12x26xf64>) {
^bb0(%in0: i1, %in1: f64, %in2: f64, %out0: f64):
linalg.yield %in1 : f64
} -> tensor<12x26xf64>
%t15 = tensor.empty() : tensor<26x4xf64>
%t16 = arith.constant 0.0 : f64
%t17 = linalg.fill ins(%t16 : f64) outs(%t15 : tensor<26x4xf64>) -> tensor<26x4xf64>
%v33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%v24, %v30 : tensor<12x26xf64>, tensor<12x4xf64>) outs(%t17 : tensor<26x4xf64>) {
^bb0(%in0: f64, %in1: f64, %out0: f64):
%t18 = arith.addf %out0, %in0 : f64
linalg.yield %t18 : f64
} -> tensor<26x4xf64>
epl.yield %v33 : tensor<26x4xf64>
}
return %s33 : tensor<26x4xf64>
}
// 'epl.task' op makes what is sent by channel 0, expected it before what is received by channel 2 is read
