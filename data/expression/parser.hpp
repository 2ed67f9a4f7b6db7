/// Turns the text of an expression into a tree. Pure; errors are
/// ballast_error{invalid_job} that point into the text.
#pragma once

#include "data/expression/expression_text.hpp"
#include "data/expression/syntax.hpp"

namespace ballast::data {

/// By descent, with limits on length, depth, height and lists, so that no text
/// exhausts the stack, here or where the tree is walked later.
node_pointer parse_tree(const expression_source& source);

} // namespace ballast::data
