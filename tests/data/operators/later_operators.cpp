// What map_stream_test.cpp loads: a library of a later version of the header.
#include <ballast/operator.h>

static const struct ballast_operator operators[] = {{"later", 0, 0, 0, 0}};

extern "C" __attribute__((visibility("default")))
const struct ballast_operator_library ballast_operators = {
    BALLAST_OPERATOR_ABI + 1, sizeof(ballast_operator), 1, operators};
