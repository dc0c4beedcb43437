// What unit tests include besides the files that they test (cmake/Precompile.cmake).
#include "cmake/precompiled/Std.cpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
