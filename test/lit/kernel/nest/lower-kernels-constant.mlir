// RUN: epl-opt %s --epl-lower-kernels | FileCheck %s

// A constant that is the result is read from the kernel's data, not from the buffer that it goes to.
// CHECK: memref.global "private" constant @[[DATA:.*]] : memref<3xf32> = dense<[0.000000e+00, 1.000000e+00, 0.000000e+00]>
// CHECK: func.func private @copy{{.*}}(%[[OUT:[a-z0-9]+]]: memref<3xf32>
// CHECK: %[[SOURCE:.*]] = memref.get_global @[[DATA]]
// CHECK: vector.maskedload %[[SOURCE]]
// CHECK: vector.maskedstore %[[OUT]]
epl.kernel @copy fusion {
  %c = arith.constant dense<[0.0, 1.0, 0.0]> : tensor<3xf32>
  epl.yield %c : tensor<3xf32>
}
