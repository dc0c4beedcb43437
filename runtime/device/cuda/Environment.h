// Switches of the environment.
#ifndef EPL_RUNTIME_DEVICE_CUDA_ENVIRONMENT_H
#define EPL_RUNTIME_DEVICE_CUDA_ENVIRONMENT_H

#include "runtime/Error.h"

#include <cstdlib>
#include <string>
#include <string_view>

namespace epl::runtime::cuda {

/// Whether a variable is 1; throws Error if it is neither that nor 0 or empty.
inline bool isSwitchedOn(const std::string &name) {
  const char *variable = std::getenv(name.c_str());
  std::string_view value = variable ? variable : "";
  if (!value.empty() && value != "0" && value != "1")
    throw Error("the environment variable " + name + " is \"" + std::string(value) + "\", expected 0 or 1");
  return value == "1";
}

/// The number that a variable is; `otherwise` if it is not set. Throws Error if it is none, or 0.
inline long readNumber(const std::string &name, long otherwise) {
  const char *variable = std::getenv(name.c_str());
  if (!variable || !*variable)
    return otherwise;
  char *end = nullptr;
  long number = std::strtol(variable, &end, 10);
  if (*end || number <= 0)
    throw Error("the environment variable " + name + " is \"" + variable + "\", expected a number above 0");
  return number;
}

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_ENVIRONMENT_H
