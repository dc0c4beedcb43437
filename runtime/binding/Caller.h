// Calls of a session with the front end's arrays.
#ifndef EPL_RUNTIME_BINDING_CALLER_H
#define EPL_RUNTIME_BINDING_CALLER_H

#include "runtime/binding/Leaves.h"

namespace epl::runtime::binding {

/// A session that is called with leaves and gives the front end's arrays.
class Caller {
public:
  /// What a result becomes: of one that stays on the devices the front end's array of that dtype and shape,
  /// else what `make` gives for a NumPy array; `wrap`, if it is not None, makes a key of that. No result with
  /// a `make` of None comes as a NumPy array.
  struct Form {
    nanobind::object make, wrap, dtype, shape;
  };

  /// `session`, `leaves` and `arrayType` are Python's objects. `forms` has one for each result, `hidden` the
  /// last arguments, which the caller does not pass. `name` is for messages.
  Caller(nanobind::object session, nanobind::object leaves, nanobind::object arrayType,
         std::vector<Form> forms, std::vector<std::shared_ptr<StateBuffer>> hidden, std::string name);

  /// Runs a step: queues it, and waits for it if a result is no array of the front end, or if it pulls or
  /// pushes. `leaves` are the arguments that are not pulled; `donate`: whether it consumes the states;
  /// `outside`: where it pulls and pushes, else null.
  ///
  /// On Ctrl-C the step runs to its end, and the arrays that it consumed hold the updated state: without the
  /// results, the caller would have neither.
  nanobind::list call(const nanobind::list &leaves, bool donate,
                      const std::shared_ptr<Outside> &outside = nullptr);

private:
  void await(const std::vector<nanobind::handle> &leaves, const Outcome &outcome) const;
  std::vector<nanobind::handle> bySlot(const nanobind::list &leaves) const;
  nanobind::object resultOf(size_t index, const Result &result) const;

  nanobind::object sessionObject, leavesObject, arrayType;
  Session &session;
  const Leaves &reader;
  std::vector<Form> forms;
  std::vector<std::shared_ptr<StateBuffer>> hidden;
  std::string name;
  std::vector<bool> states, none; // donation flags
  std::vector<bool> pulled;       // of each argument
  size_t numGiven = 0;            // arguments that are not
  bool waits;
};

} // namespace epl::runtime::binding

#endif // EPL_RUNTIME_BINDING_CALLER_H
