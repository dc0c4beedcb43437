// RUN: epl-opt %s --split-input-file --verify-diagnostics

// (C1)
// expected-error@+1 {{'epl.mesh' op has two axes "data"}}
epl.mesh @mesh axes ["data"=2, "data"=4]

// -----

// (A1)
// expected-error@+1 {{axis "data" has size 0, expected at least 1}}
epl.mesh @mesh axes ["data"=0]

// -----

// (A1)
// expected-error@+1 {{axis has an empty name}}
epl.mesh @mesh axes [""=1]

// -----

// (C2)
// expected-error@+1 {{'epl.mesh' op has more than 2147483647 positions}}
epl.mesh @mesh axes ["data"=4294967296, "model"=4294967296]

// -----

// (C3)
// expected-error@+1 {{has 1 strides and first device 0, expected one stride for each of 2 axes and a device of at least 0}}
epl.mesh @mesh axes ["data"=2, "model"=2] first 0 strides [2]

// -----

// (C3)
// expected-error@+1 {{has 1 strides and first device -1, expected one stride}}
epl.mesh @mesh axes ["data"=2] first -1 strides [2]

// -----

// (C3)
// expected-error@+1 {{axis "data" has stride 0, expected 1 to 2147483647}}
epl.mesh @mesh axes ["data"=2] first 0 strides [0]

// -----

// (C3)
// expected-error@+1 {{has a device above 2147483647}}
epl.mesh @mesh axes ["data"=2] first 1 strides [2147483647]

// -----

// (C4)
// expected-error@+1 {{has an axis of stride 1, expected more than 1, which the axes of lower strides reach}}
epl.mesh @mesh axes ["data"=2, "model"=2] first 0 strides [1, 1]

// -----

// (C3)
// expected-error@+1 {{has "first" without "strides", expected both or neither}}
"epl.mesh"() <{sym_name = "mesh", axes = [#epl.axis<"data"=2>], first = 1 : i64}> : () -> ()

// -----

// (C3)
// expected-error@+1 {{has "strides" without "first", expected both or neither}}
"epl.mesh"() <{sym_name = "mesh", axes = [#epl.axis<"data"=2>], strides = array<i64: 1>}> : () -> ()

// -----

// expected-error@+1 {{role of an axis is "batch", expected "data", "model" or "none"}}
epl.mesh @mesh axes ["rows"=2 : batch]
