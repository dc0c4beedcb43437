#include "runtime/device/cpu/Libraries.h"

#include "runtime/Error.h"
#include "runtime/device/cpu/Blas.h"
#include "runtime/device/cpu/OneDnn.h"

namespace epl::runtime {

static std::string describeOneDnn() {
  if (const OneDnn *library = OneDnn::get())
    return library->describe();
  return "not found; OpenBLAS does its part, more slowly: Debian's package \"libdnnl2\" has it";
}

template <typename Describe> static std::string describeOrSayWhyNot(Describe describe) {
  try {
    return describe();
  } catch (const Error &error) {
    return std::string("not found: ") + error.what();
  }
}

std::vector<std::pair<std::string, std::string>> describeLibraries() {
  return {{"OpenBLAS", describeOrSayWhyNot([] { return Blas::get().describe(); })},
          {"oneDNN", describeOrSayWhyNot(describeOneDnn)}};
}

} // namespace epl::runtime
