// The runtime's exception types.
#ifndef EPL_RUNTIME_ERROR_H
#define EPL_RUNTIME_ERROR_H

#include <stdexcept>

namespace epl::runtime {

/// What went wrong, for the person who runs the plan: lower case, names the thing, says expected and found.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// There is no driver for the devices of a plan.
class NoDriverError : public Error {
public:
  using Error::Error;
};

/// A state is used after a call has consumed it.
class DonatedError : public Error {
public:
  using Error::Error;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_ERROR_H
