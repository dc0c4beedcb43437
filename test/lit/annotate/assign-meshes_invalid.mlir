// RUN: epl-opt %s --split-input-file --verify-diagnostics --epl-assign-meshes=devices=2
// RUN: not epl-opt %s --epl-assign-meshes=devices=0 2>&1 | FileCheck %s
// RUN: not epl-opt %s --epl-assign-meshes=devices=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// CHECK: error: mesh of 0 devices, expected at least 1
// NEGATIVE: error: mesh of -1 devices, expected at least 1

// expected-error@+1 {{symbol "mesh" is taken, expected it free for the mesh of the devices}}
func.func @mesh() {
  return
}

// -----

// expected-error@+1 {{split over 4 devices on 2, expected a number of devices that its device count divides}}
epl.taskgraph @tg0 strategy(<split, 4>)

// -----

// expected-error@+1 {{replicate over 3 devices on 2, expected a number of devices that its device count divides}}
epl.taskgraph @tg1 strategy(<replicate, 3>)

// -----

// expected-error@+3 {{2 task graphs over 3 devices on 2, expected a number of devices that the sum of their device counts divides, or cluster.colocate_split_and_replicate (--colocate), with which they share the devices}}
// expected-note@+2 {{"body": replicate over 1 devices}}
// expected-note@+2 {{split over 2 devices}}
epl.taskgraph @tg2 strategy(<replicate, 1>) name("body")
epl.taskgraph @tg3 strategy(<split, 2>)

// -----

// expected-error@+1 {{symbol "mesh1" is taken, expected it free for the mesh of the devices}}
func.func @mesh1() {
  return
}
epl.taskgraph @tg4 strategy(<replicate, 1>)
epl.taskgraph @tg5 strategy(<replicate, 1>)

// -----

// expected-error@+1 {{has 3 devices, expected 2}}
epl.mesh @own axes ["data"=3]
