// RUN: epl-opt %s --split-input-file --verify-diagnostics

// (C1) of epl.gather
func.func @gather(%x: tensor<8x6xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>, %k: tensor<3xi32>) {
  // expected-error@+1 {{'epl.gather' op has 1 index tensors of dimensions [0, 1], expected one for each of some distinct dimensions of 'tensor<8x6xf32>'}}
  %0 = epl.gather %x[%i] of [0, 1] operand_dims [-1, -1] index_dims [0] : (tensor<8x6xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

// (C1) of epl.gather
func.func @gather(%x: tensor<8x6xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>, %k: tensor<3xi32>) {
  // expected-error@+1 {{'epl.gather' op has 2 index tensors of dimensions [1, 1], expected one for each of some distinct dimensions of 'tensor<8x6xf32>'}}
  %0 = epl.gather %x[%i, %j] of [1, 1] operand_dims [-1, -1] index_dims [0] : (tensor<8x6xf32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

// (C1) of epl.gather
func.func @gather(%x: tensor<8x6xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>, %k: tensor<3xi32>) {
  // expected-error@+1 {{'epl.gather' op has 1 index tensors of dimensions [2], expected one for each of some distinct dimensions of 'tensor<8x6xf32>'}}
  %0 = epl.gather %x[%i] of [2] operand_dims [-1, -1] index_dims [0] : (tensor<8x6xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

// (C1) of epl.gather
func.func @gather(%x: tensor<8x6xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>, %k: tensor<3xi32>) {
  // expected-error@+1 {{'epl.gather' op index tensor 1 has type 'tensor<3xi32>', expected rank 1 and the shape of 'tensor<4xi32>'}}
  %0 = epl.gather %x[%i, %k] of [0, 1] operand_dims [-1, -1] index_dims [0] : (tensor<8x6xf32>, tensor<4xi32>, tensor<3xi32>) -> tensor<4xf32>
  return
}

// -----

// (C1) of epl.gather
func.func @gather(%x: tensor<8x6xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>, %k: tensor<3xi32>) {
  // expected-error@+1 {{'epl.gather' op index tensor 0 has type 'tensor<4xi32>', expected rank 0 and the shape of 'tensor<4xi32>'}}
  %0 = epl.gather %x[%i] of [0] operand_dims [-1, 0] index_dims [] : (tensor<8x6xf32>, tensor<4xi32>) -> tensor<6xf32>
  return
}

// -----

// (C2) of epl.gather
func.func @gather(%x: tensor<8x6xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>, %k: tensor<3xi32>) {
  // expected-error@+1 {{'epl.gather' op has index dimensions [1], expected distinct dimensions of the result, 'tensor<4xf32>'}}
  %0 = epl.gather %x[%i] of [0] operand_dims [-1, -1] index_dims [1] : (tensor<8x6xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

// (C2) of epl.gather
func.func @gather(%x: tensor<8x6xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>, %k: tensor<3xi32>) {
  // expected-error@+1 {{'epl.gather' op has operand dimensions [-1], expected for each dimension of 'tensor<8x6xf32>' another dimension of the result, or -1}}
  %0 = epl.gather %x[%i] of [0] operand_dims [-1] index_dims [0] : (tensor<8x6xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

// (C2) of epl.gather
func.func @gather(%x: tensor<8x6xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>, %k: tensor<3xi32>) {
  // expected-error@+1 {{'epl.gather' op has operand dimensions [1, 1], expected for each dimension of 'tensor<8x6xf32>' another dimension of the result, or -1}}
  %0 = epl.gather %x[%i] of [0] operand_dims [1, 1] index_dims [0] : (tensor<8x6xf32>, tensor<4xi32>) -> tensor<4x6xf32>
  return
}

// -----

// (C2) of epl.gather
func.func @gather(%x: tensor<8x6xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>, %k: tensor<3xi32>) {
  // expected-error@+1 {{'epl.gather' op has operand dimensions [-1, 2], expected for each dimension of 'tensor<8x6xf32>' another dimension of the result, or -1}}
  %0 = epl.gather %x[%i] of [0] operand_dims [-1, 2] index_dims [0] : (tensor<8x6xf32>, tensor<4xi32>) -> tensor<4x6xf32>
  return
}

// -----

// (C2) of epl.gather
func.func @gather(%x: tensor<8x6xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>, %k: tensor<3xi32>) {
  // expected-error@+1 {{'epl.gather' op dimension 1 of the result corresponds to no other dimension}}
  %0 = epl.gather %x[%i] of [0] operand_dims [-1, -1] index_dims [0] : (tensor<8x6xf32>, tensor<4xi32>) -> tensor<4x6xf32>
  return
}

// -----

// (C3) of epl.gather
func.func @gather(%x: tensor<8x6xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>, %k: tensor<3xi32>) {
  // expected-error@+1 {{'epl.gather' op dimension 0 of the result has size 5, expected 4}}
  %0 = epl.gather %x[%i] of [0] operand_dims [-1, 1] index_dims [0] : (tensor<8x6xf32>, tensor<4xi32>) -> tensor<5x6xf32>
  return
}

// -----

// (C3) of epl.gather
func.func @gather(%x: tensor<8x6xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>, %k: tensor<3xi32>) {
  // expected-error@+1 {{'epl.gather' op dimension 0 of the operand is a batch and indexed}}
  %0 = epl.gather %x[%i] of [0] operand_dims [0, 1] index_dims [0] : (tensor<8x6xf32>, tensor<4xi32>) -> tensor<4x6xf32>
  return
}

// -----

// (C3) of epl.gather
func.func @gather(%x: tensor<8x6xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>, %k: tensor<3xi32>) {
  // expected-error@+1 {{'epl.gather' op dimension 0 of the result has size 4, expected 8}}
  %0 = epl.gather %x[%i] of [1] operand_dims [0, -1] index_dims [0] : (tensor<8x6xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

// (C4) of epl.gather
func.func @gather(%x: tensor<8x6xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>, %k: tensor<3xi32>) {
  // expected-error@+1 {{'epl.gather' op windows have size 7 along dimension 1 of the operand, expected at most 6}}
  %0 = epl.gather %x[%i] of [0] operand_dims [-1, 1] index_dims [0] : (tensor<8x6xf32>, tensor<4xi32>) -> tensor<4x7xf32>
  return
}

// -----

// (C4) of epl.gather
func.func @gather(%x: tensor<0xf32>, %i: tensor<4xi32>) {
  // expected-error@+1 {{'epl.gather' op windows have size 1 along dimension 0 of the operand, expected at most 0}}
  %0 = epl.gather %x[%i] of [0] operand_dims [-1] index_dims [0] : (tensor<0xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

// (C5) of epl.gather
func.func @gather(%x: tensor<8x6xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>, %k: tensor<3xi32>) {
  // expected-error@+1 {{'epl.gather' op result has type 'tensor<4xf64>', expected the element type of 'tensor<8x6xf32>'}}
  %0 = epl.gather %x[%i, %j] of [0, 1] operand_dims [-1, -1] index_dims [0] : (tensor<8x6xf32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xf64>
  return
}

// -----

// (C4) of epl.scatter
func.func @scatter(%x: tensor<3xf32>, %u: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{'epl.scatter' op windows have size 4 along dimension 0 of the operand, expected at most 3}}
  %0 = epl.scatter set %u into %x[%i] of [0] operand_dims [0] index_dims [] : (tensor<4xf32>, tensor<3xf32>, tensor<i32>) -> tensor<3xf32>
  return
}

// -----

// (C6) of epl.scatter
func.func @scatter(%x: tensor<8xf32>, %u: tensor<4xf32>, %i: tensor<4xi32>) {
  // expected-error@+1 {{'epl.scatter' op combines elements of 'f32' by "umin"}}
  %0 = epl.scatter umin %u into %x[%i] of [0] operand_dims [-1] index_dims [0] : (tensor<4xf32>, tensor<8xf32>, tensor<4xi32>) -> tensor<8xf32>
  return
}

// -----

// (C6) of epl.scatter
func.func @scatter(%x: tensor<8xf32>, %u: tensor<4xf32>, %i: tensor<4xi32>) {
  // expected-error@+1 {{'epl.scatter' op combines elements of 'f32' by "andi"}}
  %0 = epl.scatter andi %u into %x[%i] of [0] operand_dims [-1] index_dims [0] : (tensor<4xf32>, tensor<8xf32>, tensor<4xi32>) -> tensor<8xf32>
  return
}

// -----

// (C6) of epl.scatter
func.func @scatter(%x: tensor<8xi1>, %u: tensor<4xi1>, %i: tensor<4xi32>) {
  // expected-error@+1 {{'epl.scatter' op combines elements of 'i1' by "add"}}
  %0 = epl.scatter add %u into %x[%i] of [0] operand_dims [-1] index_dims [0] : (tensor<4xi1>, tensor<8xi1>, tensor<4xi32>) -> tensor<8xi1>
  return
}

// -----

// (C6) of epl.scatter
func.func @scatter(%x: tensor<8xi1>, %u: tensor<4xi1>, %i: tensor<4xi32>) {
  // expected-error@+1 {{'epl.scatter' op combines elements of 'i1' by "max"}}
  %0 = epl.scatter max %u into %x[%i] of [0] operand_dims [-1] index_dims [0] : (tensor<4xi1>, tensor<8xi1>, tensor<4xi32>) -> tensor<8xi1>
  return
}

// -----

// (C3) of epl.scatter
func.func @scatter(%x: tensor<8xf32>, %u: tensor<3xf32>, %i: tensor<4xi32>) {
  // expected-error@+1 {{'epl.scatter' op dimension 0 of the updates has size 3, expected 4}}
  %0 = epl.scatter add %u into %x[%i] of [0] operand_dims [-1] index_dims [0] : (tensor<3xf32>, tensor<8xf32>, tensor<4xi32>) -> tensor<8xf32>
  return
}
