// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::launcher {

// many: a list of words. line: one word, which may begin with dashes; the option may be repeated,
// and then has a list, too.
enum class Arity { flag, one, many, line };

// What other parts of the program have to know of an option.
enum class Trait {
    paths,    // two values are equal also if they name the same folders from where they were typed
    launch,   // belongs to a launch (device, ranks, output), not to the run: no checkpoint gives it
    limit,    // says when the run ends, and nothing else
    updates,  // decides how the validations of the next updates turn out
    decays,   // another value begins without the decays of the learning rate so far
    model,    // a trained model keeps it as a default for those who use it
    metric,   // values of the metric before and after a change of it cannot be compared
};

// An option has a long name, ParlAI's short forms (without dashes), and a function that stores its
// value.
struct Option {
    std::string name;
    std::vector<std::string> aliases;
    Arity arity;
    std::string placeholder;
    std::string help;
    std::string default_text;
    std::function<void(const std::vector<std::string>&)> assign;  // throws a config error
    std::string instead;  // not empty: the option is refused; this text says what to do instead

    std::string per_rank;  // not empty: why ranks may have other values
    std::vector<Trait> traits;
    // These options of a checkpoint go if this one is given: it says the same in another way.
    std::vector<std::string> replaced;
    // A model's default of this option goes if one of these is given.
    std::vector<std::string> yields;

    // A row of a table says so behind the option:
    // table.text("data", ...).with(Trait::paths).
    Option& on_each_rank(const std::string& reason) {
        per_rank = reason;
        return *this;
    }
    template <std::same_as<Trait>... More>
    Option& with(Trait first, More... more) {
        traits.insert(traits.end(), {first, more...});
        return *this;
    }
    Option& in_place_of(std::vector<std::string> others) {
        replaced = std::move(others);
        return *this;
    }
    Option& yielding_to(std::vector<std::string> others) {
        yields = std::move(others);
        return *this;
    }
    bool has(Trait trait) const noexcept {
        return std::ranges::find(traits, trait) != traits.end();
    }
};

// Reads a boolean as ParlAI does: "true", "yes", "1", "t", "y", "on" and their opposites in any
// case.
bool is_bool_word(const std::string& word);
bool parse_bool(const std::string& option, const std::string& word);
// Returns a number in [smallest, largest]. Any other word is a config error that names the limits.
std::int64_t parse_integer(const std::string& option, const std::string& word,
                           std::int64_t smallest, std::uint64_t largest);
double parse_number(const std::string& option, const std::string& word);
// Returns the shortest word that parse_number reads back as `value`.
std::string number_word(double value);
std::string number_word(float value);

// Holds the options of one topic, bound to the fields that they set. The bound fields must outlive
// the table.
class OptionTable {
public:
    explicit OptionTable(std::string caption) : caption_(std::move(caption)) {}

    // These functions add an option, and return it until the next one is added. `names` lists the
    // long name, then the short forms, separated by commas: "batchsize,bs".
    Option& text(const std::string& names, std::string& target, const std::string& placeholder,
                 const std::string& help);
    // Accepts 0 to a million seconds, which fit 32 bits in milliseconds, with what is added to
    // them.
    Option& seconds(const std::string& names, double& target, const std::string& help);
    // A repeated option adds to the list.
    Option& texts(const std::string& names, std::vector<std::string>& target,
                  const std::string& placeholder, const std::string& help);
    // Takes the next word, also if it looks like an option. The words of a repeated option form a
    // list.
    Option& lines(const std::string& names, std::vector<std::string>& target,
                  const std::string& placeholder, const std::string& help);
    // Accepts a number in [smallest, largest]; the error message names the limits. `largest` is
    // above any practical value, but small enough that sums and products of such numbers do not
    // overflow.
    template <std::integral I>
    Option& integer(const std::string& names, I& target, const std::string& help,
                    std::int64_t smallest = INT64_MIN, std::uint64_t largest = UINT64_MAX) {
        const std::uint64_t most = std::min<std::uint64_t>(largest, std::numeric_limits<I>::max());
        return add(names, Arity::one, "N", help, std::to_string(target),
                   [&target, smallest, most, name = first_name(names)](const auto& given) {
                       target = static_cast<I>(parse_integer(name, given.front(), smallest, most));
                   });
    }
    Option& number(const std::string& names, double& target, const std::string& help);
    // Accepts 0 and numbers to `largest` that fp32, in which they are used, neither rounds to 0 nor
    // makes infinite.
    Option& number_from_0(const std::string& names, double& target, const std::string& help,
                          double largest = std::numeric_limits<float>::max());
    Option& number_from_0(const std::string& names, float& target, const std::string& help,
                          double largest = std::numeric_limits<float>::max());
    // Accepts a number in [0, 1) whose fp32 value is below 1, too.
    Option& rate(const std::string& names, float& target, const std::string& help);
    // Reads a boolean in ParlAI's forms: --name, --name true, --name=False.
    Option& flag(const std::string& names, bool& target, const std::string& help);

    template <class E>
    Option& choice(const std::string& names, E& target,
                   const std::vector<std::pair<std::string, E>>& values, const std::string& help) {
        std::string words, shown;
        for (const auto& [word, value] : values) {
            words += (words.empty() ? "" : "|") + word;
            if (value == target) shown = word;
        }
        return add(names, Arity::one, words, help, shown,
                   [values, words, &target, name = first_name(names)](const auto& given) {
                       for (const auto& [word, value] : values) {
                           if (word != given.front()) continue;
                           target = value;
                           return;
                       }
                       reject_choice(name, given.front(), words);
                   });
    }

    // Adds an option of any other type.
    Option& add(const std::string& names, Arity arity, std::string placeholder, std::string help,
                std::string default_text,
                std::function<void(const std::vector<std::string>&)> assign);

    // These two functions refuse options. `instead` says what to do instead of giving them to this
    // program.
    void refuse_all(const std::string& instead);
    void refuse(const std::vector<std::string>& names, const std::string& instead);

    // Gives all options the trait.
    void with(Trait trait) {
        for (Option& option : options_) option.with(trait);
    }

    const std::string& caption() const noexcept { return caption_; }
    const std::vector<Option>& options() const noexcept { return options_; }

    // Throws the config error "--name: 'value' is not WANTED".
    [[noreturn]] static void reject(const std::string& name, const std::string& value,
                                    const std::string& wanted);

private:
    static std::string first_name(const std::string& names);
    [[noreturn]] static void reject_choice(const std::string& name, const std::string& value,
                                           const std::string& words);

    std::string caption_;
    std::vector<Option> options_;
};

}  // namespace lockstep::launcher
