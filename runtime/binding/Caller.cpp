#include "runtime/binding/Caller.h"

#include "runtime/Error.h"
#include "runtime/binding/Arrays.h"
#include "runtime/binding/Waiting.h"

#include <algorithm>
#include <nanobind/stl/shared_ptr.h>

namespace epl::runtime::binding {

namespace nb = nanobind;

Caller::Caller(nb::object sessionObject, nb::object leavesObject, nb::object arrayType,
               std::vector<Form> resultForms, std::vector<std::shared_ptr<StateBuffer>> hiddenArguments,
               std::string name)
    : sessionObject(std::move(sessionObject)), leavesObject(std::move(leavesObject)),
      arrayType(std::move(arrayType)), session(nb::cast<Session &>(this->sessionObject)),
      reader(nb::cast<const Leaves &>(this->leavesObject)), forms(std::move(resultForms)),
      hidden(std::move(hiddenArguments)), name(std::move(name)), none(session.numArguments()),
      waits(std::any_of(forms.begin(), forms.end(), [](const Form &form) { return !form.make.is_none(); })) {
  for (size_t slot = 0; slot < session.numArguments(); ++slot) {
    states.push_back(session.plan().slots[slot]->role == plan::SlotRole::state);
    pulled.push_back(session.plan().slots[slot]->role == plan::SlotRole::pulled);
    numGiven += !pulled.back();
  }
}

/// The leaf for each argument; null for those that are pulled, and for hidden ones.
std::vector<nb::handle> Caller::bySlot(const nb::list &leaves) const {
  std::vector<nb::handle> found(pulled.size());
  size_t next = 0;
  for (size_t slot = 0; slot < found.size() && next < leaves.size(); ++slot)
    if (!pulled[slot])
      found[slot] = leaves[next++];
  return found;
}

nb::list Caller::call(const nb::list &given, bool donate, const std::shared_ptr<Outside> &outside) {
  if (given.size() + hidden.size() != numGiven)
    throw Error(name + " takes " + std::to_string(numGiven - hidden.size()) + " arguments, found " +
                std::to_string(given.size()));
  std::vector<nb::handle> leaves = bySlot(given);
  std::vector<Argument> arguments;
  arguments.reserve(session.numArguments());
  auto next = hidden.begin();
  for (size_t slot = 0; slot < leaves.size(); ++slot)
    if (pulled[slot])
      arguments.emplace_back(Pulled());
    else if (leaves[slot].is_valid())
      arguments.push_back(reader.argument(leaves[slot], *session.plan().slots[slot]));
    else
      arguments.emplace_back(*next++);
  {
    nb::gil_scoped_release unlocked;
    session.awaitRoom();
  }
  bool isAwaited = waits || outside;
  Outcome outcome = session.call(arguments, donate ? states : none, name, isAwaited, outside);
  if (isAwaited)
    await(leaves, outcome);
  nb::list results;
  for (size_t index = 0; index < outcome.results.size(); ++index)
    results.append(resultOf(index, outcome.results[index]));
  return results;
}

void Caller::await(const std::vector<nb::handle> &leaves, const Outcome &outcome) const {
  try {
    waitFor(outcome.call);
  } catch (nb::python_error &) {
    for (size_t index = 0; index < outcome.results.size(); ++index) {
      int32_t slot = session.plan().slots[session.numArguments() + index]->updates;
      if (slot < 0 || !leaves[size_t(slot)].is_valid())
        continue;
      nb::object array = reader.ownArray(leaves[size_t(slot)]);
      if (array.is_valid() && nb::cast<StateBuffer &>(array.attr("buffer")).isDonated())
        array.attr("buffer") = std::get<std::shared_ptr<StateBuffer>>(outcome.results[index]);
    }
    throw;
  }
}

nb::object Caller::resultOf(size_t index, const Result &result) const {
  const Form &form = forms[index];
  nb::object array;
  if (const auto *host = std::get_if<std::shared_ptr<HostResult>>(&result)) {
    array = form.make(toNumpy((*host)->get(), true));
  } else {
    nb::object buffer = nb::cast(std::get<std::shared_ptr<StateBuffer>>(result));
    PyObject *arguments[] = {buffer.ptr(), form.dtype.ptr(), form.shape.ptr()};
    array = owned(PyObject_Vectorcall(arrayType.ptr(), arguments, 3, nullptr));
  }
  return form.wrap.is_none() ? array : owned(PyObject_CallOneArg(form.wrap.ptr(), array.ptr()));
}

} // namespace epl::runtime::binding
