//===- Machine.h - What the devices of a module can do ----------*- C++ -*-===//
//
// Passes weigh computing against moving, and one collective of many bytes against several of a few. What they
// need for that follows from the numbers of an #epl.machine, of which runtime/machine has tables by kind of
// device: here are the rules by which a few figures follow from these.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// The table of a kind, or null if there is none.
MachineAttr getMachineOfKind(MLIRContext *context, StringRef kind);

/// The machine of a mesh that has its own, or of the mesh of a function; else of the module that `op` is or
/// is in; the table of "cpu" where nothing is said.
MachineAttr getMachine(Operation *op);

/// The multiply-adds a second of elements of `type`, or of those of a tensor type.
int64_t getMultiplyAddsPerSecond(MachineAttr machine, Type type);

/// The link between the members of a mesh's axes: all of them are devices of one process yet.
LinkAttr getMeshLink(MachineAttr machine);

/// How many multiply-adds of f32 a device does in the time in which it gets a byte from another one.
double getMultiplyAddsPerByte(MachineAttr machine);

/// The bytes on a device up to which tensors are joined into one collective: what passes in the time of the
/// link's latency. Beyond that one more latency is less than half of the time, and what begins earlier can be
/// hidden behind computation.
int64_t getLargestBucketBytes(MachineAttr machine);

/// A tensor of at most so many bytes joins whatever there is already: moving it takes a thousandth of the
/// time that a collective of its own would wait.
int64_t getSmallBytes(MachineAttr machine);

/// What a sum costs beside the bytes that it moves, in bytes. Sums are joined afterwards, so that few of them
/// wait for themselves: a sixteenth of a small tensor, which makes fewer sums better than a few bytes less.
int64_t getBytesOfASum(MachineAttr machine);

} // namespace mlir::epl
