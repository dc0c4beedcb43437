// What our programs ask of AddressSanitizer; the variable ASAN_OPTIONS has the last word.
//
// abort_on_error: `not` in a lit test takes any exit code for the failure that the test wants, but no signal.
//
// allow_user_poisoning: LLVM's bump allocators poison what they have not given away, but only in code that is
// compiled with ASan. What Debian's libMLIR.so, which is not, takes from the same slabs would stay poisoned.

extern "C" const char *__asan_default_options() { return "abort_on_error=1:allow_user_poisoning=0"; }
