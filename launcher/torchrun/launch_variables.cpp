// SPDX-License-Identifier: Apache-2.0
#include "launcher/torchrun/launch_variables.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "launcher/torchrun/launch_hosts.hpp"
#include "launcher/torchrun/unsupported_options.hpp"
#include "runtime/comm/environment/address_text.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher {

namespace {

constexpr std::string_view prefix = "PET_";

// torchrun has no such options.
constexpr std::array<std::string_view, 3> own_options{"secret-file", "use-env",
                                                      "log-line-prefix-template"};

std::string value_of(const comm::Environment& environment, const std::string& variable) {
    const auto found = environment.find(variable);
    return found == environment.end() ? "" : comm::trimmed(found->second);
}

// torchrun reads a flag as a number that is not 0.
std::string word_of(const Option& option, const std::string& value) {
    const bool number = std::ranges::all_of(value, [](unsigned char c) { return std::isdigit(c); });
    if (option.arity != Arity::flag || !number) return value;
    return value.find_first_not_of('0') == std::string::npos ? "false" : "true";
}

[[noreturn]] void refuse_variable(const std::string& variable, const std::string& value,
                                  const std::string& what) {
    refuse(variable + "='" + shown(value) + "' in the environment: " + what);
}

void refuse_unsupported(const comm::Environment& environment) {
    for (const std::string_view option : unsupported_options()) {
        const std::string variable = launch_variable(std::string(option));
        const std::string value = value_of(environment, variable);
        if (value.empty()) continue;
        try {
            refuse_option_of_torchrun(std::string(option));
        } catch (const Error& error) {
            refuse_variable(variable, value, error.what());
        }
    }
}

}  // namespace

std::string launch_variable(const std::string& option) {
    std::string name(prefix);
    for (const unsigned char c : option)
        name += c == '-' ? '_' : static_cast<char>(std::toupper(c));
    return name;
}

std::set<std::string> take_launch_variables(const std::vector<OptionTable>& tables,
                                            const comm::Environment& environment) {
    refuse_unsupported(environment);
    std::set<std::string> taken;
    for (const OptionTable& table : tables) {
        for (const Option& option : table.options()) {
            if (std::ranges::find(own_options, option.name) != own_options.end()) continue;
            const std::string variable = launch_variable(option.name);
            const std::string value = value_of(environment, variable);
            if (value.empty()) continue;
            try {
                option.assign({word_of(option, value)});
            } catch (const Error& error) {
                refuse_variable(variable, value, error.what());
            }
            taken.insert(option.name);
        }
    }
    return taken;
}

std::string naming_variable(const std::string& message, const std::set<std::string>& by_variable,
                            const std::set<std::string>& given,
                            const comm::Environment& environment) {
    for (const std::string& option : by_variable) {
        if (given.contains(option) || !message.starts_with("--" + option)) continue;
        const std::string variable = launch_variable(option);
        return variable + "='" + shown(environment.at(variable)) +
               "' in the environment: " + message;
    }
    return message;
}

}  // namespace lockstep::launcher
