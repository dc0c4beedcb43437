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
