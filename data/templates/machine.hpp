// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/jinja/value.hpp"

namespace lockstep::data::jinja {

// What a template may use up. Templates are strangers' code.
struct Limits {
    std::size_t steps = 1'000'000;
    std::size_t text_bytes = std::size_t{16} << 20;  // of one text, such as the output
    std::size_t work_bytes = std::size_t{1} << 30;   // that are read and made, all in all
    int value_levels = 100;
    int call_levels = 600;
};

// A day for strftime_now.
struct Date {
    int year = 0, month = 0, day = 0;  // 2024, 7, 26
};

// Makes the values of a template while it is rendered, and counts what it uses up. Every error is a
// data error "NAME:LINE: what".
class Machine {
public:
    Machine(std::string name, const Limits& limits) : name_(std::move(name)), limits_(limits) {}
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    [[noreturn]] void fail(const std::string& what) const;
    int line() const noexcept { return line_; }
    void at_line(int line) noexcept { line_ = line; }

    void step(std::size_t count = 1);
    void work(std::size_t bytes);
    // A call inside of a call. Every enter() that returns has its leave().
    void enter();
    void leave() noexcept { --level_; }

    Value text(Text text);
    Value text(std::string bytes, unsigned marks = unmarked) {
        return this->text(Text(std::move(bytes), marks));
    }
    Value list(std::vector<Value> items, List::Kind kind = List::Kind::list);
    Value dict(std::shared_ptr<Dict> dict);
    Value method(std::string_view name, const Value& self);
    std::shared_ptr<Loop> loop(ListPointer items);
    Namespace* new_namespace();
    Value undefined(std::string why) const;
    // Appends within the limit of one text.
    void append(Text& out, const Text& more);
    void append(Text& out, const Text& more, std::size_t begin, std::size_t end);
    void append(Text& out, std::string_view bytes, unsigned marks = unmarked);
    // Refuses a text of so many bytes if that is too long.
    void check_bytes(std::size_t bytes) const;

private:
    void check_depth(int depth) const;

    std::string name_;
    Limits limits_;
    std::deque<Namespace> namespaces_;
    int line_ = 1, level_ = 0;
    std::size_t steps_ = 0, work_bytes_ = 0;
};

// Counts a level while it lives.
class Level {
public:
    explicit Level(Machine& machine) : machine_(machine) { machine.enter(); }
    ~Level() { machine_.leave(); }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

private:
    Machine& machine_;
};

}  // namespace lockstep::data::jinja
