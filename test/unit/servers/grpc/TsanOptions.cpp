// What tests of streams ask of ThreadSanitizer: gRPC, and so the plugin that it is in, are not instrumented,
// and what they do between themselves looks like races. What they do for our threads, as in locks, is seen.
extern "C" const char *__tsan_default_options() { return "ignore_noninstrumented_modules=1"; }
