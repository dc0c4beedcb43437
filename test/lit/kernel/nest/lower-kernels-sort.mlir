// RUN: epl-opt %s --epl-lower-kernels=cpu=x86-64-v4 | FileCheck %s
// RUN: epl-opt %s --epl-lower-kernels="cpu=x86-64-v4 loops" | FileCheck %s --check-prefix=LOOPS

// A slice is a block of rows, of which there are at most eight, and has a workspace of its own: two copies of 40
// keys and as many values, and the ranks of 16. The key, the order of floats as integers, is computed once for
// each element. Of four runs each is sorted in a register; two levels of merges follow, from both ends.
// CHECK: epl.kernel @keys fusion
// CHECK: extent = 8 : i64, flops = 21600 : i64, form = "sort", workspace = 5632 : i64
// CHECK-LABEL: func.func private @keys.body
// CHECK: scf.for
// CHECK: arith.subi %c2147483647_i32
// CHECK-NOT: arith.subi %c2147483647_i32
// CHECK: vector.maskedload {{.*}} into vector<16xi32>
// CHECK: vector.store {{.*}} vector<16xi32>
// CHECK: scf.for {{.*}} -> (index, index, index, index)
// CHECK-COUNT-2: arith.cmpi sgt
// The reference compares what there is, one element after the other.
// LOOPS: epl.kernel @keys fusion
// LOOPS: extent = 1 : i64, flops = 21600 : i64, form = "general"
// LOOPS-LABEL: func.func private @keys.body
// LOOPS-NOT: vector
// LOOPS: arith.bitcast
// LOOPS: arith.bitcast
epl.kernel @keys fusion {
^bb0(%x: tensor<10x40xf32>):
  %y = epl.sort %x dim 1 : (tensor<10x40xf32>) -> tensor<10x40xf32> {
  ^bb0(%a: f32, %b: f32):
    %zero = arith.constant 0 : i32
    %max = arith.constant 2147483647 : i32
    %i = arith.bitcast %a : f32 to i32
    %in = arith.cmpi slt, %i, %zero : i32
    %if = arith.subi %max, %i : i32
    %ik = arith.select %in, %if, %i : i32
    %j = arith.bitcast %b : f32 to i32
    %jn = arith.cmpi slt, %j, %zero : i32
    %jf = arith.subi %max, %j : i32
    %jk = arith.select %jn, %jf, %j : i32
    %before = arith.cmpi sgt, %ik, %jk : i32
    epl.yield %before : i1
  }
  epl.yield %y : tensor<10x40xf32>
}

// Two keys cannot be one; a short row is one run, sorted by insertion.
// CHECK: epl.kernel @insertion fusion
// CHECK: form = "sort"
// CHECK-LABEL: func.func private @insertion.body
// CHECK-NOT: vector
// CHECK: scf.while
// CHECK: arith.cmpi eq
// CHECK: scf.condition
epl.kernel @insertion fusion {
^bb0(%x: tensor<4x9xi32>, %y: tensor<4x9xi32>):
  %s:2 = epl.sort %x, %y dim 0 : (tensor<4x9xi32>, tensor<4x9xi32>) -> (tensor<4x9xi32>, tensor<4x9xi32>) {
  ^bb0(%a: i32, %b: i32, %c: i32, %d: i32):
    %first = arith.cmpi slt, %a, %b : i32
    %same = arith.cmpi eq, %a, %b : i32
    %second = arith.cmpi slt, %c, %d : i32
    %both = arith.andi %same, %second : i1
    %before = arith.ori %first, %both : i1
    epl.yield %before : i1
  }
  epl.yield %s#1 : tensor<4x9xi32>
}

// Three of a hundred: room for 19 is filled, then the rest is scanned. The place of an element is computed only
// when it is kept, and no tensor of places exists. What is compared is not stored twice.
// CHECK: epl.kernel @first fusion
// CHECK: form = "sort", workspace = 2944 : i64
// CHECK-LABEL: func.func private @first.body
// CHECK: scf.for {{.*}} to %c19
// CHECK: scf.while
// CHECK: scf.while
// CHECK: arith.cmpi sgt
// CHECK-NEXT: scf.if
// CHECK: arith.index_cast
// LOOPS: epl.kernel @first fusion
// LOOPS: form = "general"
epl.kernel @first fusion {
^bb0(%x: tensor<8x100xi32>):
  %e = tensor.empty() : tensor<8x100xi32>
  %places = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<8x100xi32>) {
  ^bb0(%out: i32):
    %i = linalg.index 1 : index
    %q = arith.index_cast %i : index to i32
    linalg.yield %q : i32
  } -> tensor<8x100xi32>
  %y:2 = epl.sort %x, %places dim 1 : (tensor<8x100xi32>, tensor<8x100xi32>) -> (tensor<8x3xi32>, tensor<8x3xi32>) {
  ^bb0(%a: i32, %b: i32, %c: i32, %d: i32):
    %before = arith.cmpi sgt, %a, %b : i32
    epl.yield %before : i1
  }
  epl.yield %y#0, %y#1 : tensor<8x3xi32>, tensor<8x3xi32>
}

// What is taken out of a tensor is left to the general form, and so is what is empty.
// CHECK: epl.kernel @scalar fusion
// CHECK: form = "general"
epl.kernel @scalar fusion {
^bb0(%x: tensor<7xf64>):
  %c2 = arith.constant 2 : index
  %s = tensor.extract %x[%c2] : tensor<7xf64>
  %all = tensor.splat %s : tensor<5xf64>
  %y = epl.sort %all dim 0 : (tensor<5xf64>) -> tensor<5xf64> {
  ^bb0(%a: f64, %b: f64):
    %before = arith.cmpf olt, %a, %b : f64
    epl.yield %before : i1
  }
  epl.yield %y : tensor<5xf64>
}

// CHECK: epl.kernel @empty fusion
// CHECK: form = "general"
epl.kernel @empty fusion {
^bb0(%x: tensor<7x0xf64>):
  %y = epl.sort %x dim 1 : (tensor<7x0xf64>) -> tensor<7x0xf64> {
  ^bb0(%a: f64, %b: f64):
    %before = arith.cmpf olt, %a, %b : f64
    epl.yield %before : i1
  }
  epl.yield %y : tensor<7x0xf64>
}
