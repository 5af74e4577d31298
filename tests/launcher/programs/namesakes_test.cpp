// SPDX-License-Identifier: Apache-2.0
// No option may differ in silence from the one that ParlAI, PyTorch, torchrun or Slurm call so.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "tests/support/files.hpp"
#include "tests/support/run_program.hpp"

using namespace lockstep::tests;

namespace {

struct Shown {
    std::set<std::string> names;  // the long one and its short forms
    std::string default_text;
};

struct Verdict {
    std::string word, file;
};

std::vector<std::string> programs() {
    std::istringstream lines(run_line("lockstep help").out);
    std::vector<std::string> names;
    for (std::string line; std::getline(lines, line);) {
        std::smatch found;
        if (std::regex_match(line, found, std::regex("  ([a-z_]+) {2,}.*")))
            names.push_back(found[1]);
    }
    return names;
}

// An option of --help with the lines that belong to it as one text.
void add(std::map<std::string, Shown>& options, const std::string& text) {
    static const std::regex option("--([a-z0-9-]+) .*"), short_form("\\(-([a-z0-9-]+)\\)"),
        default_text(".*\\[([^\\[\\]]*)\\] *");
    std::smatch found;
    if (!std::regex_match(text, found, option)) return;
    Shown& shown = options[found[1]];
    shown.names.insert(found[1]);
    for (std::sregex_iterator i(text.begin(), text.end(), short_form), end; i != end; ++i)
        shown.names.insert((*i)[1]);
    // The first program to show it has the say.
    if (shown.default_text.empty() && std::regex_match(text, found, default_text))
        shown.default_text = found[1];
}

std::map<std::string, Shown> shown_options() {
    std::map<std::string, Shown> options;
    for (const std::string& program : programs()) {
        std::istringstream lines(run_line("lockstep " + program + " --help").out);
        std::string text;
        for (std::string line; std::getline(lines, line);) {
            if (line.starts_with("  --") || line.empty()) {
                add(options, text);
                text.clear();
            }
            const auto first = line.find_first_not_of(' ');
            if (first != std::string::npos) text += line.substr(first) + " ";
        }
        add(options, text);
    }
    return options;
}

std::map<std::string, Verdict> verdicts() {
    std::istringstream lines(read_text("tests/launcher/programs/option_namesakes.txt"));
    std::map<std::string, Verdict> list;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("#")) continue;
        std::istringstream words(line);
        std::string name;
        Verdict verdict;
        words >> name >> verdict.word >> verdict.file;
        CAPTURE(name);
        CHECK(list.emplace(name, verdict).second);
    }
    return list;
}

bool in_a_table(const std::set<std::string>& names) {
    std::istringstream lines(read_text("docs/options.md"));
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("| ")) continue;
        const std::string first = line.substr(0, line.find(" | ", 2));
        for (const std::string& name : names)
            for (const char* dashes : {"`-", "`--"})
                if (std::regex_search(first, std::regex(dashes + name + "[` ]"))) return true;
    }
    return false;
}

// Tells whether a file has one of the names as an option, as a word of code, or after "dict-".
bool named_in(const std::string& file, const std::set<std::string>& names) {
    const std::string text = read_text(file);
    return std::ranges::any_of(names, [&](std::string name) {
        if (text.find("-" + name) != std::string::npos) return true;
        std::ranges::replace(name, '-', '_');
        return text.find(name) != std::string::npos ||
               (name.starts_with("dict_") && text.find(name.substr(5)) != std::string::npos);
    });
}

// Reads numbers such as "1e-30,0.001". Returns nothing if a word is no number.
std::optional<std::vector<double>> numbers(const std::string& text) {
    std::istringstream words(text);
    std::vector<double> values;
    for (std::string word; std::getline(words, word, ',');) {
        std::istringstream in(word);
        double value = 0;
        if (!(in >> value) || !in.eof()) return std::nullopt;
        values.push_back(value);
    }
    return values;
}

bool same_default(std::string ours, std::string parlais) {
    std::ranges::replace(parlais, '\n', 'n');
    std::erase(ours, '\\');
    const auto unset = [](const std::string& text) {
        return text.empty() || text == "-1" || text == "none" || text == "by the metric";
    };
    if (ours == parlais || (unset(ours) && unset(parlais))) return true;
    return numbers(ours) && numbers(ours) == numbers(parlais);
}

// Short forms as in ParlAI; where the meaning is said to be equal, defaults too.
void check_parlai(const nlohmann::json& parlai, const Shown& shown, const Verdict& verdict) {
    for (const std::string& name : shown.names) {
        if (!parlai.contains(name)) continue;
        CHECK(verdict.word != "ours");
        for (const auto& text : parlai.at(name).at("short")) {
            const std::string short_form = text;
            CAPTURE(short_form);
            CHECK(shown.names.contains(short_form));
        }
        if (verdict.word != "equal") continue;
        const auto defaults = parlai.at(name).at("defaults").get<std::vector<std::string>>();
        CAPTURE(shown.default_text);
        CHECK(std::ranges::any_of(defaults, [&](const std::string& text) {
            return same_default(shown.default_text, text);
        }));
    }
}

}  // namespace

TEST_CASE("every option is its namesake's by a test, or differs by the documentation, or is ours") {
    const auto parlai = nlohmann::json::parse(read_text("tests/golden/parlai_options.json"));
    const auto options = shown_options();
    const auto list = verdicts();
    CHECK(options.size() > 150);
    for (const auto& [name, shown] : options) {
        CAPTURE(name);
        const auto found = list.find(name);
        CHECK_MESSAGE(found != list.end(), "option_namesakes.txt lacks it");
        if (found == list.end()) continue;
        const Verdict& verdict = found->second;
        check_parlai(parlai, shown, verdict);
        if (verdict.word == "equal") {
            REQUIRE(std::filesystem::exists("tests/" + verdict.file));
            CHECK_MESSAGE(named_in("tests/" + verdict.file, shown.names),
                          verdict.file << " does not name it");
        } else if (verdict.word == "differs") {
            CHECK_MESSAGE(in_a_table(shown.names), "no table of docs/options.md has it");
        } else {
            CHECK(verdict.word == "ours");
        }
    }
    for (const auto& [name, verdict] : list) {
        CAPTURE(name);
        CHECK_MESSAGE(options.contains(name), "no program has this option of the list");
    }
}
