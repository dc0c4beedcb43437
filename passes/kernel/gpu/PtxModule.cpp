//===- PtxModule.cpp - Loop nests as PTX -----------------------------------------===//
//
// Problem: loop nests that were made for slices of an extent must become kernels of a GPU.
//
// Method: a slice for each group of threads (`kGroupAttr`), or a loop over slices where the grid has too few
// of them (`kRoundsAttr`). Code of launches that follow one another (`kListAttr`) has a second entry, which
// does a list of launches: a block looks up in a table which of them it is part of. A launch ends at once if
// a condition of its command does not hold. Functions of libm become those of libdevice, everything is
// inlined, and LLVM writes PTX. Denormals of f32 are flushed, as on CPUs.
//
// Invariant out: no kernel calls anything.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/gpu/PtxModule.h"

#include "passes/kernel/convert/ToLlvm.h"
#include "passes/kernel/gpu/DeviceMath.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mlir::epl;

// LLVM's number of the memory of a GPU that all threads share.
static constexpr unsigned kGlobalSpace = 1;
// Behind the name of an entry for lists, as in runtime/plan/model/Images.h.
static constexpr StringLiteral kListSuffix = "$list";

static std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const GpuTarget &target) {
  llvm::Triple triple(kGpuTriple);
  std::string error;
  const llvm::Target *backend = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, target.architecture, "", options, std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default));
}

namespace {

// What an entry knows of a launch of its nest: the arguments, of which the last two are the extent and the
// slice, the address of its conditions, and which block of how many this one is; null: of those of the grid.
struct LaunchValues {
  SmallVector<llvm::Value *> arguments;
  llvm::Value *conditions, *block, *blocks;
};

// A kernel of a nest.
class EntryEmitter {
public:
  EntryEmitter(llvm::Function &nest, const llvm::Twine &suffix, llvm::FunctionType *type)
      : nest(nest), entry(*llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                                  nest.getName().drop_back(kNestSuffix.size()) + suffix,
                                                  *nest.getParent())),
        b(llvm::BasicBlock::Create(nest.getContext(), "", &entry)) {
    entry.setCallingConv(llvm::CallingConv::PTX_Kernel);
    if (llvm::DISubprogram *lines = nest.getSubprogram())
      setLine(*lines);
  }

  // For one launch: the parameters are those of the nest, but for the last two, and its conditions.
  static void emitPlain(llvm::Function &nest) {
    SmallVector<llvm::Type *> types(nest.getFunctionType()->params());
    types.push_back(llvm::PointerType::get(nest.getContext(), kGlobalSpace));
    EntryEmitter emitter(nest, "", llvm::FunctionType::get(nest.getReturnType(), types, false));
    for (unsigned index = 0; index < nest.arg_size(); ++index)
      if (nest.hasParamAttribute(index, llvm::Attribute::NoAlias))
        emitter.entry.addParamAttr(index, llvm::Attribute::NoAlias);
    auto arguments =
        llvm::map_to_vector(emitter.entry.args(), [](auto &arg) -> llvm::Value * { return &arg; });
    llvm::Value *conditions = arguments.pop_back_val();
    emitter.emit({arguments, conditions, emitter.read(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x), nullptr});
  }

  // For a list of launches, whose blocks follow one another: the parameters are a row for each launch, which
  // are its first block, the number of its blocks and its arguments, 8 bytes each, and the row of each block.
  static void emitList(llvm::Function &nest) {
    llvm::IRBuilder<> types(nest.getContext());
    auto *pointer = types.getPtrTy(kGlobalSpace);
    EntryEmitter emitter(nest, kListSuffix,
                         llvm::FunctionType::get(types.getVoidTy(), {pointer, pointer}, false));
    emitter.emit(emitter.readRow());
  }

private:
  void emit(const LaunchValues &launch) {
    llvm::Value *extent = launch.arguments.end()[-2], *slice = launch.arguments.back();
    auto *start = llvm::BasicBlock::Create(nest.getContext(), "start", &entry);
    auto *head = llvm::BasicBlock::Create(nest.getContext(), "slices", &entry);
    auto *body = llvm::BasicBlock::Create(nest.getContext(), "slice", &entry);
    auto *done = llvm::BasicBlock::Create(nest.getContext(), "done", &entry);
    check(launch.conditions, start, done);
    b.SetInsertPoint(start);
    llvm::Value *first = b.CreateMul(getGroup(launch.block), slice), *begin = first;
    b.CreateBr(head);
    b.SetInsertPoint(head);
    if (nest.hasFnAttribute(kRoundsAttr))
      begin = b.CreatePHI(b.getInt64Ty(), 2);
    b.CreateCondBr(b.CreateICmpSLT(begin, extent), body, done);
    b.SetInsertPoint(body);
    llvm::Value *end = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateAdd(begin, slice), extent);
    callNest(launch.arguments, begin, end);
    if (auto *round = dyn_cast<llvm::PHINode>(begin)) {
      round->addIncoming(first, start);
      round->addIncoming(b.CreateAdd(begin, b.CreateMul(getGroups(launch.blocks), slice)), body);
    }
    b.CreateBr(begin == first ? done : head);
    b.SetInsertPoint(done);
    b.CreateRetVoid();
  }

  // Goes on at `start` if all of a list of conditions hold or there is none, else at `done`. They are
  // addresses of flags and what these must be, 8 bytes each; an address of 0 ends them.
  void check(llvm::Value *conditions, llvm::BasicBlock *start, llvm::BasicBlock *done) {
    llvm::BasicBlock *before = b.GetInsertBlock();
    auto *next = llvm::BasicBlock::Create(nest.getContext(), "condition", &entry, start);
    auto *flag = llvm::BasicBlock::Create(nest.getContext(), "flag", &entry, start);
    b.CreateCondBr(b.CreateIsNull(conditions), start, next);
    b.SetInsertPoint(next);
    llvm::PHINode *condition = b.CreatePHI(conditions->getType(), 2);
    llvm::Value *address = readTable(b.getInt64Ty(), condition);
    b.CreateCondBr(b.CreateIsNull(address), start, flag);
    b.SetInsertPoint(flag);
    llvm::Value *value = b.CreateLoad(b.getInt8Ty(), b.CreateIntToPtr(address, b.getPtrTy(kGlobalSpace)));
    llvm::Value *expected = readTable(b.getInt64Ty(), b.CreateConstGEP1_64(b.getInt64Ty(), condition, 1));
    condition->addIncoming(conditions, before);
    condition->addIncoming(b.CreateConstGEP1_64(b.getInt64Ty(), condition, 2), flag);
    b.CreateCondBr(b.CreateICmpEQ(b.CreateZExt(value, b.getInt64Ty()), expected), next, done);
  }

  // What the entry does by itself is of the line of its nest.
  void setLine(const llvm::DISubprogram &lines) {
    auto *own = llvm::MDNode::replaceWithDistinct(lines.clone());
    entry.setSubprogram(own);
    b.SetCurrentDebugLocation(llvm::DILocation::get(nest.getContext(), own->getLine(), 0, own));
  }

  // The launch of this block in a list.
  LaunchValues readRow() {
    llvm::Value *block = read(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
    llvm::Value *number = readTable(b.getInt32Ty(), b.CreateGEP(b.getInt32Ty(), entry.getArg(1), block));
    uint64_t width = nest.arg_size() + 3;
    llvm::Value *row = b.CreateGEP(b.getInt64Ty(), entry.getArg(0),
                                   b.CreateMul(b.CreateZExt(number, b.getInt64Ty()), b.getInt64(width)));
    auto readColumn = [&](unsigned column) {
      return readTable(b.getInt64Ty(), b.CreateConstGEP1_64(b.getInt64Ty(), row, column));
    };
    LaunchValues launch{{}, nullptr, b.CreateSub(block, readColumn(0)), readColumn(1)};
    for (llvm::Argument &parameter : nest.args())
      launch.arguments.push_back(convert(readColumn(2 + parameter.getArgNo()), parameter.getType()));
    launch.conditions = convert(readColumn(2 + nest.arg_size()), b.getPtrTy(kGlobalSpace));
    return launch;
  }
  // Of what no kernel writes.
  llvm::Value *readTable(llvm::Type *type, llvm::Value *address) {
    llvm::LoadInst *load = b.CreateLoad(type, address);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(nest.getContext(), {}));
    return load;
  }
  // A column of a row as an argument.
  llvm::Value *convert(llvm::Value *number, llvm::Type *type) {
    if (!type->isPointerTy())
      return number;
    return b.CreateAddrSpaceCast(b.CreateIntToPtr(number, b.getPtrTy(kGlobalSpace)), type);
  }

  llvm::Value *read(llvm::Intrinsic::ID number) {
    return b.CreateZExt(b.CreateIntrinsic(number, {}), b.getInt64Ty());
  }
  // Of threads, the group; of a number of threads, the groups.
  llvm::Value *toGroups(llvm::Value *threads) {
    uint64_t group = nest.getFnAttributeAsParsedInteger(kGroupAttr, 1);
    return b.CreateUDiv(threads, b.getInt64(group));
  }
  llvm::Value *getGroup(llvm::Value *block) {
    llvm::Value *first = b.CreateMul(block, read(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x));
    return toGroups(b.CreateAdd(first, read(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x)));
  }
  llvm::Value *getGroups(llvm::Value *blocks) {
    if (!blocks)
      blocks = read(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x);
    return toGroups(b.CreateMul(blocks, read(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x)));
  }
  void callNest(ArrayRef<llvm::Value *> launch, llvm::Value *begin, llvm::Value *end) {
    SmallVector<llvm::Value *> arguments(launch.drop_back(2));
    arguments.append({begin, end});
    b.CreateCall(&nest, arguments);
  }

  llvm::Function &nest, &entry;
  llvm::IRBuilder<> b;
};

} // namespace

static void addEntries(llvm::Module &module) {
  SmallVector<llvm::Function *> nests;
  for (llvm::Function &function : module)
    if (function.getName().ends_with(kNestSuffix))
      nests.push_back(&function);
  for (llvm::Function *nest : nests) {
    EntryEmitter::emitPlain(*nest);
    if (nest->hasFnAttribute(kListAttr))
      EntryEmitter::emitList(*nest);
  }
}

// Everything but kernels goes into them.
static void prepareFunctions(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (function.getCallingConv() == llvm::CallingConv::PTX_Kernel)
      continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  module.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", 1);
}

// Instructions that came from another function have its line, and no trace of how they came: all of a kernel
// is one function, and PTX 7.0 has no word for more.
static void flattenLines(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (const llvm::DILocation *line = instruction.getDebugLoc(); line && function.getSubprogram()) {
        auto *scope =
            llvm::DILexicalBlockFile::get(module.getContext(), function.getSubprogram(), line->getFile(), 0);
        instruction.setDebugLoc(llvm::DILocation::get(module.getContext(), line->getLine(), 0, scope));
      }
}

FailureOr<ObjectBytes> mlir::epl::compilePtx(StringRef text, const GpuTarget &target, std::string &error,
                                             function_ref<void()> compiled, Lines lines) {
  llvm::LLVMContext context;
  FloatSupport floats{/*convertsBf16=*/true, /*convertsHalf=*/true, /*hasRegisters=*/true,
                      /*hasMaxima=*/true, /*hasExp=*/true};
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(target);
  if (!machine) {
    error = "this LLVM has no backend for PTX";
    return failure();
  }
  std::unique_ptr<llvm::Module> code = convertToLlvm(text, floats, *machine, context, error, lines);
  if (!code)
    return failure();
  addEntries(*code);
  if (failed(runLlvmPasses("function(scalarizer)", *code, *machine, error)) ||
      failed(linkDeviceMath(*code, error)))
    return failure();
  prepareFunctions(*code);
  StringRef pipeline = "nvvm-reflect,always-inline,globaldce,function(sroa,early-cse<memssa>,loop-mssa(licm),"
                       "instcombine<no-verify-fixpoint>,simplifycfg,early-cse,infer-address-spaces)";
  if (failed(runLlvmPasses(pipeline, *code, *machine, error)))
    return failure();
  flattenLines(*code);
  return emitCode(*code, *machine, llvm::CodeGenFileType::AssemblyFile, compiled);
}

// What stands once at the top of a module.
static constexpr StringLiteral kHeaderEnd = ".address_size 64";

namespace {

// The files that modules number, each by itself: `.file 1 "model.py"` stands at their end, `.loc 1 7 0`
// between instructions.
class FileTable {
public:
  // A module as it is in one with others: its files are in the table.
  std::string take(StringRef module) {
    llvm::StringMap<unsigned> numbers;
    for (StringRef rest = module; !rest.empty();) {
      auto [line, next] = rest.split('\n');
      if (auto [number, name] = getFile(line); !name.empty())
        numbers[number] = add(name);
      rest = next;
    }
    if (numbers.empty())
      return module.str();
    std::string text;
    for (StringRef rest = module; !rest.empty();) {
      auto [line, next] = rest.split('\n');
      takeLine(line, numbers, text);
      rest = next;
    }
    return text;
  }

  std::string print() const {
    std::string text;
    for (auto [index, name] : llvm::enumerate(names))
      text += (kFile + Twine(index + 1) + " " + name + "\n").str();
    return text;
  }

private:
  static constexpr StringLiteral kFile = "\t.file\t", kLine = "\t.loc\t", kSection = "\t.section\t.debug";

  // The number and the name in quotes that a line gives a file.
  static std::pair<StringRef, StringRef> getFile(StringRef line) {
    return line.consume_front(kFile) ? line.split(' ') : std::pair<StringRef, StringRef>();
  }
  unsigned add(StringRef name) {
    auto found = llvm::find(names, name);
    if (found == names.end())
      found = names.insert(names.end(), name.str());
    return unsigned(found - names.begin()) + 1;
  }
  // Without sections for debuggers, which are empty, and once are too often already.
  static void takeLine(StringRef line, const llvm::StringMap<unsigned> &numbers, std::string &text) {
    if (line.starts_with(kFile) || line.starts_with(kSection))
      return;
    if (StringRef rest = line; rest.consume_front(kLine)) {
      auto [number, place] = rest.split(' ');
      text += (kLine + Twine(numbers.lookup(number)) + " " + place + "\n").str();
    } else {
      (text += line) += '\n';
    }
  }

  std::vector<std::string> names;
};

} // namespace

FailureOr<std::string> mlir::epl::joinPtx(ArrayRef<ObjectBytes> modules, std::string &error) {
  std::string joined;
  FileTable files;
  for (const ObjectBytes &module : modules) {
    auto [header, body] = StringRef(module.data(), module.size()).split(kHeaderEnd);
    if (header.size() == module.size()) {
      error = "LLVM has written PTX without \"" + kHeaderEnd.str() + "\"";
      return failure();
    }
    if (joined.empty())
      joined = header.str() + kHeaderEnd.str();
    joined += files.take(body);
  }
  return joined + files.print();
}

unsigned mlir::epl::getPtxVersion(StringRef ptx) {
  StringRef version = ptx.split(".version ").second;
  unsigned major = 0, minor = 0;
  if (version.consumeInteger(10, major) || !version.consume_front(".") || version.consumeInteger(10, minor))
    return 0;
  return 10 * major + minor;
}
