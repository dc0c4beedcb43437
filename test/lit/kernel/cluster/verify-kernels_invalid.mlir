// RUN: epl-opt %s --epl-verify-kernels --verify-diagnostics

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!v = !epl.dist<tensor<4xf32>, <@mesh, [{}]>>

func.func @left_over(%arg0: !v) -> !v {
  %r = epl.task <@tg0, forward> (%arg0) : (!v) -> !v {
  ^bb0(%x: tensor<4xf32>):
    // expected-error@+1 {{is not allowed at level "kernels": epl-form-kernels should have put it into a cluster}}
    %0 = epl.concatenate %x dim 0 : (tensor<4xf32>) -> tensor<4xf32>
    epl.yield %0 : tensor<4xf32>
  }
  return %r : !v
}
