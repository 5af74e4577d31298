// SPDX-License-Identifier: Apache-2.0
#include "data/templates/json_writing.hpp"

#include <algorithm>
#include <cmath>

#include "data/templates/printing.hpp"
#include "data/text/unicode.hpp"

namespace lockstep::data::jinja {
namespace {

void append_unit(unsigned unit, std::string& out) {
    constexpr std::string_view digits = "0123456789abcdef";
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += digits[unit >> shift & 15];
}

std::string escaped_in_json(char32_t code_point, JsonStyle::Letters letters) {
    constexpr std::string_view simple = "\"\\\n\r\t\f\b", names = "\"\\nrtfb";
    std::string out;
    const std::size_t found =
        code_point < 0x80 ? simple.find(static_cast<char>(code_point)) : std::string_view::npos;
    const bool as_it_is =
        code_point >= 0x20 && (code_point < 0x7F || letters == JsonStyle::Letters::as_they_are);
    if (found != std::string_view::npos)
        (out += '\\') += names[found];
    else if (as_it_is)
        unicode::append(code_point, out);
    else if (code_point < 0x10000)
        append_unit(static_cast<unsigned>(code_point), out);
    else {
        const auto rest = static_cast<unsigned>(code_point) - 0x10000;
        append_unit(0xD800 + (rest >> 10), out);
        append_unit(0xDC00 + (rest & 0x3FF), out);
    }
    return out;
}

class JsonWriter {
public:
    JsonWriter(Machine& machine, const JsonStyle& style) : machine_(machine), style_(style) {}

    void add(const Value& value, Text& out) {
        const Level level(machine_);
        machine_.step();
        if (const Text* text = text_in(value))
            add_text(*text, out);
        else if (const Dict* dict = dict_in(value))
            add_dict(*dict, out);
        else if (const List* list = list_in(value); list != nullptr && is_array(*list))
            add_list(*list, out);
        else
            machine_.append(out, simple(value));
    }

private:
    static bool is_array(const List& list) {
        return list.kind == List::Kind::list || list.kind == List::Kind::tuple;
    }
    std::string simple(const Value& value) const {
        if (get<None>(value) != nullptr) return "null";
        if (const auto* flag = get<bool>(value)) return *flag ? "true" : "false";
        if (const auto* whole = get<std::int64_t>(value)) return std::to_string(*whole);
        const auto* real = get<double>(value);
        if (real == nullptr)
            machine_.fail("a value of the type " + type_name(value) + " cannot be JSON");
        if (std::isnan(*real)) return "NaN";
        if (std::isinf(*real)) return *real < 0 ? "-Infinity" : "Infinity";
        return printed_real(*real);
    }
    void add_text(const Text& text, Text& out) {
        const std::string& bytes = text.bytes();
        machine_.work(bytes.size());
        machine_.append(out, "\"");
        for (std::size_t i = 0; i < bytes.size();) {
            const unicode::Decoded one = unicode::decode(std::string_view(bytes).substr(i));
            machine_.append(out, escaped_in_json(one.code_point, style_.letters), text.marks_at(i));
            i += std::max<std::size_t>(one.bytes, 1);
        }
        machine_.append(out, "\"");
    }
    void begin_item(bool first, Text& out) {
        if (!first) machine_.append(out, style_.between);
        begin_line(out);
    }
    void begin_line(Text& out) {
        if (!style_.indent) return;
        machine_.append(out, "\n");
        for (int i = 0; i < level_; ++i) machine_.append(out, *style_.indent);
    }
    void add_list(const List& list, Text& out) {
        if (list.items.empty()) return machine_.append(out, "[]");
        machine_.append(out, "[");
        ++level_;
        for (std::size_t i = 0; i < list.items.size(); ++i) {
            begin_item(i == 0, out);
            add(list.items[i], out);
        }
        --level_;
        begin_line(out);
        machine_.append(out, "]");
    }
    void add_dict(const Dict& dict, Text& out) {
        if (dict.members.empty()) return machine_.append(out, "{}");
        std::vector<const std::pair<TextPointer, Value>*> members;
        for (const auto& member : dict.members) members.push_back(&member);
        if (style_.order == JsonStyle::Order::sorted)
            std::ranges::stable_sort(
                members, {}, [](const auto* m) -> const std::string& { return m->first->bytes(); });
        machine_.append(out, "{");
        ++level_;
        for (std::size_t i = 0; i < members.size(); ++i) {
            begin_item(i == 0, out);
            add_text(*members[i]->first, out);
            machine_.append(out, style_.behind_name);
            add(members[i]->second, out);
        }
        --level_;
        begin_line(out);
        machine_.append(out, "}");
    }

    Machine& machine_;
    const JsonStyle& style_;
    int level_ = 0;
};

}  // namespace

Text json_text(Machine& machine, const Value& value, const JsonStyle& style) {
    Text out;
    JsonWriter(machine, style).add(value, out);
    return out;
}

}  // namespace lockstep::data::jinja
