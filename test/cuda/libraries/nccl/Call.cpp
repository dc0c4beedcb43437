//===- Call.cpp - What members ask for ------------------------------------===//

#include "test/cuda/libraries/nccl/Call.h"

using namespace nccl_double;

static const struct {
  const char *name;
  size_t size;
} kTypes[] = {{"i8", 1},  {"u8", 1},  {"i32", 4}, {"u32", 4}, {"i64", 8},
              {"u64", 8}, {"f16", 2}, {"f32", 4}, {"f64", 8}, {"bf16", 2}};

size_t nccl_double::sizeOf(DataType type) { return kTypes[static_cast<size_t>(type)].size; }

std::string nccl_double::describe(const Content &content) {
  return std::to_string(content.count) + " " + kTypes[static_cast<size_t>(content.type)].name;
}

std::string nccl_double::describe(const Call &call) {
  static const char *const kinds[] = {"all-reduce", "reduce", "broadcast", "all-gather", "reduce-scatter"};
  static const char *const reductions[] = {" (sum)", " (prod)", " (max)", " (min)"};
  std::string text = kinds[static_cast<size_t>(call.kind)];
  text += " of " + describe(Content{call.type, call.count});
  if (call.kind == Kind::broadcast)
    return text + " of member " + std::to_string(call.root);
  if (call.kind != Kind::allGather)
    text += reductions[static_cast<size_t>(call.reduction)];
  return call.kind == Kind::reduce ? text + " to member " + std::to_string(call.root) : text;
}
