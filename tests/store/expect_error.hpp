/// EXPECT_FAILURE(statement, code, text): it throws a ballast_error with this
/// code whose message contains the text.
#pragma once

#include "runtime/base/errors.hpp"

#include <gtest/gtest.h>
#include <string>

#define EXPECT_FAILURE(statement, wanted, text)                                \
  try {                                                                        \
    statement;                                                                 \
    ADD_FAILURE() << "no error from " #statement;                              \
  } catch (const ::ballast::ballast_error& error) {                            \
    EXPECT_EQ(to_string(error.what_failed().code), to_string(wanted));         \
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos)         \
        << error.what();                                                       \
  }
