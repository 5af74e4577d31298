// SPDX-License-Identifier: Apache-2.0
#include "data/templates/printing.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "data/text/unicode.hpp"

namespace lockstep::data::jinja {
namespace {

void append_hex(char32_t code_point, std::string& out) {
    constexpr std::string_view digits = "0123456789abcdef";
    const int width = code_point < 0x100 ? 2 : code_point < 0x10000 ? 4 : 8;
    out += width == 2 ? "\\x" : width == 4 ? "\\u" : "\\U";
    for (int shift = 4 * (width - 1); shift >= 0; shift -= 4)
        out += digits[code_point >> shift & 15];
}

// Python writes characters that cannot be seen as escapes: of these, controls and spaces are known
// here, characters without meaning are not.
std::string escaped(char32_t code_point, char quote) {
    std::string out;
    if (code_point == '\n') return "\\n";
    if (code_point == '\r') return "\\r";
    if (code_point == '\t') return "\\t";
    const bool control = code_point < 0x20 || (code_point >= 0x7F && code_point <= 0xA0) ||
                         code_point == 0xAD || (code_point >= 0x200B && code_point <= 0x200F) ||
                         (code_point >= 0x2028 && code_point <= 0x202E) ||
                         (code_point >= 0x2060 && code_point <= 0x206F) || code_point == 0xFEFF;
    const bool space = code_point > 0x7F && unicode::class_of(code_point) == unicode::Class::space;
    if (control || space)
        append_hex(code_point, out);
    else {
        if (code_point == '\\' || code_point == static_cast<unsigned char>(quote)) out += '\\';
        unicode::append(code_point, out);
    }
    return out;
}

class Printer {
public:
    explicit Printer(Machine& machine) : machine_(machine) {}

    // Appends what repr() gives.
    void add(const Value& value, Text& out) {
        const Level level(machine_);
        machine_.step();
        if (const Text* text = text_in(value))
            add_text(*text, out);
        else if (const List* list = list_in(value))
            add_list(*list, out);
        else if (const Dict* dict = dict_in(value))
            add_dict(*dict, out);
        else
            machine_.append(out, simple(value));
    }
    std::string simple(const Value& value) const {
        if (get<None>(value) != nullptr) return "None";
        if (const auto* flag = get<bool>(value)) return *flag ? "True" : "False";
        if (const auto* whole = get<std::int64_t>(value)) return std::to_string(*whole);
        if (const auto* real = get<double>(value)) return printed_real(*real);
        if (is_undefined(value)) return "Undefined";
        machine_.fail("a value of the type " + type_name(value) + " has no text");
    }

private:
    void add_text(const Text& text, Text& out) {
        const std::string& bytes = text.bytes();
        const bool doubled = bytes.find('\'') != std::string::npos && bytes.find('"') == bytes.npos;
        const char quote = doubled ? '"' : '\'';
        machine_.append(out, std::string_view(&quote, 1));
        machine_.work(bytes.size());
        for (std::size_t i = 0; i < bytes.size();) {
            const unicode::Decoded one = unicode::decode(std::string_view(bytes).substr(i));
            machine_.append(out, escaped(one.code_point, quote), text.marks_at(i));
            i += std::max<std::size_t>(one.bytes, 1);
        }
        machine_.append(out, std::string_view(&quote, 1));
    }
    void add_list(const List& list, Text& out) {
        if (list.kind != List::Kind::list && list.kind != List::Kind::tuple)
            machine_.fail("an iterator has no text; use the filter 'list'");
        const bool tuple = list.kind == List::Kind::tuple;
        machine_.append(out, tuple ? "(" : "[");
        for (std::size_t i = 0; i < list.items.size(); ++i) {
            if (i > 0) machine_.append(out, ", ");
            add(list.items[i], out);
        }
        if (tuple && list.items.size() == 1) machine_.append(out, ",");
        machine_.append(out, tuple ? ")" : "]");
    }
    void add_dict(const Dict& dict, Text& out) {
        machine_.append(out, "{");
        for (std::size_t i = 0; i < dict.members.size(); ++i) {
            if (i > 0) machine_.append(out, ", ");
            add_text(*dict.members[i].first, out);
            machine_.append(out, ": ");
            add(dict.members[i].second, out);
        }
        machine_.append(out, "}");
    }

    Machine& machine_;
};

}  // namespace

std::string printed_real(double real) {
    if (std::isnan(real)) return "nan";
    if (std::isinf(real)) return real < 0 ? "-inf" : "inf";
    std::array<char, 40> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), real,
                                   std::chars_format::scientific);
    std::string scientific(buffer.data(), end.ptr);
    const std::string sign = scientific.starts_with('-') ? "-" : "";
    if (!sign.empty()) scientific.erase(0, 1);
    const std::size_t letter = scientific.find('e');
    const int exponent = std::stoi(scientific.substr(letter + 1));
    std::string digits = scientific.substr(0, letter);
    if (digits.size() > 1) digits.erase(1, 1);
    if (exponent < -4 || exponent >= 16) return sign + scientific;
    if (exponent < 0)
        return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
    const auto whole = static_cast<std::size_t>(exponent) + 1;
    if (digits.size() <= whole) digits.resize(whole + 1, '0');
    return sign + digits.insert(whole, ".");
}

Text printed(Machine& machine, const Value& value) {
    if (const Text* text = text_in(value)) return *text;
    if (is_undefined(value)) return {};
    Text out;
    Printer(machine).add(value, out);
    return out;
}

}  // namespace lockstep::data::jinja
