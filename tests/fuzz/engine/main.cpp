// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target as libFuzzer does, which GCC does not have:
//
//     fuzz_NAME [--seconds N] [--seed N] [--input-seconds N] [--max-bytes N]
//               [--words FILE] [--kept DIR] [--failures DIR] INPUT|DIR ...
//
// Each given input is run once. Then inputs are changed at random; one that passes new blocks of
// the code is kept and changed again. It ends after N seconds of processor time, so that other work
// on the machine takes nothing from the search, but at the latest after ten times as long.
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>

#include "tests/fuzz/engine/corpus.hpp"
#include "tests/fuzz/engine/memory_meter.hpp"
#include "tests/fuzz/engine/mutator.hpp"
#include "tests/fuzz/engine/settings.hpp"
#include "tests/fuzz/engine/supervisor.hpp"
#include "tests/fuzz/engine/words.hpp"
#include "tests/support/files.hpp"

extern "C" {
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// A program is not to go on after a report. GCC's libraries call these functions at the start.
const char* __asan_default_options() { return "detect_stack_use_after_return=1:handle_abort=0"; }
const char* __ubsan_default_options() { return "halt_on_error=1:print_stacktrace=1"; }
}

namespace {

using namespace lockstep::fuzz;
using Clock = std::chrono::steady_clock;

std::chrono::nanoseconds processor_time() {
    timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

// The signals of these timers end the process.
void limit_time(int processor_seconds, int seconds) {
    const itimerval processor{{0, 0}, {processor_seconds, 0}}, wall{{0, 0}, {seconds, 0}};
    ::setitimer(ITIMER_PROF, &processor, nullptr);
    ::setitimer(ITIMER_REAL, &wall, nullptr);
}

class Fuzzing {
public:
    Fuzzing(const Settings& settings, Shared& shared)
        : settings_(settings),
          shared_(shared),
          mutator_(settings.seed,
                   settings.words.empty() ? std::vector<Bytes>{} : read_words(settings.words),
                   settings.max_bytes) {
        memory_meter::install(settings.input_memory_bytes);
    }

    void run(const Bytes& input) {
        constexpr int still_seconds = 30;
        shared_.size = std::min(input.size(), Shared::max_bytes);
        std::copy_n(input.begin(), shared_.size.load(), shared_.input.begin());
        // An exact copy on the heap lets the address sanitizer see a step over its end.
        const std::unique_ptr<std::uint8_t[]> copy(new std::uint8_t[input.size()]);
        std::copy(input.begin(), input.end(), copy.get());
        limit_time(settings_.input_seconds, still_seconds);
        memory_meter::start();
        LLVMFuzzerTestOneInput(copy.get(), input.size());
        const bool unbalanced = memory_meter::unbalanced();
        limit_time(0, 0);
        ++shared_.executions;
        if (unbalanced) look_for_leaks();
    }

    void run_given() {
        for (const std::string& path : settings_.inputs) {
            const Bytes input = read_bytes(path);
            run(input);
            corpus_.look_for_new_blocks();
            corpus_.add(input);
        }
        if (corpus_.size() == 0) corpus_.add({});
        publish();
    }

    void run_changed() {
        const std::chrono::seconds given(settings_.seconds);
        const auto end = processor_time() + given;
        const auto latest = Clock::now() + 10 * given;
        while (processor_time() < end && Clock::now() < latest) {
            Bytes input = corpus_.choose(mutator_);
            mutator_.change(input, corpus_.choose(mutator_));
            run(input);
            if (corpus_.look_for_new_blocks()) keep(std::move(input));
        }
    }

private:
    // What a first input leaves is often a cache, and the check takes long.
    void look_for_leaks() {
        constexpr int checks = 20;
        if (++unbalanced_ <= checks) memory_meter::check_leaks();
    }

    void keep(Bytes input) {
        if (!settings_.kept.empty()) write_bytes(settings_.kept + "/" + name_of(input), input);
        corpus_.add(std::move(input));
        publish();
    }

    void publish() {
        shared_.kept = corpus_.size() - std::min(corpus_.size(), settings_.inputs.size());
        shared_.blocks = corpus_.blocks();
    }

    const Settings& settings_;
    Shared& shared_;
    Mutator mutator_;
    Corpus corpus_;
    int unbalanced_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    try {
        const Settings settings = settings_of(argc, argv);
        // Targets write the files that they read into the current folder.
        const lockstep::tests::ScratchFolder folder;
        std::filesystem::current_path(folder.path());
        const Work work{.all =
                            [&](Shared& shared) {
                                const auto fuzzing = std::make_unique<Fuzzing>(settings, shared);
                                fuzzing->run_given();
                                fuzzing->run_changed();
                                memory_meter::check_leaks();
                            },
                        .one =
                            [&](Shared& shared, const Bytes& input) {
                                std::make_unique<Fuzzing>(settings, shared)->run(input);
                            }};
        return supervise(settings, work);
    } catch (const std::exception& failure) {
        std::cerr << argv[0] << ": " << failure.what() << std::endl;
        return 2;
    }
}
