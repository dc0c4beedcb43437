// Arguments and results of hand-written plans.
#ifndef EPL_TEST_UNIT_SESSION_TENSORS_H
#define EPL_TEST_UNIT_SESSION_TENSORS_H

#include "runtime/session/Session.h"
#include "test/unit/executor/TestPlan.h"

namespace epl::runtime::test {

/// A tensor of the host with these elements.
template <typename T>
HostTensor tensor(plan::ElementType type, std::vector<int64_t> shape, const std::vector<T> &values) {
  HostTensor result = HostTensor::allocate({type, std::move(shape)});
  std::copy(values.begin(), values.end(), reinterpret_cast<T *>(result.data));
  return result;
}
inline HostTensor integers(const std::vector<int64_t> &values) {
  return tensor(plan::ElementType::i64, {int64_t(values.size())}, values);
}

/// The elements of a tensor.
template <typename T> std::vector<T> elements(const HostTensor &tensor) {
  const T *begin = reinterpret_cast<const T *>(tensor.data);
  return {begin, begin + tensor.type.bytes() / sizeof(T)};
}

/// The elements of a result, after waiting.
template <typename T> std::vector<T> elements(const Result &result) {
  if (const auto *state = std::get_if<std::shared_ptr<StateBuffer>>(&result))
    return elements<T>((*state)->toHost());
  return elements<T>(std::get<std::shared_ptr<HostResult>>(result)->get());
}

} // namespace epl::runtime::test

#endif // EPL_TEST_UNIT_SESSION_TENSORS_H
