// What the programs of the compiler ask of AddressSanitizer; ASAN_OPTIONS has the last word.

/// LLVM's bump allocators poison what they have not given away, but only in code that is compiled with ASan:
/// what Debian's libMLIR.so, which is not, takes from the same slabs stays poisoned and would be an error.
extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0"; }
