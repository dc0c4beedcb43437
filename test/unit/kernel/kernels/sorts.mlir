// Sorts: by keys and by other comparators, in rows and across them, whole and the first elements only.

#rc = affine_map<(d0, d1) -> (d0, d1)>

epl.mesh @mesh axes ["data"=2, "model"=4]

// The order of all floats: NaN behind infinity, or in front of its negative.
epl.kernel @floats fusion {
^bb0(%x: tensor<$Rx$Cxf32>):
  %y = epl.sort %x dim 1 : (tensor<$Rx$Cxf32>) -> tensor<$Rx$Cxf32> {
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
    %before = arith.cmpi slt, %ik, %jk : i32
    epl.yield %before : i1
  }
  epl.yield %y : tensor<$Rx$Cxf32>
}

// Equal integers keep their order, which their places, computed here, tell; columns are sorted.
epl.kernel @places fusion {
^bb0(%x: tensor<$Rx$Cxi32>):
  %axis = epl.axis_index @mesh "model"
  %e = tensor.empty() : tensor<$Rx$Cxi64>
  %places = linalg.generic {indexing_maps = [#rc], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<$Rx$Cxi64>) {
  ^bb0(%out: i64):
    %i = linalg.index 0 : index
    %k = arith.addi %i, %axis : index
    %q = arith.index_cast %k : index to i64
    linalg.yield %q : i64
  } -> tensor<$Rx$Cxi64>
  %y:2 = epl.sort %x, %places dim 0 : (tensor<$Rx$Cxi32>, tensor<$Rx$Cxi64>) -> (tensor<$Rx$Cxi32>, tensor<$Rx$Cxi64>) {
  ^bb0(%a: i32, %b: i32, %i: i64, %j: i64):
    %before = arith.cmpi sgt, %a, %b : i32
    epl.yield %before : i1
  }
  epl.yield %y#1 : tensor<$Rx$Cxi64>
}

// Two keys, and two types that only move along.
epl.kernel @several fusion {
^bb0(%x: tensor<$Rx$Cxi1>, %y: tensor<$Rx$Cxi32>, %z: tensor<$Rx$Cxbf16>, %w: tensor<$Rx$Cxi64>):
  %s:4 = epl.sort %x, %y, %z, %w dim 1
      : (tensor<$Rx$Cxi1>, tensor<$Rx$Cxi32>, tensor<$Rx$Cxbf16>, tensor<$Rx$Cxi64>)
      -> (tensor<$Rx$Cxi1>, tensor<$Rx$Cxi32>, tensor<$Rx$Cxbf16>, tensor<$Rx$Cxi64>) {
  ^bb0(%a: i1, %b: i1, %c: i32, %d: i32, %e: bf16, %f: bf16, %g: i64, %h: i64):
    %first = arith.cmpi ult, %a, %b : i1
    %same = arith.cmpi eq, %a, %b : i1
    %second = arith.cmpi slt, %c, %d : i32
    %both = arith.andi %same, %second : i1
    %before = arith.ori %first, %both : i1
    epl.yield %before : i1
  }
  epl.yield %s#0, %s#2, %s#3 : tensor<$Rx$Cxi1>, tensor<$Rx$Cxbf16>, tensor<$Rx$Cxi64>
}

// The key of the right side comes first in the comparison; narrow floats.
epl.kernel @descending fusion {
^bb0(%x: tensor<3x$Rx$Cxbf16>, %y: tensor<3x$Rx$Cxf32>):
  %s:2 = epl.sort %x, %y dim 1 : (tensor<3x$Rx$Cxbf16>, tensor<3x$Rx$Cxf32>) -> (tensor<3x$Rx$Cxbf16>, tensor<3x$Rx$Cxf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32, %d: f32):
    %i = arith.bitcast %a : bf16 to i16
    %j = arith.bitcast %b : bf16 to i16
    %mask = arith.constant 3 : i16
    %ik = arith.andi %i, %mask : i16
    %jk = arith.andi %j, %mask : i16
    %before = arith.cmpi ult, %jk, %ik : i16
    epl.yield %before : i1
  }
  epl.yield %s#0, %s#1 : tensor<3x$Rx$Cxbf16>, tensor<3x$Rx$Cxf32>
}

// Few of some, with many equal ones.
epl.kernel @first fusion {
^bb0(%x: tensor<$Rx$Dxi32>, %y: tensor<$Rx$Dxf64>):
  %s:2 = epl.sort %x, %y dim 1 : (tensor<$Rx$Dxi32>, tensor<$Rx$Dxf64>) -> (tensor<$Rx3xi32>, tensor<$Rx3xf64>) {
  ^bb0(%a: i32, %b: i32, %c: f64, %d: f64):
    %before = arith.cmpi ugt, %a, %b : i32
    epl.yield %before : i1
  }
  epl.yield %s#0, %s#1 : tensor<$Rx3xi32>, tensor<$Rx3xf64>
}

// Few of many, by two keys that an elementwise op makes; what is compared is not asked for.
epl.kernel @first_across fusion {
^bb0(%x: tensor<210x$Cxf64>, %y: tensor<210x$Cxi32>):
  %e = tensor.empty() : tensor<210x$Cxi32>
  %keys = linalg.generic {indexing_maps = [#rc, #rc], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<210x$Cxi32>) outs(%e : tensor<210x$Cxi32>) {
  ^bb0(%in: i32, %out: i32):
    %i = linalg.index 0 : index
    %k = arith.index_cast %i : index to i32
    %q = arith.muli %in, %k : i32
    linalg.yield %q : i32
  } -> tensor<210x$Cxi32>
  %s:3 = epl.sort %keys, %y, %x dim 0 : (tensor<210x$Cxi32>, tensor<210x$Cxi32>, tensor<210x$Cxf64>)
      -> (tensor<20x$Cxi32>, tensor<20x$Cxi32>, tensor<20x$Cxf64>) {
  ^bb0(%a: i32, %b: i32, %c: i32, %d: i32, %f: f64, %g: f64):
    %first = arith.cmpi slt, %a, %b : i32
    %same = arith.cmpi eq, %a, %b : i32
    %second = arith.cmpi slt, %c, %d : i32
    %both = arith.andi %same, %second : i1
    %before = arith.ori %first, %both : i1
    epl.yield %before : i1
  }
  epl.yield %s#2 : tensor<20x$Cxf64>
}
