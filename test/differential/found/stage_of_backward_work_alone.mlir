// epl-compile --devices=cpu:2 --kernels=loops --cpu=host --micro-batches=3 --schedule=table.txt
func.func @main(%v6: tensor<18x6xbf16> {epl.role = "batch", epl.batch_dim = 0 : i64}, %v12: tensor<18xi32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> (tensor<18x18xi32>, tensor<18xbf16>) {
%s13 = epl.replicate name("s1") devices(1) -> tensor<18x18xi32> {
%v13 = epl.gather %v12[] of [] operand_dims [1] index_dims [0] : (tensor<18xi32>) -> tensor<18x18xi32> loc("jit(step)/jvp(f)/op0")
epl.yield %v13 : tensor<18x18xi32>
}
%s18 = epl.replicate name("s1") devices(1) -> tensor<18xbf16> {
%t0 = tensor.empty() : tensor<18xbf16>
%t1 = arith.constant 0.0 : bf16
%t2 = linalg.fill ins(%t1 : bf16) outs(%t0 : tensor<18xbf16>) -> tensor<18xbf16>
%v15 = linalg.reduce { arith.addf } ins(%v6 : tensor<18x6xbf16>) outs(%t2 : tensor<18xbf16>) dimensions = [1] loc("jit(step)/transpose(jvp(f))/op1")
%t3 = tensor.empty() : tensor<18xbf16>
%v18 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v15 : tensor<18xbf16>) outs(%t3 : tensor<18xbf16>) {
^bb0(%in0: bf16, %out0: bf16):
linalg.yield %in0 : bf16
} -> tensor<18xbf16> loc("jit(step)/transpose(jvp(f))/op2")
epl.yield %v18 : tensor<18xbf16>
}
%s20, %s21 = epl.replicate devices(1) -> tensor<18x18xi32>, tensor<18xbf16> {
%v20 = epl.constrain %s13 to <[{"data"}, {}]> : tensor<18x18xi32> loc("jit(step)/transpose(jvp(f))/op3")
%t4 = tensor.empty() : tensor<18xbf16>
%v21 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%s18, %s18 : tensor<18xbf16>, tensor<18xbf16>) outs(%t4 : tensor<18xbf16>) {
^bb0(%in0: bf16, %in1: bf16, %out0: bf16):
linalg.yield %in0 : bf16
} -> tensor<18xbf16> loc("jit(step)/transpose(jvp(f))/op4")
epl.yield %v20, %v21 : tensor<18x18xi32>, tensor<18xbf16>
}
return %s20, %s21 : tensor<18x18xi32>, tensor<18xbf16>
}
