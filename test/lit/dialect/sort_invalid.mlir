// RUN: epl-opt %s -split-input-file -verify-diagnostics

// (C1) of epl.sort
func.func @sort() {
  // expected-error@+1 {{'epl.sort' op has no operands, expected at least one}}
  "epl.sort"() <{dim = 0 : i64}> ({
    epl.yield
  }) : () -> ()
  return
}

// -----

// (C1) of epl.sort
func.func @sort(%x: tensor<4x9xf32>, %y: tensor<4x8xi32>) {
  // expected-error@+1 {{'epl.sort' op operand 1 has type 'tensor<4x8xi32>', expected the shape of 'tensor<4x9xf32>'}}
  %0:2 = epl.sort %x, %y dim 0 : (tensor<4x9xf32>, tensor<4x8xi32>) -> (tensor<4x9xf32>, tensor<4x8xi32>) {
  ^bb0(%a: f32, %b: f32, %c: i32, %d: i32):
    %before = arith.cmpf olt, %a, %b : f32
    epl.yield %before : i1
  }
  return
}

// -----

// (C2) of epl.sort
func.func @sort(%x: tensor<4x9xf32>) {
  // expected-error@+1 {{'epl.sort' op sorts dimension 2 of operands of rank 2}}
  %0 = epl.sort %x dim 2 : (tensor<4x9xf32>) -> tensor<4x9xf32> {
  ^bb0(%a: f32, %b: f32):
    %before = arith.cmpf olt, %a, %b : f32
    epl.yield %before : i1
  }
  return
}

// -----

// (C2) of epl.sort
func.func @sort(%x: tensor<4x9xf32>) {
  // expected-error@+1 {{'epl.sort' op sorts dimension -1 of operands of rank 2}}
  %0 = epl.sort %x dim -1 : (tensor<4x9xf32>) -> tensor<4x9xf32> {
  ^bb0(%a: f32, %b: f32):
    %before = arith.cmpf olt, %a, %b : f32
    epl.yield %before : i1
  }
  return
}

// -----

// (C2) of epl.sort
func.func @sort(%x: tensor<f32>) {
  // expected-error@+1 {{'epl.sort' op sorts dimension 0 of operands of rank 0}}
  %0 = epl.sort %x dim 0 : (tensor<f32>) -> tensor<f32> {
  ^bb0(%a: f32, %b: f32):
    %before = arith.cmpf olt, %a, %b : f32
    epl.yield %before : i1
  }
  return
}

// -----

// (C3) of epl.sort
func.func @sort(%x: tensor<4x9xf32>) {
  // expected-error@+1 {{'epl.sort' op has 2 results, expected one for each of 1 operands}}
  %0:2 = epl.sort %x dim 0 : (tensor<4x9xf32>) -> (tensor<4x9xf32>, tensor<4x9xf32>) {
  ^bb0(%a: f32, %b: f32):
    %before = arith.cmpf olt, %a, %b : f32
    epl.yield %before : i1
  }
  return
}

// -----

// (C3) of epl.sort
func.func @sort(%x: tensor<4x9xf32>) {
  // expected-error@+1 {{'epl.sort' op result 0 has type 'tensor<4xf32>', expected rank 2}}
  %0 = epl.sort %x dim 0 : (tensor<4x9xf32>) -> tensor<4xf32> {
  ^bb0(%a: f32, %b: f32):
    %before = arith.cmpf olt, %a, %b : f32
    epl.yield %before : i1
  }
  return
}

// -----

// (C3) of epl.sort
func.func @sort(%x: tensor<4x9xf32>) {
  // expected-error@+1 {{'epl.sort' op results have 10 elements along dimension 1, expected at most 9}}
  %0 = epl.sort %x dim 1 : (tensor<4x9xf32>) -> tensor<4x10xf32> {
  ^bb0(%a: f32, %b: f32):
    %before = arith.cmpf olt, %a, %b : f32
    epl.yield %before : i1
  }
  return
}

// -----

// (C3) of epl.sort
func.func @sort(%x: tensor<4x9xf32>) {
  // expected-error@+1 {{'epl.sort' op result 0 has type 'tensor<3x9xf32>', expected 'tensor<4x9xf32>'}}
  %0 = epl.sort %x dim 1 : (tensor<4x9xf32>) -> tensor<3x9xf32> {
  ^bb0(%a: f32, %b: f32):
    %before = arith.cmpf olt, %a, %b : f32
    epl.yield %before : i1
  }
  return
}

// -----

// (C3) of epl.sort
func.func @sort(%x: tensor<4x9xf32>, %y: tensor<4x9xi32>) {
  // expected-error@+1 {{'epl.sort' op result 1 has type 'tensor<4x4xi32>', expected 'tensor<4x3xi32>'}}
  %0:2 = epl.sort %x, %y dim 1 : (tensor<4x9xf32>, tensor<4x9xi32>) -> (tensor<4x3xf32>, tensor<4x4xi32>) {
  ^bb0(%a: f32, %b: f32, %c: i32, %d: i32):
    %before = arith.cmpf olt, %a, %b : f32
    epl.yield %before : i1
  }
  return
}

// -----

// (C3) of epl.sort
func.func @sort(%x: tensor<4x9xf32>) {
  // expected-error@+1 {{'epl.sort' op result 0 has type 'tensor<4x9xi32>', expected 'tensor<4x9xf32>'}}
  %0 = epl.sort %x dim 1 : (tensor<4x9xf32>) -> tensor<4x9xi32> {
  ^bb0(%a: f32, %b: f32):
    %before = arith.cmpf olt, %a, %b : f32
    epl.yield %before : i1
  }
  return
}

// -----

// (C4) of epl.sort
func.func @sort(%x: tensor<4x9xf32>) {
  // expected-error@+1 {{'epl.sort' op comparator has arguments ('f32', 'f64'), expected ('f32', 'f32')}}
  %0 = epl.sort %x dim 1 : (tensor<4x9xf32>) -> tensor<4x9xf32> {
  ^bb0(%a: f32, %b: f64):
    %before = arith.constant true
    epl.yield %before : i1
  }
  return
}

// -----

// (C4) of epl.sort
func.func @sort(%x: tensor<4x9xf32>) {
  // expected-error@+1 {{'epl.sort' op comparator has arguments ('f32'), expected ('f32', 'f32')}}
  %0 = epl.sort %x dim 1 : (tensor<4x9xf32>) -> tensor<4x9xf32> {
  ^bb0(%a: f32):
    %before = arith.constant true
    epl.yield %before : i1
  }
  return
}

// -----

// (C5) of epl.sort
func.func @sort(%x: tensor<4x9xf32>) {
  // expected-error@+1 {{'epl.sort' op comparator yields ('f32'), expected (i1)}}
  %0 = epl.sort %x dim 1 : (tensor<4x9xf32>) -> tensor<4x9xf32> {
  ^bb0(%a: f32, %b: f32):
    epl.yield %a : f32
  }
  return
}

// -----

// (C5) of epl.sort
func.func @sort(%x: tensor<4x9xf32>) {
  // expected-error@+1 {{'epl.sort' op comparator yields (), expected (i1)}}
  %0 = epl.sort %x dim 1 : (tensor<4x9xf32>) -> tensor<4x9xf32> {
  ^bb0(%a: f32, %b: f32):
    epl.yield
  }
  return
}

// -----

// (C6) of epl.sort
func.func @sort(%x: tensor<4x9xf32>, %c: i1) {
  // expected-note@+1 {{required by region isolation constraints}}
  %0 = epl.sort %x dim 1 : (tensor<4x9xf32>) -> tensor<4x9xf32> {
  ^bb0(%a: f32, %b: f32):
    // expected-error@+1 {{'epl.yield' op using value defined outside the region}}
    epl.yield %c : i1
  }
  return
}

// -----

// (C6) of epl.sort
func.func @sort(%x: tensor<4x9xf32>) {
  %0 = epl.sort %x dim 1 : (tensor<4x9xf32>) -> tensor<4x9xf32> {
  ^bb0(%a: f32, %b: f32):
    // expected-error@+1 {{'memref.alloc' op in the comparator of a sort, expected ops of scalars without side effects}}
    %m = memref.alloc() : memref<4xf32>
    %before = arith.cmpf olt, %a, %b : f32
    epl.yield %before : i1
  }
  return
}

// -----

// (C6) of epl.sort
func.func @sort(%x: tensor<4x9xf32>) {
  %0 = epl.sort %x dim 1 : (tensor<4x9xf32>) -> tensor<4x9xf32> {
  ^bb0(%a: f32, %b: f32):
    // expected-error@+1 {{'tensor.from_elements' op in the comparator of a sort, expected ops of scalars without side effects}}
    %t = tensor.from_elements %a : tensor<1xf32>
    %before = arith.cmpf olt, %a, %b : f32
    epl.yield %before : i1
  }
  return
}
