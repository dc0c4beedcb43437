# Writes SOURCE: a function FUNCTION, which HEADER declares, that gives the bytes of FILE.

file(READ ${FILE} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${SOURCE} "#include \"${HEADER}\"

static constexpr unsigned char kBytes[] = {${bytes}};

llvm::StringRef mlir::epl::${FUNCTION}() {
  return {reinterpret_cast<const char *>(kBytes), sizeof(kBytes)};
}
")
