// RUN: epl-opt %s --epl-codegen-cpu=cpu=z80 -split-input-file -verify-diagnostics

// expected-error @+1 {{unknown CPU "z80" (--cpu or EPL_CPU), expected host, a level}}
module {
}
