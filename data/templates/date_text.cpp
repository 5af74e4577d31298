// SPDX-License-Identifier: Apache-2.0
#include "data/templates/date_text.hpp"

#include <array>
#include <chrono>
#include <utility>

#include "runtime/core/printable.hpp"

namespace lockstep::data::jinja {
namespace {

constexpr std::array<std::string_view, 12> months = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<std::string_view, 7> days = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                  "Thursday", "Friday", "Saturday"};

std::string padded(int number, std::size_t width) {
    const std::string digits = std::to_string(number);
    return digits.size() < width ? std::string(width - digits.size(), '0') + digits : digits;
}

std::size_t weekday(const Date& date) {
    const std::chrono::year_month_day day{std::chrono::year(date.year),
                                          std::chrono::month(static_cast<unsigned>(date.month)),
                                          std::chrono::day(static_cast<unsigned>(date.day))};
    return std::chrono::weekday(std::chrono::sys_days(day)).c_encoding();
}

int day_of_year(const Date& date) {
    const auto days_to = [&](int month, int day) {
        return std::chrono::sys_days(std::chrono::year_month_day{
            std::chrono::year(date.year), std::chrono::month(static_cast<unsigned>(month)),
            std::chrono::day(static_cast<unsigned>(day))});
    };
    return static_cast<int>((days_to(date.month, date.day) - days_to(1, 1)).count()) + 1;
}

enum class Padding { yes, no };

// Returns what a code stands for; empty: it is not known.
std::string of_code(const Date& date, char code, Padding padding) {
    const std::size_t two = padding == Padding::yes ? 2 : 1;
    const std::string month(months.at(static_cast<std::size_t>(date.month) - 1));
    const std::string day(days.at(weekday(date)));
    const std::array<std::pair<char, std::string>, 16> known = {
        {{'d', padded(date.day, two)},
         {'m', padded(date.month, two)},
         {'Y', padded(date.year, 4)},
         {'y', padded(date.year % 100, two)},
         {'B', month},
         {'b', month.substr(0, 3)},
         {'A', day},
         {'a', day.substr(0, 3)},
         {'j', padded(day_of_year(date), padding == Padding::yes ? 3 : 1)},
         {'H', padded(0, two)},
         {'M', padded(0, two)},
         {'S', padded(0, two)},
         {'I', "12"},
         {'p', "AM"},
         {'F', padded(date.year, 4) + "-" + padded(date.month, 2) + "-" + padded(date.day, 2)},
         {'%', "%"}}};
    for (const auto& [name, text] : known)
        if (name == code) return text;
    return "";
}

}  // namespace

std::string date_text(Machine& machine, const Date& date, std::string_view format) {
    std::string out;
    for (std::size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%' || i + 1 == format.size()) {
            out += format[i];
            continue;
        }
        const bool unpadded = format[i + 1] == '-' && i + 2 < format.size();
        i += unpadded ? 2 : 1;
        const std::string text = of_code(date, format[i], unpadded ? Padding::no : Padding::yes);
        if (text.empty())
            machine.fail("strftime_now: the code '%" + shown(format.substr(i, 1)) +
                         "' is not supported");
        out += text;
        machine.step();
        machine.check_bytes(out.size());
    }
    return out;
}

}  // namespace lockstep::data::jinja
