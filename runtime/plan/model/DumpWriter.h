// What the parts of a dump have in common: lists, shapes and shardings as text.

#ifndef EPL_RUNTIME_PLAN_MODEL_DUMP_WRITER_H
#define EPL_RUNTIME_PLAN_MODEL_DUMP_WRITER_H

#include "runtime/plan/format/Quoted.h"
#include "runtime/plan/format/plan_generated.h"

#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace epl::runtime {

class DumpWriter {
protected:
  explicit DumpWriter(std::ostream &out) : out(out) {}

  /// The items with `separator` between them, each as `print` writes it.
  template <typename Range, typename Print>
  void list(const Range &items, const char *separator, const Print &print) {
    const char *between = "";
    for (const auto &item : items) {
      out << between;
      print(item);
      between = separator;
    }
  }

  void names(const std::vector<std::string> &items) {
    list(items, ", ", [&](const std::string &item) { out << quoted(item); });
  }

  void numbers(const auto &items) {
    out << '[';
    list(items, ", ", [&](auto item) { out << item; });
    out << ']';
  }

  /// [{"data"}, {}]
  void shardings(const std::vector<std::unique_ptr<plan::DimShardingT>> &dims) {
    out << '[';
    list(dims, ", ", [&](const auto &dim) {
      out << '{';
      names(dim->axes);
      out << '}';
    });
    out << ']';
  }

  /// 64x512xf32
  void tensor(const std::vector<int64_t> &shape, plan::ElementType type) {
    for (int64_t extent : shape)
      out << extent << 'x';
    out << plan::EnumNameElementType(type);
  }

  std::ostream &out;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_DUMP_WRITER_H
