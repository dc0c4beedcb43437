// epl-compile --devices=cpu:2 --kernels=loops --micro-batches=6 --schedule=zb-h1
func.func @main(%v1: tensor<48x8xbf16> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v6: tensor<48x8xi1> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> (tensor<3x48x0xf32>) {
%s7 = epl.split devices(1) -> tensor<48x0xi1> {
%v7, %v8 = epl.sort %v6, %v1 dim 1 : (tensor<48x8xi1>, tensor<48x8xbf16>) -> (tensor<48x0xi1>, tensor<48x0xbf16>) {
^bb0(%t0: i1, %t1: i1, %t2: bf16, %t3: bf16):
%t4 = arith.cmpf olt, %t2, %t3 : bf16
%t5 = arith.cmpi ult, %t0, %t1 : i1
%t6 = arith.cmpi eq, %t0, %t1 : i1
%t7 = arith.andi %t6, %t4 : i1
%t8 = arith.ori %t5, %t7 : i1
epl.yield %t8 : i1
}
epl.yield %v7 : tensor<48x0xi1>
}
%s19 = epl.split devices(1) -> tensor<3x48x0xf32> {
%t10 = tensor.empty() : tensor<48x0xf32>
%t9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%s7 : tensor<48x0xi1>) outs(%t10 : tensor<48x0xf32>) {
^bb0(%in0: i1, %out0: f32):
%t11 = arith.uitofp %in0 : i1 to f32
linalg.yield %t11 : f32
} -> tensor<48x0xf32>
%v19 = epl.loop_stack <14, trip_count = 3> %t9 : tensor<48x0xf32> -> tensor<3x48x0xf32>
epl.yield %v19 : tensor<3x48x0xf32>
}
return %s19 : tensor<3x48x0xf32>
}
