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
  for (size_t slot = 0; slot < session.numArguments(); ++slot)
    states.push_back(session.plan().slots[slot]->role == plan::SlotRole::state);
}

nb::list Caller::call(const nb::list &leaves, bool donate) {
  if (leaves.size() + hidden.size() != session.numArguments())
    throw Error(name + " takes " + std::to_string(session.numArguments() - hidden.size()) +
                " arguments, found " + std::to_string(leaves.size()));
  std::vector<Argument> arguments;
  arguments.reserve(session.numArguments());
  for (size_t slot = 0; slot < leaves.size(); ++slot)
    arguments.push_back(reader.argument(leaves[slot], *session.plan().slots[slot]));
  arguments.insert(arguments.end(), hidden.begin(), hidden.end());
  {
    nb::gil_scoped_release unlocked;
    session.awaitRoom();
  }
  Outcome outcome = session.call(arguments, donate ? states : none, name, waits);
  if (waits)
    await(leaves, outcome);
  nb::list results;
  for (size_t index = 0; index < outcome.results.size(); ++index)
    results.append(resultOf(index, outcome.results[index]));
  return results;
}

void Caller::await(const nb::list &leaves, const Outcome &outcome) const {
  try {
    waitFor(outcome.call);
  } catch (nb::python_error &) {
    for (size_t index = 0; index < outcome.results.size(); ++index) {
      int32_t slot = session.plan().slots[session.numArguments() + index]->updates;
      if (slot < 0 || size_t(slot) >= leaves.size())
        continue;
      nb::object array = reader.ownArray(leaves[slot]);
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
