// RUN: not epl-opt %s --split-input-file --epl-verify-input 2>&1 | FileCheck %s

// What op verifiers cannot see: how the ops of a loop belong together.

// CHECK: error: 'epl.loop_carry' op has no "epl.loop_last" of index 0
func.func @step(%x: tensor<4xf32> {epl.role = "constant"}) {
  %h = epl.loop_carry <0, trip_count = 3> 0 %x : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

// CHECK: error: 'epl.loop_last' op has type 'tensor<f32>', expected that of the carried value, 'tensor<4xf32>'
func.func @step(%x: tensor<4xf32> {epl.role = "constant"}, %s: tensor<f32> {epl.role = "constant"}) -> tensor<f32> {
  %h = epl.loop_carry <0, trip_count = 3> 1 %x : tensor<4xf32> -> tensor<4xf32>
  %y = epl.loop_last <0, trip_count = 3> 1 %s : tensor<f32>
  return %y : tensor<f32>
}

// -----

// CHECK: error: 'epl.loop_last' op is one of several of index 0, expected one
func.func @step(%x: tensor<4xf32> {epl.role = "constant"}) -> (tensor<4xf32>, tensor<4xf32>) {
  %h = epl.loop_carry <0, trip_count = 3> 0 %x : tensor<4xf32> -> tensor<4xf32>
  %y = epl.loop_last <0, trip_count = 3> 0 %h : tensor<4xf32>
  %z = epl.loop_last <0, trip_count = 3> 0 %h : tensor<4xf32>
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK: error: 'func.return' op returns a value of the iterations of loop 0, expected what "epl.loop_last" or "epl.loop_stack" make of it
func.func @step(%x: tensor<3x4xf32> {epl.role = "constant"}) -> tensor<4xf32> {
  %h = epl.loop_slice <0, trip_count = 3> %x : tensor<3x4xf32> -> tensor<4xf32>
  return %h : tensor<4xf32>
}

// -----

// CHECK: error: 'epl.loop_slice' op says loop 0 has 4 iterations, expected 3
func.func @step(%x: tensor<3x4xf32> {epl.role = "constant"}, %y: tensor<4x4xf32> {epl.role = "constant"}) {
  %h = epl.loop_slice <0, trip_count = 3> %x : tensor<3x4xf32> -> tensor<4xf32>
  %i = epl.loop_slice <0, trip_count = 4> %y : tensor<4x4xf32> -> tensor<4xf32>
  return
}

// -----

// CHECK: error: 'epl.loop_slice' op reads a value of the iterations of loop 0, expected loops that do not nest
func.func @step(%x: tensor<3x2x4xf32> {epl.role = "constant"}) {
  %h = epl.loop_slice <0, trip_count = 3> %x : tensor<3x2x4xf32> -> tensor<2x4xf32>
  %i = epl.loop_slice <1, trip_count = 2> %h : tensor<2x4xf32> -> tensor<4xf32>
  return
}

// -----

// CHECK: error: 'arith.addf' op reads a value of the iterations of loop {{.}}, expected loops that do not nest
func.func @step(%x: tensor<3x4xf32> {epl.role = "constant"}, %y: tensor<2x4xf32> {epl.role = "constant"}) {
  %h = epl.loop_slice <0, trip_count = 3> %x : tensor<3x4xf32> -> tensor<4xf32>
  %i = epl.loop_slice <1, trip_count = 2> %y : tensor<2x4xf32> -> tensor<4xf32>
  %s = arith.addf %h, %i : tensor<4xf32>
  return
}

// -----

// CHECK: error: 'math.exp' op is done in each iteration of loop 0, expected it before what leaves the loop
// CHECK: note: the loop is left here
func.func @step(%x: tensor<3x4xf32> {epl.role = "constant"}) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %h = epl.loop_slice <0, trip_count = 3> %x : tensor<3x4xf32> -> tensor<4xf32>
  %s = epl.loop_stack <0, trip_count = 3> %h : tensor<4xf32> -> tensor<3x4xf32>
  %e = math.exp %h : tensor<4xf32>
  %t = epl.loop_stack <0, trip_count = 3> %e : tensor<4xf32> -> tensor<3x4xf32>
  return %s, %t : tensor<3x4xf32>, tensor<3x4xf32>
}

// -----

// CHECK: error: 'epl.loop_stack' op reads what is made of a value that leaves loop 0, expected all that leaves it to do so at once
// CHECK: note: the loop is left here
func.func @step(%w: tensor<4xf32> {epl.role = "constant"}) -> tensor<3x4xf32> {
  %c = epl.loop_carry <0, trip_count = 3> 0 %w : tensor<4xf32> -> tensor<4xf32>
  %d = math.exp %c : tensor<4xf32>
  %l = epl.loop_last <0, trip_count = 3> 0 %d : tensor<4xf32>
  %t = math.sin %l : tensor<4xf32>
  %s = epl.loop_stack <0, trip_count = 3> %t : tensor<4xf32> -> tensor<3x4xf32>
  return %s : tensor<3x4xf32>
}

// -----

// Only micro-batches have loops in them.
// CHECK: error: 'epl.loop_slice' op is of a loop over micro-batches, which only "epl-form-micro-batches" makes
func.func @step(%x: tensor<3x4xf32> {epl.role = "constant"}) {
  %h = epl.loop_slice <1, trip_count = 3 in <0, trip_count = 2, micro_batches = true>> %x : tensor<3x4xf32> -> tensor<4xf32>
  return
}
