// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/needs.hpp"

namespace {

namespace tests = lockstep::tests;

// ctest counts a program that ends so as skipped.
constexpr int skipped = 77;

// Clears the variables of launchers: tests define how their ranks were started, but may themselves
// run in a job of Slurm or MPI.
void forget_other_jobs() {
    std::vector<std::string> names;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string name = std::string(*entry).substr(0, std::string(*entry).find('='));
        for (const char* prefix : {"SLURM_", "PMIX_", "PMI_", "OMPI_COMM_WORLD_", "TORCHELASTIC_",
                                   "LOCAL_", "MASTER_", "LOCKSTEP_"}) {
            if (name.starts_with(prefix)) names.push_back(name);
        }
    }
    names.insert(names.end(), {"RANK", "WORLD_SIZE"});
    for (const std::string& name : names) ::unsetenv(name.c_str());
}

// Clears what nohup and shells do to programs in the background: tests send these signals to their
// own processes.
void heed_signals() {
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT}) ::signal(signal, SIG_DFL);
}

// Returns the suites of the cases that the command line chooses, among other lines.
std::string list_suites(int argc, char** argv) {
    std::vector<const char*> words(argv, argv + argc);
    words.insert(words.end(), {"--list-test-suites", "--no-colors"});
    std::ostringstream listed;
    doctest::Context context(static_cast<int>(words.size()), words.data());
    context.setCout(&listed);
    context.run();
    return listed.str();
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        lines.push_back(text.substr(0, text.find('\n')));
        text.remove_prefix(std::min(text.size(), lines.back().size() + 1));
    }
    return lines;
}

bool in_integration() {
    const char* value = std::getenv("CI");
    return value != nullptr && std::string_view(value) == "true";
}

}  // namespace

int main(int argc, char** argv) {
    forget_other_jobs();
    heed_signals();
    doctest::Context context(argc, argv);
    if (context.shouldExit()) return context.run();
    const std::string listed = list_suites(argc, argv);
    const auto missing = tests::missing_needs(lines_of(listed));
    for (const tests::MissingNeed& need : missing) {
        std::cerr << "skipped: each case that " << need.suite << ", because " << need.lack << '\n';
        if (in_integration() && need.in_integration == tests::InIntegration::refused) {
            std::cerr << "with CI=true no such case may be left out\n";
            return EXIT_FAILURE;
        }
        context.addFilter("test-suite-exclude", need.suite.c_str());
    }
    const int code = context.run();
    return code == EXIT_SUCCESS && !missing.empty() ? skipped : code;
}
