// What tests of streams ask of ThreadSanitizer: gRPC, and so the plugin that it is in, are not instrumented.
// What they order, as by counts of who has an object, is not seen, and looks like races. EndTest has what is
// ours in its sight.
extern "C" const char *__tsan_default_options() { return "ignore_noninstrumented_modules=1"; }
extern "C" const char *__tsan_default_suppressions() { return "race:libepl_grpc.so\n"; }
