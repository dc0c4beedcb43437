// A library whose names have the prefix of the Python package that it stands for.
extern "C" int scipy_epl_answer() { return EPL_ANSWER; }
