// RUN: epl-opt %s --split-input-file --verify-diagnostics

// (L1)
// expected-error@+1 {{loop 0 has 0 iterations, expected at least 1}}
func.func @iterations() attributes {loop = #epl.loop<0, trip_count = 0>}

// -----

// (L2): of the outer one
// expected-error@+1 {{loop 1 is in loop 0, expected loops to be in those over micro-batches only, and these in none}}
func.func @nested() attributes {loop = #epl.loop<1, trip_count = 2 in <0, trip_count = 2>>}

// -----

// (L2): of the inner one
// expected-error@+1 {{loop 1 is in loop 0, expected loops to be in those over micro-batches only, and these in none}}
func.func @nested() attributes {loop = #epl.loop<1, trip_count = 2, micro_batches = true in <0, trip_count = 2, micro_batches = true>>}

// -----

// (C1) of epl.loop_carry
func.func @carry(%x: tensor<4xf32>) {
  // expected-error@+1 {{'epl.loop_carry' op begins as 'tensor<4xf32>', expected 'tensor<8xf32>', or a zero of that type with nothing pending}}
  %h = epl.loop_carry <0, trip_count = 3> 0 %x : tensor<4xf32> -> tensor<8xf32>
  return
}

// -----

// (C1) of epl.loop_last
func.func @last(%x: tensor<4xf32>) {
  // expected-error@+1 {{'epl.loop_last' op failed to verify that all of {operand, result} have same type}}
  %y = "epl.loop_last"(%x) {loop = #epl.loop<0, trip_count = 3>, index = 0 : i64} : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

// (C1) of epl.loop_slice: the extent
func.func @slice(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'epl.loop_slice' op stack is 'tensor<4x8xf32>', expected 3 parts along dimension 0, one for each iteration}}
  %s = epl.loop_slice <0, trip_count = 3> %x : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

// (C1) of epl.loop_slice: the distribution
epl.mesh @mesh axes ["data"=3]
func.func @slice(%x: !epl.dist<tensor<3x8xf32>, <@mesh, [{"data"}, {}]>>) {
  // expected-error@+1 {{'epl.loop_slice' op dimension 0 of the stack is split, expected it whole}}
  %s = epl.loop_slice <0, trip_count = 3> %x : !epl.dist<tensor<3x8xf32>, <@mesh, [{"data"}, {}]>> -> !epl.dist<tensor<8xf32>, <@mesh, [{}]>>
  return
}

// -----

// (C2) of epl.loop_slice: the shape
func.func @slice(%x: tensor<3x8xf32>) {
  // expected-error@+1 {{'epl.loop_slice' op part is 'tensor<4xf32>', expected the stack without dimension 0, 'tensor<8xf32>'}}
  %s = epl.loop_slice <0, trip_count = 3> %x : tensor<3x8xf32> -> tensor<4xf32>
  return
}

// -----

// (C2) of epl.loop_stack: the distribution
epl.mesh @mesh axes ["data"=2]
func.func @stack(%x: !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>) {
  // expected-error@+1 {{'epl.loop_stack' op part is '!epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>>', expected the stack's distribution, '!epl.dist<tensor<3x8xf32>, <@mesh, [{}, {}]>>'}}
  %s = epl.loop_stack <0, trip_count = 3> %x : !epl.dist<tensor<8xf32>, <@mesh, [{"data"}]>> -> !epl.dist<tensor<3x8xf32>, <@mesh, [{}, {}]>>
  return
}
