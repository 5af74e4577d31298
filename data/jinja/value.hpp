// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "data/jinja/text.hpp"

// The values of a template. They never change, but for namespaces and loops, and are as deep as
// Machine allows.
namespace lockstep::data::jinja {

struct Statement;
struct List;
struct Dict;
struct Namespace;
struct Loop;
struct Function;

// What a name or a member that is not there gives. `why` is for the error of those who need it.
struct Undefined {
    std::shared_ptr<const std::string> why = nullptr;
};
struct None {};

using TextPointer = std::shared_ptr<const Text>;
using ListPointer = std::shared_ptr<const List>;
using DictPointer = std::shared_ptr<const Dict>;
using LoopPointer = std::shared_ptr<Loop>;
using FunctionPointer = std::shared_ptr<const Function>;

// A namespace belongs to the Machine.
using Value = std::variant<Undefined, None, bool, std::int64_t, double, TextPointer, ListPointer,
                           DictPointer, Namespace*, LoopPointer, FunctionPointer>;

// iterator: what filters such as `map` give, of which Python knows neither length nor text. view:
// what items() gives, and range().
struct List {
    enum class Kind { list, tuple, iterator, view } kind = Kind::list;
    std::vector<Value> items;
    int depth = 1;
};

// Keeps the order of its members.
struct Dict {
    std::vector<std::pair<TextPointer, Value>> members;
    std::unordered_map<std::string_view, std::size_t> places;  // views of the members' names
    int depth = 1;

    // Returns nullptr if there is no such member.
    const Value* find(std::string_view name) const;
    void set(const TextPointer& name, Value value);
};

struct Namespace {
    std::vector<std::pair<std::string, Value>> members;

    const Value* find(std::string_view name) const;
    void set(std::string_view name, Value value);
};

// The variable `loop`.
struct Loop {
    ListPointer items;
    std::size_t index = 0;  // counted from 0
    int depth = 1;
};

// A function of the language, a macro or a method of a value.
struct Function {
    enum class Kind { global, macro, method } kind = Kind::global;
    std::string name;
    const Statement* macro = nullptr;
    Value self = None{};
    int depth = 1;
};

int depth_of(const Value& value) noexcept;
template <class T>
const T* get(const Value& value) noexcept {
    return std::get_if<T>(&value);
}
template <class T>
const T* get(Value&& value) = delete;  // nothing would hold what it points to
// Returns nullptr if the value is no text.
const Text* text_in(const Value& value) noexcept;
const List* list_in(const Value& value) noexcept;
const Dict* dict_in(const Value& value) noexcept;
// A bool is a whole number, as in Python.
std::optional<std::int64_t> whole_in(const Value& value) noexcept;
std::optional<double> number_in(const Value& value) noexcept;
bool is_undefined(const Value& value) noexcept;
bool truth(const Value& value) noexcept;
// Returns what Python calls the type.
std::string type_name(const Value& value);

}  // namespace lockstep::data::jinja
