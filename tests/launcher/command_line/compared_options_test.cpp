// SPDX-License-Identifier: Apache-2.0
#include "launcher/command_line/compared_options.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>
#include <vector>

#include "launcher/options/run_command.hpp"
#include "runtime/core/error.hpp"

using namespace lockstep;
using namespace lockstep::launcher;

namespace {

constexpr std::array tasks{Task::train, Task::evaluate};

ComparedOptions compared(Task task, RunConfig config) {
    return compared_options(run_tables(task, config), config.given);
}

// Returns words of which every option takes at least two.
std::vector<std::string> candidates(const Option& option) {
    std::vector<std::string> words{"true",  "false", "7",   "5",    "0.25",      "0.5",
                                   "other", "first", "ppl", "loss", "token_acc", "1e-9,1e-4"};
    std::istringstream choices(option.placeholder);
    for (std::string word; std::getline(choices, word, '|');) words.push_back(word);
    return words;
}

// Changes the option in a config of its own. Returns the options that a comparison then sees.
ComparedOptions changed(Task task, const std::string& name, const ComparedOptions& before) {
    RunConfig config;
    for (const OptionTable& table : run_tables(task, config)) {
        const auto found = std::ranges::find(table.options(), name, &Option::name);
        if (found == table.options().end()) continue;
        for (const std::string& word : candidates(*found)) {
            try {
                found->assign({word});
            } catch (const Error&) {
                continue;
            }
            const ComparedOptions after = compared(task, config);
            if (first_difference(before, after)) return after;
        }
    }
    return before;
}

}  // namespace

TEST_CASE("every option is compared between ranks, or says the reason why not") {
    int per_rank = 0;
    for (const Task task : tasks) {
        RunConfig config;
        const ComparedOptions before = compared(task, config);
        for (const OptionTable& table : run_tables(task, config)) {
            for (const Option& option : table.options()) {
                CAPTURE(option.name);
                const bool exempt = !option.per_rank.empty();
                const auto difference =
                    first_difference(before, changed(task, option.name, before));
                CHECK(difference.has_value() != exempt);
                CHECK(before.contains(option.name) != exempt);
                per_rank += exempt ? 1 : 0;
            }
        }
    }
    CHECK(per_rank > 0);
}

TEST_CASE("a path is the same by its words or by the folder that it names from here") {
    const auto with_data = [](const std::string& data) {
        RunConfig config;
        config.data = {data};
        return compared(Task::train, config);
    };
    const std::string here = std::filesystem::current_path().string();
    CHECK_FALSE(first_difference(with_data("d"), with_data(here + "/d/")));
    CHECK_FALSE(first_difference(with_data("d"), with_data("./x/../d")));
    CHECK(first_difference(with_data("d"), with_data("e")) == "data");
    ComparedOptions elsewhere = with_data("d");
    elsewhere["data"].absolute = "/of/another/host/d";
    CHECK_FALSE(first_difference(with_data("d"), elsewhere));
}

TEST_CASE("options are the same after they were written and read, whatever their values are") {
    RunConfig config;
    config.data = {"a b", "\n--x\t\xff"};
    const ComparedOptions before = compared(Task::train, config);
    const ComparedOptions after = compared_options_from(to_text(before));
    CHECK_FALSE(first_difference(before, after));
    CHECK(after.at("data").text == before.at("data").text);
    ComparedOptions fewer = before;
    fewer.erase("seed");
    CHECK(first_difference(before, fewer) == "seed");
    CHECK(first_difference(fewer, before) == "seed");
    CHECK_THROWS_AS(compared_options_from("half a text"), Error);
}

TEST_CASE("an option that was given is named before those that follow from it") {
    const ComparedOptions adam{{"betas", {"0.9,0.999", ""}}, {"optimizer", {"adam", ""}}};
    ComparedOptions lion{{"betas", {"0.9,0.99", ""}}, {"optimizer", {"lion", "", true}}};
    CHECK(first_difference(adam, lion) == "optimizer");
    CHECK(first_difference(compared_options_from(to_text(lion)), adam) == "optimizer");
    lion["optimizer"].given = false;
    CHECK(first_difference(adam, lion) == "betas");
}
