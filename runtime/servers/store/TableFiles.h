// Rows of tables in files, in the layout of safetensors.
#ifndef EPL_RUNTIME_SERVERS_STORE_TABLEFILES_H
#define EPL_RUNTIME_SERVERS_STORE_TABLEFILES_H

#include "runtime/servers/store/TableRows.h"

#include <filesystem>
#include <functional>
#include <string>

namespace epl::runtime::servers {

/// Which of the rows of a table a file has: those of one of a server's lanes.
struct FilePart {
  uint32_t server, servers, lane, lanes;
};

/// What the file of a part is called: user.server0of2.lane1of4.safetensors. Of the table's name letters,
/// digits, '_' and '-' are as they are, and others %XX.
std::string tableFileName(const std::string &table, const FilePart &part);

/// Writes rows to a file, which appears whole or not at all: tensors "ids" (I64), "value" [rows, dim], and of
/// each slot "slot.NAME" [rows, ...]. Throws Error if it cannot.
void writeTableFile(const manifest::TableT &table, TableRows &rows, std::span<const int64_t> ids,
                    const std::filesystem::path &path);

/// The files of a table in a folder, of all servers that have saved it, in the order of their names; or the
/// one file that `place` is. Throws Error if there are none, if one is missing, or if they are of several
/// saves.
std::vector<std::filesystem::path> tableFiles(const std::string &table, const std::filesystem::path &place);

/// What of rows is read from files: all, or values alone, with which the optimizer begins anew.
enum class Fields { all, values };

/// Throws Error if a file has no such rows of a table, or ids that the table cannot have, without reading
/// the rows.
void checkTableFile(const manifest::TableT &table, Fields fields, const std::filesystem::path &path);

/// Makes rows of those in a file whose ids are wanted, and have no row. Throws Error if it is no file of such
/// rows.
void readTableFile(const manifest::TableT &table, Fields fields, TableRows &rows,
                   const std::function<bool(int64_t)> &wanted, const std::filesystem::path &path);

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_STORE_TABLEFILES_H
