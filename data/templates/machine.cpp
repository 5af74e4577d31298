// SPDX-License-Identifier: Apache-2.0
#include "data/templates/machine.hpp"

#include <algorithm>
#include <utility>

#include "data/jinja/lexer.hpp"

namespace lockstep::data::jinja {

void Machine::fail(const std::string& what) const { throw_bad_template(name_, line_, what); }

void Machine::step(std::size_t count) {
    steps_ += count;
    if (steps_ > limits_.steps)
        fail("the template takes more than " + std::to_string(limits_.steps) + " steps");
}

void Machine::work(std::size_t bytes) {
    work_bytes_ += bytes;
    if (work_bytes_ > limits_.work_bytes)
        fail("the template works on more than " + std::to_string(limits_.work_bytes >> 20) +
             " MiB of text");
}

void Machine::enter() {
    if (level_ >= limits_.call_levels)
        fail("the template has more than " + std::to_string(limits_.call_levels) +
             " levels of calls");
    ++level_;
}

void Machine::check_bytes(std::size_t bytes) const {
    if (bytes > limits_.text_bytes)
        fail("the template makes a text of more than " + std::to_string(limits_.text_bytes >> 20) +
             " MiB");
}

void Machine::check_depth(int depth) const {
    if (depth > limits_.value_levels)
        fail("a value has more than " + std::to_string(limits_.value_levels) + " levels");
}

Value Machine::text(Text text) {
    check_bytes(text.size());
    work(text.size() + text.runs().size() * sizeof(Run));
    return std::make_shared<const Text>(std::move(text));
}

Value Machine::list(std::vector<Value> items, List::Kind kind) {
    work(items.size() * sizeof(Value));
    auto list = std::make_shared<List>();
    list->kind = kind;
    for (const Value& item : items) list->depth = std::max(list->depth, 1 + depth_of(item));
    check_depth(list->depth);
    list->items = std::move(items);
    return ListPointer(std::move(list));
}

Value Machine::dict(std::shared_ptr<Dict> dict) {
    work(dict->members.size() * 2 * sizeof(Value));
    check_depth(dict->depth);
    return DictPointer(std::move(dict));
}

Value Machine::method(std::string_view name, const Value& self) {
    auto function = std::make_shared<Function>();
    function->kind = Function::Kind::method;
    function->name = name;
    function->self = self;
    function->depth = 1 + depth_of(self);
    check_depth(function->depth);
    return FunctionPointer(std::move(function));
}

std::shared_ptr<Loop> Machine::loop(ListPointer items) {
    auto loop = std::make_shared<Loop>();
    loop->depth = 1 + items->depth;
    check_depth(loop->depth);
    loop->items = std::move(items);
    return loop;
}

Namespace* Machine::new_namespace() {
    work(sizeof(Namespace));
    return &namespaces_.emplace_back();
}

Value Machine::undefined(std::string why) const {
    return Undefined{std::make_shared<const std::string>(std::move(why))};
}

void Machine::append(Text& out, const Text& more) { append(out, more, 0, more.size()); }

void Machine::append(Text& out, const Text& more, std::size_t begin, std::size_t end) {
    check_bytes(out.size() + (end - begin));
    out.append(more, begin, end);
}

void Machine::append(Text& out, std::string_view bytes, unsigned marks) {
    check_bytes(out.size() + bytes.size());
    out.append(bytes, marks);
}

}  // namespace lockstep::data::jinja
