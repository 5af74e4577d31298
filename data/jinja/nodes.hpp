// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/jinja/value.hpp"

namespace lockstep::data::jinja {

struct Expression;
using ExpressionPointer = std::unique_ptr<Expression>;

// What `parts` and `name` are:
//  constant     value
//  name         name
//  list, tuple  the items
//  dict         name, value, name, value, ...
//  attribute    the object; name
//  item         the object, the index
//  slice        begin, end, step, each of which may be nullptr
//  call         the function, arguments; the last ones have `keywords`
//  filter, test the value, arguments as with a call; name
//  negate, plus, not, and, or, add to power: the operands
//  concat       the operands
//  compare      the operands; `names` has the operators between them
//  choice       the value if so, the condition, the value otherwise or nullptr
struct Expression {
    enum class Kind {
        constant,
        name,
        list,
        tuple,
        dict,
        attribute,
        item,
        slice,
        call,
        filter,
        test,
        negate,
        plus,
        logical_not,
        logical_and,
        logical_or,
        add,
        subtract,
        multiply,
        divide,
        divide_whole,
        remainder,
        power,
        concat,
        compare,
        choice
    } kind = Kind::constant;
    int line = 0;
    int depth = 1;
    std::string name = {};
    Value value = None{};
    std::vector<ExpressionPointer> parts = {};
    std::vector<std::string> names = {};
};

// A name, several names or a member of a namespace.
struct Target {
    enum class Kind { name, names, member } kind = Kind::name;
    std::vector<std::string> names;  // of a member: the namespace and the member
};

struct Statement;
using Block = std::vector<std::unique_ptr<Statement>>;

// What the members are:
//  data           text
//  output         expressions[0]
//  branches       a block for each of `expressions` and one for none of them
//  loop           target; expressions: what is looped over, the condition or nullptr; blocks: the
//                 body, and what stands for it where nothing is looped over
//  set            target, expressions[0]
//  set_block      target, blocks[0]; expressions[0]: the filters, around a name, or nullptr
//  macro          text is its name; target has the parameters, `expressions` the default values of
//                 the last ones; blocks[0]
//  generation     blocks[0]
//  leave, next    `break` and `continue`
struct Statement {
    enum class Kind {
        data,
        output,
        branches,
        loop,
        set,
        set_block,
        macro,
        generation,
        leave,
        next
    };
    Kind kind = Kind::data;
    int line = 0;
    std::string text = {};
    Target target = {};
    std::vector<ExpressionPointer> expressions = {};
    std::vector<Block> blocks = {};
};

}  // namespace lockstep::data::jinja
