// The runtime's one exception type.
#ifndef EPL_RUNTIME_ERROR_H
#define EPL_RUNTIME_ERROR_H

#include <stdexcept>

namespace epl::runtime {

/// What went wrong, for the person who runs the plan: lower case, names the thing, says expected and found.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_ERROR_H
