//===- Roles.cpp - Parts of a step for workers and servers ----------------===//

#include "tools/epl-compile/Roles.h"

#include "dialect/Servers.h"
#include "passes/shard/Passes.h"
#include "tools/Tool.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::epl;
namespace tool = ::epl::runtime::tool;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

void mlir::epl::addRoleOptions(CLI::App &app, Options &options) {
  const std::map<std::string, Role> roles = {{"worker", Role::worker}, {"server", Role::server}};
  app.add_option("--role", options.role,
                 "compile a part of the step, where servers hold the parameters: worker: what pulls them and "
                 "pushes gradients, for --devices; server: what updates blocks of them, for one CPU device, "
                 "as plans PROGRAM.eplan in the folder -o; default: the whole step")
      ->transform(tool::isOneOf(roles))
      ->type_name("ROLE");
  app.add_option("--servers", options.servers, "how many servers share the parameters")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20).description(""))
      ->capture_default_str();
  app.add_option("--min-block-size", options.minBlockSize,
                 "how many elements a block has at least, of a parameter that has them")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40).description(""))
      ->capture_default_str();
  app.add_flag("--slice,!--no-slice", options.slice,
               "cut parameters into blocks (default), or leave each whole at one server");
  app.add_flag(
      "--compensate", options.compensate,
      "have servers take g + g g (w - w') for a gradient g, w' being the parameter w as its worker had "
      "it (DC-ASGD)");
  app.add_flag("--with-tables", options.withTables,
               "take a step of which servers hold nothing else than rows of tables");
  app.add_option("--program", options.program,
                 "with --role=server: compile this program alone, as --emit=roles names it, to the file -o")
      ->type_name("PROGRAM");
}

void mlir::epl::checkRole(const Options &options) {
  if (options.role == Role::worker && options.stage == Stage::roles)
    throw CLI::ValidationError("--emit", "roles is of workers and servers, found --role=worker");
  if (!options.program.empty() && options.role != Role::server)
    throw CLI::ValidationError("--program", "is one of servers, expected --role=server");
  if (!options.writesPrograms())
    return;
  if (options.inputs.size() > 1)
    throw CLI::ValidationError("--role", "the programs of servers are of one step, found several");
  if (options.stage != Stage::plan)
    throw CLI::ValidationError("--emit", "prints one program of servers, expected its name by --program");
  if (!llvm::sys::fs::is_directory(options.output))
    throw CLI::ValidationError("-o",
                               "\"" + options.output + "\" is not a folder, as the programs of servers need");
}

std::string mlir::epl::describeRole(const Options &options) {
  std::string tables = options.withTables ? " --with-tables" : "";
  if (options.role != Role::server)
    return options.role == Role::worker ? " --role=worker" + tables : "";
  return " --role=server --servers=" + std::to_string(options.servers) +
         " --min-block-size=" + std::to_string(options.minBlockSize) + (options.slice ? "" : " --no-slice") +
         (options.compensate ? " --compensate" : "") + tables;
}

//===----------------------------------------------------------------------===//
// Parts of a module
//===----------------------------------------------------------------------===//

std::unique_ptr<Pass> mlir::epl::createRolePass(const Options &options) {
  SplitRolesPassOptions role;
  role.role = options.isOfServers() ? ServerRole::server : ServerRole::worker;
  role.servers = options.servers;
  role.minBlockSize = options.minBlockSize;
  role.slice = options.slice;
  role.compensate = options.compensate;
  role.withTables = options.withTables;
  role.program = options.program;
  return createSplitRolesPass(role);
}

/// An attribute of `epl.servers`.
static llvm::json::Value toJson(Attribute attribute) {
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.getValue();
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return flag.getValue();
  if (auto number = dyn_cast<IntegerAttr>(attribute))
    return number.getInt();
  if (auto numbers = dyn_cast<DenseI64ArrayAttr>(attribute))
    return llvm::json::Array(numbers.asArrayRef());
  if (auto list = dyn_cast<ArrayAttr>(attribute)) {
    llvm::json::Array array;
    for (Attribute element : list)
      array.push_back(toJson(element));
    return array;
  }
  llvm::json::Object object;
  for (NamedAttribute entry : cast<DictionaryAttr>(attribute))
    object[entry.getName().strref()] = toJson(entry.getValue());
  return object;
}

std::string mlir::epl::describeRoles(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}", toJson(module->getAttr(kServersAttr)));
  return text;
}

std::vector<std::string> mlir::epl::getPrograms(ModuleOp module) {
  std::vector<std::string> names;
  for (auto function : module.getOps<func::FuncOp>())
    names.push_back(function.getSymName().str());
  return names;
}

OwningOpRef<ModuleOp> mlir::epl::takeProgram(ModuleOp module, StringRef name) {
  OwningOpRef<ModuleOp> program = ModuleOp::create(module.getLoc(), name);
  program->getBody()->push_back(module.lookupSymbol(name)->clone());
  return program;
}

Options mlir::epl::getProgramOptions(const Options &options, const std::string &name) {
  Options own;
  own.inputs = options.inputs;
  own.stage = options.stage;
  own.kernels = options.kernels;
  own.reference = options.reference;
  own.cpu = options.cpu;
  own.progress = options.progress;
  own.reproducer = options.reproducer;
  own.part = options.describe() + " --program=" + name;
  return own;
}

std::string mlir::epl::getProgramFile(const Options &options, StringRef name) {
  if (!options.writesPrograms())
    return options.output;
  llvm::SmallString<128> path(options.output);
  llvm::sys::path::append(path, name + ".eplan");
  return path.str().str();
}
