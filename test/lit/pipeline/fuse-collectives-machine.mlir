// RUN: epl-opt %s -split-input-file -epl-fuse-collectives | FileCheck %s

// How much is joined follows from the link between the devices: what it moves in the time of its latency. Three sums
// of 4 KiB each.

!whole = !epl.dist<tensor<1024xf32>, <@mesh, [{}]>>
!pending = !epl.dist<tensor<1024xf32>, <@mesh, [{}], partial = sum{"data"}>>

// 10^9 bytes a second for 10 us: 10,000 bytes, in which two of them find room.
// CHECK: module attributes
// CHECK: epl.all_reduce %arg0, %arg1 :
// CHECK: epl.all_reduce %arg2 :
module attributes {epl.machine = #epl.machine<kind = "cpu", compute = <f64 = 1, f32 = 1, f16 = 1>,
    memory = <bytes = 1, bytes_per_second = 1, latency_ns = 1>,
    within_process = <bytes_per_second = 1000000000, latency_ns = 10000>,
    between_processes = <bytes_per_second = 1, latency_ns = 1>, between_nodes = <bytes_per_second = 1, latency_ns = 1>>} {
  epl.mesh @mesh axes ["data"=2]
  func.func @small_latency(%a: !pending, %b: !pending, %c: !pending) -> (!whole, !whole, !whole) {
    %0 = epl.all_reduce %a : !pending -> !whole
    %1 = epl.all_reduce %b : !pending -> !whole
    %2 = epl.all_reduce %c : !pending -> !whole
    return %0, %1, %2 : !whole, !whole, !whole
  }
}

// -----

!whole = !epl.dist<tensor<1024xf32>, <@mesh, [{}]>>
!pending = !epl.dist<tensor<1024xf32>, <@mesh, [{}], partial = sum{"data"}>>

// Ten times the latency: all of them.
// CHECK: module attributes
// CHECK: epl.all_reduce %arg0, %arg1, %arg2 :
module attributes {epl.machine = #epl.machine<kind = "cpu", compute = <f64 = 1, f32 = 1, f16 = 1>,
    memory = <bytes = 1, bytes_per_second = 1, latency_ns = 1>,
    within_process = <bytes_per_second = 1000000000, latency_ns = 100000>,
    between_processes = <bytes_per_second = 1, latency_ns = 1>, between_nodes = <bytes_per_second = 1, latency_ns = 1>>} {
  epl.mesh @mesh axes ["data"=2]
  func.func @large_latency(%a: !pending, %b: !pending, %c: !pending) -> (!whole, !whole, !whole) {
    %0 = epl.all_reduce %a : !pending -> !whole
    %1 = epl.all_reduce %b : !pending -> !whole
    %2 = epl.all_reduce %c : !pending -> !whole
    return %0, %1, %2 : !whole, !whole, !whole
  }
}
