// RUN: epl-opt %s -split-input-file -verify-diagnostics

// (C1) of epl.factorize
func.func @factorize(%a: tensor<4x4xf32>) {
  // expected-error@+1 {{'epl.factorize' op has 1 operands, expected 2}}
  %0 = epl.factorize orthogonal %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

// (C1) of epl.factorize
func.func @factorize(%a: tensor<4xf32>) {
  // expected-error@+1 {{'epl.factorize' op factors 'tensor<4xf32>', expected matrices: rank 2 or more}}
  %0 = epl.factorize cholesky %a : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// (C1) of epl.factorize
func.func @factorize(%a: tensor<2x4x4xf32>, %f: tensor<3x4xf32>) {
  // expected-error@+1 {{'epl.factorize' op has factors of type 'tensor<3x4xf32>' of matrices of type 'tensor<2x4x4xf32>', expected the same batch and element type}}
  %0 = epl.factorize orthogonal %a, %f : (tensor<2x4x4xf32>, tensor<3x4xf32>) -> tensor<2x4x4xf32>
  return
}

// -----

// (C1) of epl.factorize
func.func @factorize(%a: tensor<4x4xbf16>) {
  // expected-error@+1 {{'epl.factorize' op operand #0 must be variadic of tensor of f32 or f64}}
  %0 = epl.factorize cholesky %a : (tensor<4x4xbf16>) -> tensor<4x4xf32>
  return
}

// -----

// (C2) of epl.factorize
func.func @factorize(%a: tensor<4x5xf32>) {
  // expected-error@+1 {{'epl.factorize' op factors matrices of 4 x 5, expected squares}}
  %0:2 = epl.factorize eigh %a : (tensor<4x5xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
  return
}

// -----

// (C2) of epl.factorize
func.func @factorize(%a: tensor<4x3xf32>, %f: tensor<4xf32>) {
  // expected-error@+1 {{'epl.factorize' op multiplies 4 reflectors of 4 x 3, expected at most as many as columns, and at most as many columns as rows}}
  %0 = epl.factorize orthogonal %a, %f : (tensor<4x3xf32>, tensor<4xf32>) -> tensor<4x3xf32>
  return
}

// -----

// (C3) of epl.factorize
func.func @factorize(%a: tensor<4x4xf32>) {
  // expected-error@+1 {{'epl.factorize' op has 2 results, expected 3}}
  %0:2 = epl.factorize lu %a : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xi32>)
  return
}

// -----

// (C3) of epl.factorize
func.func @factorize(%a: tensor<2x4x3xf32>) {
  // expected-error@+1 {{'epl.factorize' op result 1 has type 'tensor<2x4xi32>', expected 'tensor<2x3xi32>'}}
  %0:3 = epl.factorize lu %a : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x4xi32>, tensor<2x4xi32>)
  return
}

// -----

// (C3) of epl.factorize
func.func @factorize(%a: tensor<4x3xf32>) {
  // expected-error@+1 {{'epl.factorize' op result 1 has type 'tensor<4x4xf32>', expected 'tensor<4x3xf32>'}}
  %0:3 = epl.factorize svd %a : (tensor<4x3xf32>) -> (tensor<3xf32>, tensor<4x4xf32>, tensor<4x3xf32>)
  return
}

// -----

// (C1) of epl.triangular_solve
func.func @solve(%a: tensor<2x4x4xf32>, %b: tensor<3x4x1xf32>) {
  // expected-error@+1 {{'epl.triangular_solve' op has a matrix of type 'tensor<2x4x4xf32>' and a right-hand side of type 'tensor<3x4x1xf32>', expected one element type, rank (2 or more) and batch}}
  %0 = epl.triangular_solve %a, %b left : tensor<2x4x4xf32>, tensor<3x4x1xf32>
  return
}

// -----

// (C2) of epl.triangular_solve
func.func @solve(%a: tensor<4x4xf32>, %b: tensor<4x1xf32>) {
  // expected-error@+1 {{'epl.triangular_solve' op has a matrix of type 'tensor<4x4xf32>', expected 1 x 1 for a right-hand side of type 'tensor<4x1xf32>'}}
  %0 = epl.triangular_solve %a, %b lower : tensor<4x4xf32>, tensor<4x1xf32>
  return
}
