// What tests of streams ask of sanitizers. gRPC, and so the plugin that it is in, are not instrumented for
// ThreadSanitizer: what they order, as by counts of who has an object, is not seen, and looks like races.
// EndTest has what is ours in its sight. And c-ares 1.18 loses the name "localhost" when it is asked for it.
extern "C" const char *__tsan_default_options() { return "ignore_noninstrumented_modules=1"; }
extern "C" const char *__tsan_default_suppressions() { return "race:libepl_grpc.so\n"; }
extern "C" const char *__lsan_default_suppressions() { return "leak:ares_strdup\n"; }
