// RUN: epl-opt %s --epl-form-kernels --split-input-file --verify-diagnostics

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!v = !epl.dist<tensor<4xf32>, <@mesh, [{}]>>

func.func private @callee(tensor<4xf32>) -> tensor<4xf32>

func.func @effects(%arg0: !v) -> !v {
  %r = epl.task <@tg0, forward> (%arg0) : (!v) -> !v {
  ^bb0(%x: tensor<4xf32>):
    // expected-error@+1 {{has side effects, expected a function of its operands}}
    %0 = func.call @callee(%x) : (tensor<4xf32>) -> tensor<4xf32>
    epl.yield %0 : tensor<4xf32>
  }
  return %r : !v
}

// -----

epl.mesh @mesh axes ["data"=1]
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
!v = !epl.dist<tensor<4xf32>, <@mesh, [{}]>>

func.func @dynamic(%arg0: !v) -> !v {
  %r = epl.task <@tg0, forward> (%arg0) : (!v) -> !v {
  ^bb0(%x: tensor<4xf32>):
    // expected-error@+1 {{has type 'tensor<?xf32>', expected a static shape}}
    %0 = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
    %1 = tensor.cast %0 : tensor<?xf32> to tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  return %r : !v
}
