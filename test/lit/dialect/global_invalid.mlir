// RUN: epl-opt %s --split-input-file --verify-diagnostics

// (C1) of epl.taskgraph
// expected-error@+1 {{'epl.taskgraph' op names unknown mesh @mesh}}
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// -----

// (C1) of epl.taskgraph
func.func private @mesh()
// expected-error@+1 {{'epl.taskgraph' op names unknown mesh @mesh}}
epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh

// -----

// (C1) of epl.reshard
func.func @reshard(%x: tensor<4xf32>) {
  // expected-error@+1 {{'epl.reshard' op sharding of the result names unknown mesh @mesh}}
  %0 = epl.reshard %x to <@mesh, [{}]> : tensor<4xf32>
  return
}

// -----

// (C1) of epl.reshard
epl.mesh @mesh axes ["data"=3]
func.func @reshard(%x: tensor<4xf32>) {
  // expected-error@+1 {{'epl.reshard' op dimension 0 of the result of size 4 is not divisible by 3, the size of its axes}}
  %0 = epl.reshard %x to <@mesh, [{"data"}]> : tensor<4xf32>
  return
}

// -----

// (C1) of epl.concatenate
func.func @concatenate() {
  // expected-error@+1 {{'epl.concatenate' op has no operands, expected at least one}}
  %0 = epl.concatenate dim 0 : () -> tensor<4xf32>
  return
}

// -----

// (C1) of epl.concatenate
func.func @concatenate(%x: tensor<4xf32>, %y: tensor<4x1xf32>) {
  // expected-error@+1 {{'epl.concatenate' op operand 1 has type 'tensor<4x1xf32>', expected the rank and element type of 'tensor<8xf32>'}}
  %0 = epl.concatenate %x, %y dim 0 : (tensor<4xf32>, tensor<4x1xf32>) -> tensor<8xf32>
  return
}

// -----

// (C1) of epl.concatenate
func.func @concatenate(%x: tensor<4xf32>) {
  // expected-error@+1 {{'epl.concatenate' op operand 0 has type 'tensor<4xf32>', expected the rank and element type of 'tensor<4xi32>'}}
  %0 = epl.concatenate %x dim 0 : (tensor<4xf32>) -> tensor<4xi32>
  return
}

// -----

// (C2) of epl.concatenate
func.func @concatenate(%x: tensor<4xf32>) {
  // expected-error@+1 {{'epl.concatenate' op concatenates dimension 1 of a result of rank 1}}
  %0 = epl.concatenate %x dim 1 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// (C2) of epl.concatenate
func.func @concatenate(%x: tensor<4xf32>) {
  // expected-error@+1 {{'epl.concatenate' op concatenates dimension -1 of a result of rank 1}}
  %0 = epl.concatenate %x dim -1 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// (C3) of epl.concatenate
func.func @concatenate(%x: tensor<4x2xf32>, %y: tensor<3x2xf32>) {
  // expected-error@+1 {{'epl.concatenate' op dimension 0 of operand 1 has size 3, expected 4}}
  %0 = epl.concatenate %x, %y dim 1 : (tensor<4x2xf32>, tensor<3x2xf32>) -> tensor<4x4xf32>
  return
}

// -----

// (C3) of epl.concatenate
func.func @concatenate(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{'epl.concatenate' op operands have 7 elements along dimension 0, expected 8}}
  %0 = epl.concatenate %x, %y dim 0 : (tensor<4xf32>, tensor<3xf32>) -> tensor<8xf32>
  return
}
