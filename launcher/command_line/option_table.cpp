// SPDX-License-Identifier: Apache-2.0
#include "launcher/command_line/option_table.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>

#include "launcher/command_line/habits.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher {

namespace {

std::string lower(std::string word) {
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return word;
}

bool is_true(const std::string& word) {
    const std::string w = lower(word);
    return w == "true" || w == "yes" || w == "1" || w == "t" || w == "y" || w == "on";
}

bool is_false(const std::string& word) {
    const std::string w = lower(word);
    return w == "false" || w == "no" || w == "0" || w == "f" || w == "n" || w == "off";
}

}  // namespace

bool is_bool_word(const std::string& word) { return is_true(word) || is_false(word); }

bool parse_bool(const std::string& option, const std::string& word) {
    if (!is_bool_word(word)) OptionTable::reject(option, word, "true or false");
    return is_true(word);
}

std::int64_t parse_integer(const std::string& option, const std::string& word,
                           std::int64_t smallest, std::uint64_t largest) {
    std::int64_t value = 0;
    const char* end = word.data() + word.size();
    const auto result = std::from_chars(word.data(), end, value);
    if (result.ec != std::errc{} || result.ptr != end) {
        OptionTable::reject(option, word, "a whole number");
    }
    if (value < smallest) {
        OptionTable::reject(option, word, "allowed: give " + std::to_string(smallest) + " or more");
    }
    if (value > 0 && static_cast<std::uint64_t>(value) > largest) {
        OptionTable::reject(option, word, "allowed: at most " + std::to_string(largest));
    }
    return value;
}

double parse_number(const std::string& option, const std::string& word) {
    double value = 0;
    const char* end = word.data() + word.size();
    const auto result = std::from_chars(word.data(), end, value);
    if (result.ec != std::errc{} || result.ptr != end || !std::isfinite(value)) {
        OptionTable::reject(option, word, "a number");
    }
    return value;
}

namespace {

template <class Number>
std::string shortest(Number value) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    return {text, end};
}

}  // namespace

std::string number_word(double value) { return shortest(value); }
std::string number_word(float value) { return shortest(value); }

void OptionTable::reject(const std::string& name, const std::string& value,
                         const std::string& wanted) {
    throw Error(ErrorKind::config, "--" + name + ": '" + shown(value) + "' is not " + wanted);
}

void OptionTable::reject_choice(const std::string& name, const std::string& value,
                                const std::string& words) {
    const std::string instead = instead_of_value(name, value);
    reject(name, value, "one of " + words + (instead.empty() ? "" : "; " + instead));
}

std::string OptionTable::first_name(const std::string& names) {
    return names.substr(0, names.find(','));
}

Option& OptionTable::add(const std::string& names, Arity arity, std::string placeholder,
                         std::string help, std::string default_text,
                         std::function<void(const std::vector<std::string>&)> assign) {
    std::istringstream in(names);
    std::string name, alias;
    std::getline(in, name, ',');
    std::vector<std::string> aliases;
    while (std::getline(in, alias, ',')) aliases.push_back(alias);
    return options_.emplace_back(Option{.name = std::move(name),
                                        .aliases = std::move(aliases),
                                        .arity = arity,
                                        .placeholder = std::move(placeholder),
                                        .help = std::move(help),
                                        .default_text = std::move(default_text),
                                        .assign = std::move(assign),
                                        .instead = "",
                                        .per_rank = "",
                                        .traits = {},
                                        .replaced = {},
                                        .yields = {}});
}

void OptionTable::refuse_all(const std::string& instead) {
    for (Option& option : options_) option.instead = instead;
}

void OptionTable::refuse(const std::vector<std::string>& names, const std::string& instead) {
    for (Option& option : options_) {
        if (std::ranges::find(names, option.name) != names.end()) option.instead = instead;
    }
}

Option& OptionTable::text(const std::string& names, std::string& target,
                          const std::string& placeholder, const std::string& help) {
    return add(names, Arity::one, placeholder, help, target,
               [&target](const auto& given) { target = given.front(); });
}

Option& OptionTable::texts(const std::string& names, std::vector<std::string>& target,
                           const std::string& placeholder, const std::string& help) {
    std::string shown;
    for (const std::string& word : target) shown += (shown.empty() ? "" : " ") + word;
    return add(names, Arity::many, placeholder, help, shown,
               [&target](const auto& given) { target = given; });
}

Option& OptionTable::lines(const std::string& names, std::vector<std::string>& target,
                           const std::string& placeholder, const std::string& help) {
    return add(names, Arity::line, placeholder, help, "",
               [&target](const auto& given) { target = given; });
}

Option& OptionTable::number(const std::string& names, double& target, const std::string& help) {
    return add(names, Arity::one, "X", help, number_word(target),
               [&target, name = first_name(names)](const auto& given) {
                   target = parse_number(name, given.front());
               });
}

namespace {

double number_of_fp32_from_0(const std::string& name, const std::string& word, double largest) {
    using Fp32 = std::numeric_limits<float>;
    const double number = parse_number(name, word);
    if (number < 0) OptionTable::reject(name, word, "a number of 0 or more");
    if (number > Fp32::max())
        OptionTable::reject(name, word, "a number of at most 3.4e38, the largest of fp32");
    if (number > largest)
        OptionTable::reject(name, word, "a number of at most " + number_word(largest));
    if (number > 0 && number < Fp32::min())
        OptionTable::reject(name, word, "0 and less than fp32 holds: give 0, or at least 1.2e-38");
    return number;
}

}  // namespace

Option& OptionTable::number_from_0(const std::string& names, double& target,
                                   const std::string& help, double largest) {
    return add(names, Arity::one, "X", help, number_word(target),
               [&target, largest, name = first_name(names)](const auto& given) {
                   target = number_of_fp32_from_0(name, given.front(), largest);
               });
}

Option& OptionTable::number_from_0(const std::string& names, float& target, const std::string& help,
                                   double largest) {
    return add(names, Arity::one, "X", help, number_word(target),
               [&target, largest, name = first_name(names)](const auto& given) {
                   target = static_cast<float>(number_of_fp32_from_0(name, given.front(), largest));
               });
}

Option& OptionTable::seconds(const std::string& names, double& target, const std::string& help) {
    return add(names, Arity::one, "X", help, number_word(target),
               [&target, name = first_name(names)](const auto& given) {
                   target = parse_number(name, given.front());
                   if (!(target >= 0 && target <= 1e6))
                       reject(name, given.front(), "a number of 0 to 1000000 seconds");
               });
}

Option& OptionTable::rate(const std::string& names, float& target, const std::string& help) {
    return add(names, Arity::one, "X", help, number_word(target),
               [&target, name = first_name(names)](const auto& given) {
                   const double value = parse_number(name, given.front());
                   const auto used = static_cast<float>(value);
                   if (value < 0 || used >= 1) reject(name, given.front(), "in [0, 1)");
                   target = used;
               });
}

Option& OptionTable::flag(const std::string& names, bool& target, const std::string& help) {
    return add(names, Arity::flag, "", help, target ? "true" : "false",
               [&target, name = first_name(names)](const auto& given) {
                   target = parse_bool(name, given.front());
               });
}

}  // namespace lockstep::launcher
