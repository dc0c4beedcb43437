// RUN: epl-opt %s --split-input-file --epl-flatten-scopes | FileCheck %s

// A loop in no scope is one work: it goes where most of what it reads is made, and so does a loop that reads
// what its iterations have stacked. Its first operand alone would have it elsewhere.

// CHECK-LABEL: func.func @unmarked
// CHECK: tg0 = #epl.scope<replicate, 1, "small">, tg1 = #epl.scope<replicate, 1, "large">
// CHECK: epl.loop_carry {{.*}}epl.work = #epl.work<@tg1, forward>
// CHECK-NEXT: epl.loop_slice {{.*}}#epl.work<@tg1
// CHECK-NEXT: arith.addf {{.*}}#epl.work<@tg1
// CHECK-NEXT: math.sin {{.*}}#epl.work<@tg1
// CHECK-NEXT: epl.loop_last {{.*}}#epl.work<@tg1
// CHECK-NEXT: epl.loop_stack {{.*}}#epl.work<@tg1
// CHECK-NEXT: epl.loop_carry {{.*}}#epl.work<@tg1
// CHECK-NEXT: epl.loop_slice {{.*}}#epl.work<@tg1
// CHECK-NEXT: arith.mulf {{.*}}#epl.work<@tg1
// CHECK-NEXT: epl.loop_last {{.*}}#epl.work<@tg1
func.func @unmarked(%x: tensor<4xf32>, %y: tensor<3x4xf32>) -> tensor<4xf32> {
  %0 = epl.replicate name("small") -> tensor<4xf32> {
    %1 = math.tanh %x : tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  %2 = epl.replicate name("large") -> tensor<3x4xf32> {
    %1 = math.tanh %y : tensor<3x4xf32>
    epl.yield %1 : tensor<3x4xf32>
  }
  %3 = epl.loop_carry <0, trip_count = 3> 0 %0 : tensor<4xf32> -> tensor<4xf32>
  %4 = epl.loop_slice <0, trip_count = 3> %2 : tensor<3x4xf32> -> tensor<4xf32>
  %5 = arith.addf %3, %0 : tensor<4xf32>
  %6 = math.sin %4 : tensor<4xf32>
  %7 = epl.loop_last <0, trip_count = 3> 0 %5 : tensor<4xf32>
  %8 = epl.loop_stack <0, trip_count = 3> %6 : tensor<4xf32> -> tensor<3x4xf32>
  %9 = epl.loop_carry <1, trip_count = 3> 0 %7 : tensor<4xf32> -> tensor<4xf32>
  %10 = epl.loop_slice <1, trip_count = 3> reverse %8 : tensor<3x4xf32> -> tensor<4xf32>
  %11 = arith.mulf %9, %10 : tensor<4xf32>
  %12 = epl.loop_last <1, trip_count = 3> 0 %11 : tensor<4xf32>
  return %12 : tensor<4xf32>
}

// -----

// What no scope marks in iterations of which one marks some belongs to that, whatever it reads.

// CHECK-LABEL: func.func @marked
// CHECK: math.tanh {{.*}}#epl.work<@tg0
// CHECK-NEXT: epl.loop_carry {{.*}}#epl.work<@tg1
// CHECK-NEXT: arith.addf {{.*}}#epl.work<@tg1
// CHECK-NEXT: math.sin {{.*}}#epl.work<@tg1
// CHECK-NEXT: arith.mulf {{.*}}#epl.work<@tg1
// CHECK-NEXT: math.absf {{.*}}#epl.work<@tg1
// CHECK-NEXT: epl.loop_last {{.*}}#epl.work<@tg1
func.func @marked(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = epl.replicate name("a") -> tensor<4xf32> {
    %1 = math.tanh %x : tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  %2 = epl.loop_carry <0, trip_count = 3> 0 %x : tensor<4xf32> -> tensor<4xf32>
  %3 = arith.addf %2, %0 : tensor<4xf32>
  %4 = epl.replicate name("b") -> tensor<4xf32> {
    %1 = math.sin %3 : tensor<4xf32>
    epl.yield %1 : tensor<4xf32>
  }
  %5 = arith.mulf %4, %0 : tensor<4xf32>
  %6 = math.absf %5 : tensor<4xf32>
  %7 = epl.loop_last <0, trip_count = 3> 0 %6 : tensor<4xf32>
  return %7 : tensor<4xf32>
}

// -----

// Of a loop in which the tracer marks some as gradients, the rest is backward work, too; without any marks data flow
// says the kind of each op.

// CHECK-LABEL: func.func @kinds
// CHECK: math.tanh {{.*}}#epl.work<@tg0, backward>
// CHECK-NEXT: epl.loop_carry {{.*}}#epl.work<@tg0, backward>
// CHECK-NEXT: arith.addf {{.*}}#epl.work<@tg0, backward>
// CHECK-NEXT: math.sin {{.*}}#epl.work<@tg0, backward>
// CHECK-NEXT: epl.loop_last {{.*}}#epl.work<@tg0, backward>
// CHECK-NEXT: epl.loop_carry {{.*}}#epl.work<@tg0, apply>
// CHECK-NEXT: arith.mulf {{.*}}#epl.work<@tg0, apply>
// CHECK-NEXT: epl.loop_last {{.*}}#epl.work<@tg0, apply>
func.func @kinds(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = math.tanh %x : tensor<4xf32> loc("jit(step)/transpose(jvp(f))/tanh")
  %1 = epl.loop_carry <0, trip_count = 3> 0 %x : tensor<4xf32> -> tensor<4xf32>
  %2 = arith.addf %1, %0 : tensor<4xf32>
  %3 = math.sin %2 : tensor<4xf32> loc("jit(step)/transpose(jvp(f))/sin")
  %4 = epl.loop_last <0, trip_count = 3> 0 %3 : tensor<4xf32>
  %5 = epl.loop_carry <1, trip_count = 3> 0 %4 : tensor<4xf32> -> tensor<4xf32>
  %6 = arith.mulf %5, %x : tensor<4xf32>
  %7 = epl.loop_last <1, trip_count = 3> 0 %6 : tensor<4xf32>
  return %7 : tensor<4xf32>
}
