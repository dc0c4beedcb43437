// RUN: epl-opt %s --epl-codegen-cpu=threads=1 | FileCheck %s
// RUN: epl-opt %s --epl-codegen-gpu=threads=1 | FileCheck %s --check-prefix=GPU

// Nests that are the same code, of kernels that are not there: nobody is told where the code is.

// CHECK: epl.binary elf(
// GPU: epl.binary ptx("sm_80")
// GPU-SAME: .visible .entry a(
func.func private @a.body(%x: memref<2xf32>, %w: memref<0xi8>, %axes: memref<1xi64>, %b: i64, %e: i64) attributes {epl.kernel = @nowhere} {
  return
}
func.func private @b.body(%x: memref<3xf32>, %w: memref<0xi8>, %axes: memref<1xi64>, %b: i64, %e: i64) attributes {epl.kernel = @nowhere} {
  return
}
