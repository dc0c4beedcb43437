// epl-compile --devices=cpu:2 --kernels=vectorized --cpu=x86-64 --micro-batches=4 --schedule=1f1b
func.func @main(%x: tensor<16xf64> {epl.role = "batch", epl.batch_dim = 0 : i64, epl.name = "batch[0]"}, %w: tensor<3xf64> {epl.role = "state", epl.name = "params['layer'][1]"}) -> (tensor<3xf64> {epl.updates = 1 : i64, epl.name = "params['layer'][1]"}, tensor<3xf64> {epl.name = "results[1]"}, tensor<3xf64> {epl.name = "results[2]"}, tensor<f64> {epl.name = "results[3]"}) {
%sum = epl.replicate name("s0") devices(1) -> tensor<f64> {
%t0 = arith.constant dense<0.0> : tensor<f64>
%v0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<16xf64>) outs(%t0 : tensor<f64>) {
^bb0(%in0: f64, %out0: f64):
%t1 = arith.addf %in0, %out0 : f64
linalg.yield %t1 : f64
} -> tensor<f64> loc("jit(step)/jvp(f)/op0")
epl.yield %v0 : tensor<f64>
}
%last, %same, %stack = epl.replicate name("s1") devices(1) -> tensor<3xf64>, tensor<f64>, tensor<3xf64> {
%t2 = arith.mulf %sum, %sum : tensor<f64> loc("jit(step)/jvp(f)/op1")
%t3 = epl.loop_carry <7, trip_count = 3> 0 %w : tensor<3xf64> -> tensor<3xf64> loc("jit(step)/jvp(f)/op2")
%t4 = arith.addf %t3, %t3 : tensor<3xf64> loc("jit(step)/jvp(f)/op3")
%v1 = epl.loop_last <7, trip_count = 3> 0 %t4 : tensor<3xf64> loc("jit(step)/jvp(f)/op4")
%v6 = epl.loop_last <7, trip_count = 3> 1 %t2 : tensor<f64> loc("jit(step)/jvp(f)/op4")
%v2 = epl.loop_stack <7, trip_count = 3> %t2 : tensor<f64> -> tensor<3xf64> loc("jit(step)/jvp(f)/op5")
epl.yield %v1, %v6, %v2 : tensor<3xf64>, tensor<f64>, tensor<3xf64>
}
%a, %b, %c, %d = epl.replicate name("s0") devices(1) -> tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<f64> {
%v3 = arith.addf %last, %last : tensor<3xf64> loc("jit(step)/transpose(jvp(f))/op6")
%v4 = arith.addf %stack, %stack : tensor<3xf64> loc("jit(step)/transpose(jvp(f))/op7")
%v5 = arith.subf %w, %v3 : tensor<3xf64> loc("jit(step)/op8")
%v7 = arith.addf %same, %same : tensor<f64> loc("jit(step)/transpose(jvp(f))/op9")
epl.yield %v3, %v4, %v5, %v7 : tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<f64>
}
return %c, %a, %b, %d : tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<f64>
}
