// RUN: epl-opt %s --split-input-file --verify-diagnostics --epl-assign-meshes=devices=2

// expected-error@+1 {{'epl.mesh' op and 1 others have 3 devices, expected 2}}
epl.mesh @mesh0 axes ["data"=1] first 0 strides [1]
epl.mesh @mesh1 axes ["data"=2] first 1 strides [1]
epl.taskgraph @tg6 strategy(<replicate, 1>) name("mesh0")

// -----

epl.mesh @mesh0 axes ["data"=1] first 0 strides [1]
epl.mesh @mesh1 axes ["data"=1] first 1 strides [1]
// expected-error@+1 {{scope "body" has the name of none of the 2 meshes that the module brings}}
epl.taskgraph @tg7 strategy(<replicate, 1>) name("body")
