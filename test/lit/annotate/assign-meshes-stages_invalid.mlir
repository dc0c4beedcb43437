// RUN: epl-opt %s --epl-assign-meshes="devices=6 num-stages=2" --verify-diagnostics

// expected-note@+1 {{"a": replicate over 1 devices}}
epl.taskgraph @tg0 strategy(<replicate, 1>) name("a")
epl.taskgraph @tg1 strategy(<replicate, 1>)
// expected-error@+2 {{stages of one mesh ask for different devices, expected the same of all}}
// expected-note@+1 {{split over 2 devices}}
epl.taskgraph @tg2 strategy(<split, 2>)
epl.taskgraph @tg3 strategy(<replicate, 1>)
