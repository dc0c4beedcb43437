// What an action throws.
#ifndef EPL_TEST_UNIT_SERVERS_ERROROF_H
#define EPL_TEST_UNIT_SERVERS_ERROROF_H

#include "runtime/Error.h"

#include <string>

namespace epl::runtime::servers::test {

/// The text of the Error that an action throws; "no error" if it throws none.
template <typename Action> std::string errorOf(const Action &action) {
  try {
    action();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

} // namespace epl::runtime::servers::test

#endif // EPL_TEST_UNIT_SERVERS_ERROROF_H
