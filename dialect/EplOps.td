//===- EplOps.td - Every op of the epl dialect ----------------------------===//

include "dialect/EplKernelOps.td"
