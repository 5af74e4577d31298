// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/continued_options.hpp"

#include <doctest/doctest.h>

#include <set>

#include "launcher/options/run_command.hpp"

using namespace lockstep::launcher;

TEST_CASE("options of the updates and of the metric say what a continued run counts anew") {
    const auto config_of = [](std::vector<std::string> words) {
        words.insert(words.end(), {"--data", "data", "-mf", "model", "--max-train-steps", "9"});
        return *parse_run(Task::train, "", words);
    };
    StoredOptions stored;
    stored.values = option_values(Task::train, config_of({}));
    stored.data = {"data"};
    const auto anew = [&](const std::vector<std::string>& words) {
        const RunConfig config = config_of(words);
        RunConfig unused;
        return counted_anew(stored, config, run_tables(Task::train, unused),
                            option_values(Task::train, config));
    };
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{},
                                               {"--keep", "5"},
                                               {"-vp", "20", "-vstep", "7"},
                                               {"-vstep", "7"},
                                               {"--num-workers", "2"},
                                               {"-lr", "0.001"},
                                               {"--precision", "fp32"}}) {
        CAPTURE(words.empty() ? "" : words.front());
        CHECK_FALSE(anew(words).validations);
        CHECK_FALSE(anew(words).best);
        CHECK_FALSE(anew(words).decays);
    }
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"-lr", "0.01"},
                                               {"--lr-scheduler", "invsqrt"},
                                               {"--weight-decay", "0.1"},
                                               {"-bs", "7"},
                                               {"--dropout", "0.3"},
                                               {"--gradient-clip", "1"},
                                               {"--truncate", "9"}}) {
        CAPTURE(words.front());
        CHECK(anew(words).validations);
        CHECK_FALSE(anew(words).best);
        CHECK(anew(words).decays == (words.front() == "-lr" || words.front() == "--lr-scheduler"));
    }
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"-vmt", "token_acc"}, {"-vmm", "max"}, {"-vme", "7"}}) {
        CAPTURE(words.front());
        CHECK(anew(words).validations);
        CHECK(anew(words).best);
        CHECK_FALSE(anew(words).decays);
    }
}

TEST_CASE("the row of an option names no option that its program does not have") {
    for (const Task task : {Task::train, Task::evaluate, Task::generate}) {
        RunConfig config;
        const std::vector<OptionTable> tables = run_tables(task, config);
        std::set<std::string> names;
        std::vector<std::string> named;
        for (const OptionTable& table : tables)
            for (const Option& option : table.options()) {
                names.insert(option.name);
                named.insert(named.end(), option.replaced.begin(), option.replaced.end());
                named.insert(named.end(), option.yields.begin(), option.yields.end());
            }
        CHECK_FALSE(named.empty());
        for (const std::string& name : named) CHECK_MESSAGE(names.contains(name), name);
    }
}
