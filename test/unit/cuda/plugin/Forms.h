// What we say of a library beside its own headers.
#ifndef EPL_TEST_UNIT_CUDA_PLUGIN_FORMS_H
#define EPL_TEST_UNIT_CUDA_PLUGIN_FORMS_H

#include <type_traits>

template <typename Ours, typename Theirs> constexpr bool areEqual(Ours ours, Theirs theirs) {
  return sizeof(ours) == sizeof(theirs) && int(ours) == int(theirs);
}

// Handles and enumerators are passed like ours: a function has as many parameters, each of the same size and
// kind.
template <typename Ours, typename Theirs>
constexpr bool isPassedAlike =
    sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
    std::is_class_v<Ours> == std::is_class_v<Theirs>;
/// A function without a result is like one whose result is an int.
template <typename Result> using Returned = std::conditional_t<std::is_void_v<Result>, int, Result>;
template <typename Ours, typename Theirs> struct HaveOneForm : std::false_type {};
template <typename R, typename... Ours, typename S, typename... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
struct HaveOneForm<R(Ours...), S(Theirs...)>
    : std::bool_constant<isPassedAlike<Returned<R>, Returned<S>> && (isPassedAlike<Ours, Theirs> && ...)> {};

#endif // EPL_TEST_UNIT_CUDA_PLUGIN_FORMS_H
