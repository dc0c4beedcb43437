// epl-compile --devices=cpu:3 --kernels=loops --cpu=x86-64 --micro-batches=2 --schedule=1f1b
func.func @main(%w: tensor<6xf64> {epl.role = "state", epl.name = "params['layer'][0]"}, %x: tensor<4x6xf64> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "batch[1]"}) -> (tensor<6xf64> {epl.updates = 0 : i64, epl.name = "params['layer'][0]"}, tensor<4x6xf64> {epl.name = "results[1]"}, tensor<6xf64> {epl.name = "results[2]"}) {
%a = epl.replicate name("s0") devices(1) -> tensor<6xf64> {
%v0 = arith.addf %w, %w : tensor<6xf64> loc("jit(step)/jvp(f)/op0")
epl.yield %v0 : tensor<6xf64>
}
%b = epl.replicate name("s1") devices(1) -> tensor<6xf64> {
%v1 = epl.constrain %a to <[{"data"}]> : tensor<6xf64> loc("jit(step)/jvp(f)/op1")
epl.yield %v1 : tensor<6xf64>
}
%c, %s = epl.replicate name("s2") devices(1) -> tensor<4x6xf64>, tensor<6xf64> {
%t0 = tensor.empty() : tensor<4x6xf64>
%v2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %b : tensor<4x6xf64>, tensor<6xf64>) outs(%t0 : tensor<4x6xf64>) {
^bb0(%in0: f64, %in1: f64, %out0: f64):
%t1 = arith.mulf %in0, %in1 : f64
linalg.yield %t1 : f64
} -> tensor<4x6xf64> loc("jit(step)/jvp(f)/op2")
%v3 = arith.mulf %b, %b : tensor<6xf64> loc("jit(step)/jvp(f)/op3")
epl.yield %v2, %v3 : tensor<4x6xf64>, tensor<6xf64>
}
%d, %e = epl.replicate name("s1") devices(1) -> tensor<4x6xf64>, tensor<6xf64> {
%v4 = arith.addf %c, %c : tensor<4x6xf64> loc("jit(step)/transpose(jvp(f))/op4")
%t2 = arith.constant dense<0.0> : tensor<6xf64>
%v7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%v4 : tensor<4x6xf64>) outs(%t2 : tensor<6xf64>) {
^bb0(%in0: f64, %out0: f64):
%t3 = arith.addf %in0, %out0 : f64
linalg.yield %t3 : f64
} -> tensor<6xf64> loc("jit(step)/transpose(jvp(f))/op7")
%v5 = arith.addf %s, %v7 : tensor<6xf64> loc("jit(step)/transpose(jvp(f))/op5")
epl.yield %v4, %v5 : tensor<4x6xf64>, tensor<6xf64>
}
%v6 = arith.subf %w, %w : tensor<6xf64> loc("jit(step)/op6")
return %v6, %d, %e : tensor<6xf64>, tensor<4x6xf64>, tensor<6xf64>
}
