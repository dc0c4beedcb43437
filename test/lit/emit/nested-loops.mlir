// RUN: epl-compile %S/loops.mlir --devices=cpu:2 --micro-batches=4 --emit=local | FileCheck %s --check-prefix=LOCAL
// RUN: epl-compile %S/loops.mlir --devices=cpu:2 --micro-batches=4 -o %t.eplan && epl-plan dump %t.eplan | FileCheck %s --check-prefix=PLAN
// RUN: epl-compile %S/loops.mlir --reference -o %t.ref.eplan
// RUN: epl-run %t.eplan --inputs=random:7 --reference=%t.ref.eplan | FileCheck %s --check-prefix=EQUAL
// RUN: epl-compile %S/loops.mlir --devices=cpu:2 --micro-batches=4 --schedule=gpipe -o %t.eplan
// RUN: epl-run %t.eplan --inputs=random:7 --reference=%t.ref.eplan | FileCheck %s --check-prefix=EQUAL

// The loops of loops.mlir, over layers forwards and backwards, in each of four micro-batches. All of a loop stands
// together in that over micro-batches; the gradients of all layers are added up as one stack, and summed once.
// LOCAL: epl.loop_slice <2, trip_count = 4, micro_batches = true>
// LOCAL-DAG: epl.loop_carry <3, trip_count = 3 in <2, trip_count = 4, micro_batches = true>>
// LOCAL-DAG: epl.loop_slice <3, trip_count = 3 in <2, trip_count = 4, micro_batches = true>> %arg0
// LOCAL: epl.loop_last <3,
// LOCAL: epl.loop_stack <3,
// LOCAL-NOT: <3, trip_count
// LOCAL: epl.loop_slice <4, trip_count = 3 in <2, trip_count = 4, micro_batches = true>> reverse
// LOCAL: epl.loop_stack <4, {{.*}} reverse
// LOCAL-NOT: <4, trip_count
// LOCAL: %[[G:.*]] = epl.loop_last <2, trip_count = 4, micro_batches = true> 0
// LOCAL: epl.all_reduce

// Each micro-batch has the commands of all layers, forwards, then backwards with the gradients of parameters.
// PLAN-COUNT-36: _matmul" contract
// PLAN-NOT: _matmul" contract

// EQUAL-COUNT-2: equal
