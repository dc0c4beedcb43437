# Writes SOURCE: the function DECLARATION, which HEADER declares, gives the bytes of FILE, as a view of text; a zero
# follows them.

file(READ ${FILE} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${SOURCE} "#include \"${HEADER}\"

static constexpr unsigned char kBytes[] = {${bytes} 0};

${DECLARATION} { return {reinterpret_cast<const char *>(kBytes), sizeof(kBytes) - 1}; }
")
