// epl-compile --devices=cpu:2 --kernels=loops --cpu=x86-64
func.func @main(%w: tensor<3x2xi32> {epl.role = "state"}, %x: tensor<1x2xi32> {epl.role = "constant"}) -> (tensor<3x2xi32> {epl.updates = 0 : i64}, tensor<3x2xi32>) {
%r1 = tensor.extract_slice %w[1, 0] [1, 2] [1, 1] : tensor<3x2xi32> to tensor<1x2xi32> loc("jit(step)/jvp(f)/op0")
%r2 = epl.split devices(1) -> tensor<1x2xi32> {
%v0 = tensor.extract_slice %w[2, 0] [1, 2] [1, 1] : tensor<3x2xi32> to tensor<1x2xi32> loc("jit(step)/jvp(f)/op1")
epl.yield %v0 : tensor<1x2xi32>
}
%next = epl.replicate devices(1) -> tensor<3x2xi32> {
%v1 = epl.concatenate %r2, %r1, %x dim 0 : (tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<3x2xi32> loc("jit(step)/transpose(jvp(f))/op2")
epl.yield %v1 : tensor<3x2xi32>
}
return %next, %w : tensor<3x2xi32>, tensor<3x2xi32>
}
