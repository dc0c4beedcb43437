// Tables of parameter servers in Python.

#include "runtime/Error.h"
#include "runtime/binding/Arrays.h"
#include "runtime/binding/ServersWorker.h"
#include "runtime/servers/drive/FiniteCheck.h"

#include <nanobind/stl/optional.h>

namespace epl::runtime::binding {

namespace nb = nanobind;
namespace ps = servers;
namespace mf = servers::manifest;
using namespace nb::literals;

namespace {

// Of tables, by number. Lookups: ids, whether ids without a row get one, the padding id; gradients: the ids
// of each lookup, their gradients, the padding id.
using Padding = std::optional<int64_t>;
using LookupFields = std::tuple<uint32_t, nb::object, bool, Padding>;
using RowFields = std::tuple<uint32_t, std::vector<nb::object>, std::vector<nb::object>, Padding>;

const mf::TableT &tableAt(const ServersWorker &self, uint32_t number) {
  ps::checkTable(*self.job->job, number);
  return *self.job->job->manifest.tables[number];
}

/// Ids of a table. The caller lets go of the array while it has the interpreter.
HostTensor idsOf(const mf::TableT &table, const nb::object &array) {
  HostTensor ids = fromNumpy(array, plan::ElementType::i64, table.name);
  if (ids.type.element != plan::ElementType::i64)
    throw Error("ids of table \"" + table.name + "\" are " + ids.type.str() + ", expected int64");
  return ids;
}

std::span<const int64_t> spanOf(const HostTensor &ids) {
  return {reinterpret_cast<const int64_t *>(ids.data), ids.type.bytes() / sizeof(int64_t)};
}

/// What a lookup gets: a row for each id.
TensorType rowsType(const mf::TableT &table, const HostTensor &ids) {
  TensorType type{table.type, ids.type.shape};
  type.shape.push_back(int64_t(table.dim));
  return type;
}

struct RequestedRows {
  std::shared_ptr<const ps::RowPulls> pulls;
  std::vector<TensorType> types; ///< of what each lookup gets
};

RequestedRows requestRows(ServersWorker &self, uint64_t step, const std::vector<LookupFields> &fields) {
  std::vector<HostTensor> ids;
  std::vector<ps::Lookup> lookups;
  RequestedRows requested;
  for (const auto &[number, array, create, padding] : fields) {
    ids.push_back(idsOf(tableAt(self, number), array));
    lookups.push_back({number, spanOf(ids.back()), create, padding});
    requested.types.push_back(rowsType(tableAt(self, number), ids.back()));
  }
  nb::gil_scoped_release unlocked;
  requested.pulls = self.worker->requestRows(step, lookups);
  return requested;
}

nb::list pullRows(ServersWorker &self, uint64_t step, const std::vector<LookupFields> &fields,
                  const nb::object &meanwhile) {
  RequestedRows requested = requestRows(self, step, fields);
  if (!meanwhile.is_none())
    meanwhile();
  std::vector<HostTensor> rows;
  {
    nb::gil_scoped_release unlocked;
    rows = self.worker->awaitRows(*requested.pulls);
  }
  nb::list list;
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].type = requested.types[i];
    list.append(toNumpy(rows[i], /*writable=*/true));
  }
  return list;
}

/// The gradients of lookups of a table. `kept` has the arrays of ids.
ps::RowGradients gradientsOf(const mf::TableT &table, const RowFields &fields,
                             std::vector<HostTensor> &kept) {
  const auto &[number, ids, gradients, padding] = fields;
  std::string name = "what is pushed for table \"" + table.name + "\"";
  if (ids.size() != gradients.size())
    throw Error(name + " is " + std::to_string(gradients.size()) + " gradients of " +
                std::to_string(ids.size()) + " lookups, expected one of each");
  ps::RowGradients result{number, {}, {}, padding};
  for (size_t i = 0; i < ids.size(); ++i) {
    kept.push_back(idsOf(table, ids[i]));
    result.ids.push_back(spanOf(kept.back()));
    result.gradients.push_back(fromNumpy(gradients[i], table.type, name));
    TensorType expected = rowsType(table, kept.back());
    if (result.gradients.back().type != expected)
      throw Error(name + " is " + result.gradients.back().type.str() + ", expected " + expected.str());
  }
  return result;
}

/// The gradients of several. `kept` has the arrays of ids.
std::vector<ps::RowGradients> allGradientsOf(const ServersWorker &self, const std::vector<RowFields> &tables,
                                             std::vector<HostTensor> &kept) {
  std::vector<ps::RowGradients> rows;
  rows.reserve(tables.size());
  for (const RowFields &fields : tables)
    rows.push_back(gradientsOf(tableAt(self, std::get<0>(fields)), fields, kept));
  return rows;
}

void pushRows(ServersWorker &self, uint64_t step, const std::vector<RowFields> &tables) {
  std::vector<HostTensor> kept;
  std::vector<ps::RowGradients> rows = allGradientsOf(self, tables, kept);
  nb::gil_scoped_release unlocked;
  self.worker->pushRows(step, rows);
}

void checkRows(const ServersWorker &self, const std::vector<RowFields> &tables) {
  std::vector<HostTensor> kept;
  std::vector<ps::RowGradients> rows = allGradientsOf(self, tables, kept);
  nb::gil_scoped_release unlocked;
  ps::checkFinite(*self.job->job, rows);
}

uint64_t runTask(ServersWorker &self, uint64_t step, uint32_t table, const ps::TaskOfTable &task) {
  nb::gil_scoped_release unlocked;
  return self.worker->runTask(step, table, task);
}

} // namespace

void bindTables(nb::class_<ServersWorker> &worker) {
  worker
      .def("pull_rows", &pullRows, "step"_a, "lookups"_a, "meanwhile"_a = nb::none(),
           "The rows of lookups (table, ids, create, padding) for a step, of each an array (*ids.shape, "
           "dim);\n"
           "waits for all at once. `create`: ids without a row get one, for training. The id `padding`, if "
           "it\n"
           "is not None, has zeros. Tables are numbers. `meanwhile` is called before it waits.")
      .def(
          "push_rows", &pushRows, "step"_a, "tables"_a,
          "Hands over what is pushed for tables: (table, ids of each lookup, their gradients, padding), each "
          "table\n"
          "once.")
      .def("check_finite_rows", &checkRows, "tables"_a,
           "Raises Error if a gradient of these is not finite: the table, an id that has it, the value and "
           "its "
           "place.")
      .def(
          "save_table",
          [](ServersWorker &self, uint64_t step, uint32_t table, const std::string &folder) {
            return runTask(self, step, table, {ps::frames::TableTask::save, folder});
          },
          "step"_a, "table"_a, "folder"_a,
          "Has the servers write a table's rows, as they are for a step, to files of a folder that they see, "
          "in "
          "the\nlayout of safetensors; how many. For worker 0, as those that follow.")
      .def(
          "export_table",
          [](ServersWorker &self, uint64_t step, uint32_t table, const std::string &folder,
             bool changedOnly) {
            auto task =
                changedOnly ? ps::frames::TableTask::export_changed : ps::frames::TableTask::export_all;
            return runTask(self, step, table, {task, folder});
          },
          "step"_a, "table"_a, "folder"_a, "changed_only"_a,
          "The same; or with `changed_only` the rows alone that have changed since the last export.")
      .def(
          "load_table",
          [](ServersWorker &self, uint64_t step, uint32_t table, const std::string &place, bool valuesOnly) {
            auto task = valuesOnly ? ps::frames::TableTask::load_values : ps::frames::TableTask::load;
            return runTask(self, step, table, {task, place});
          },
          "step"_a, "table"_a, "place"_a, "values_only"_a = false,
          "Makes a table what files of a folder say, however many servers have written them, or one file; "
          "how "
          "many\nrows. With `values_only` the optimizer begins anew with each row.")
      .def(
          "evict_table",
          [](ServersWorker &self, uint64_t step, uint32_t table, uint64_t unseen) {
            return runTask(self, step, table, {ps::frames::TableTask::evict, {}, unseen});
          },
          "step"_a, "table"_a, "unseen"_a,
          "Drops rows that have not changed in the last `unseen` updates of a server's part; how many.");
}

} // namespace epl::runtime::binding
