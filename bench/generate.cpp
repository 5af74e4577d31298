// SPDX-License-Identifier: Apache-2.0
// Times replies. It takes the options of `lockstep generate` and three more:
//   --rounds N           passes over all prompts that are timed, after one that is not (default: 3)
//   --tokens N           every reply has exactly N tokens, as a peer with the same numbers has
//   --contexts-out FILE  writes the prompts' token ids as JSON, for bench/torch_generate.py
// It prints one JSON line. With --tokens 1 and -bs 1, a batch takes the time to the first token.
#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "launcher/generate/chat_session.hpp"
#include "launcher/generate/prompts.hpp"
#include "launcher/options/run_command.hpp"
#include "launcher/processes/openmp_wait_policy.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/trace.hpp"

namespace {

using namespace lockstep;
using Contexts = std::vector<std::vector<std::int32_t>>;

struct GenerateOptions {
    int rounds = 3, tokens = 32;
    std::string contexts_out;
    std::vector<std::string> of_generate;
};

// Holds the time and the tokens of each batch of replies.
struct TimedBatches {
    std::vector<double> seconds;
    std::size_t tokens = 0;

    nlohmann::ordered_json figures() const {
        std::vector<double> sorted = seconds;
        std::ranges::sort(sorted);
        const double total_s = std::accumulate(sorted.begin(), sorted.end(), 0.0);
        const double median_s = sorted[sorted.size() / 2];
        return {{"peer", "lockstep"},
                {"batches", seconds.size()},
                {"tokens", tokens},
                {"tokens_per_s", std::llround(static_cast<double>(tokens) / total_s)},
                {"batch_ms", std::round(median_s * 1e5) / 100}};
    }
};

GenerateOptions parse(const std::vector<std::string>& arguments) {
    namespace po = boost::program_options;
    GenerateOptions o;
    po::options_description own;
    auto add = own.add_options();
    add("rounds", po::value(&o.rounds));
    add("tokens", po::value(&o.tokens));
    add("contexts-out", po::value(&o.contexts_out));
    using Style = po::command_line_style::style_t;
    const auto parsed = po::command_line_parser(arguments)
                            .options(own)
                            .allow_unregistered()
                            .style(Style::allow_long | Style::long_allow_next)
                            .run();
    po::variables_map given;
    po::store(parsed, given);
    po::notify(given);
    if (o.rounds < 1 || o.tokens < 1)
        throw Error(ErrorKind::config, "--rounds and --tokens are at least 1");
    o.of_generate = po::collect_unrecognized(parsed.options, po::include_positional);
    // No reply may end early: a beam of one is greedy search with a minimum length.
    for (const char* option : {"--beam-min-length", "--max-length"})
        o.of_generate.insert(o.of_generate.end(), {option, std::to_string(o.tokens)});
    return o;
}

Contexts contexts_of(const launcher::RunConfig& config, const launcher::ChatSession& talker) {
    std::ifstream file(config.talk.input);
    if (!file) throw_errno("--input cannot be read", config.talk.input);
    launcher::PromptReader reader(file, config.talk.input, launcher::PromptFormat::text);
    Contexts contexts;
    for (launcher::Prompt prompt; reader.next(prompt);)
        contexts.push_back(talker.context_of(prompt.turns));
    if (contexts.empty()) throw Error(ErrorKind::data, config.talk.input + ": has no prompts");
    return contexts;
}

void write_contexts(const std::string& path, const Contexts& contexts) {
    std::ofstream file(path);
    file << nlohmann::json(contexts).dump() << '\n';
    if (!file.flush()) throw_errno("--contexts-out cannot be written", path);
}

// Replies to all contexts once, in batches.
void reply_to(const Contexts& contexts, launcher::ChatSession& talker, std::size_t batch,
              TimedBatches& timed) {
    for (std::size_t first = 0; first < contexts.size(); first += batch) {
        const std::size_t end = std::min(contexts.size(), first + batch);
        const Contexts some(contexts.begin() + static_cast<std::ptrdiff_t>(first),
                            contexts.begin() + static_cast<std::ptrdiff_t>(end));
        std::vector<std::uint32_t> rows(some.size());
        std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(first));
        const auto begin = Clock::now();
        const auto ranked = talker.ranked(some, rows);
        const double passed_s = seconds_between(begin, Clock::now());
        for (const auto& replies : ranked) timed.tokens += replies.front().tokens + 1;  // and END
        timed.seconds.push_back(passed_s);
    }
}

int run(const std::vector<std::string>& arguments) {
    const GenerateOptions options = parse(arguments);
    const auto config = launcher::parse_run(
        launcher::Task::generate, "bench_generate -mf DIR --input FILE [options]\nTimes replies.\n",
        options.of_generate);
    if (!config) return 0;
    launcher::ChatSession talker(*config);
    const Contexts contexts = contexts_of(*config, talker);
    if (!options.contexts_out.empty()) write_contexts(options.contexts_out, contexts);
    const auto batch = static_cast<std::size_t>(config->batch.batchsize);
    TimedBatches untimed, timed;
    reply_to(contexts, talker, batch, untimed);
    for (int round = 0; round < options.rounds; ++round) reply_to(contexts, talker, batch, timed);
    std::cout << timed.figures().dump() << std::endl;
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    launcher::set_openmp_wait_policy(argv);
    try {
        return run(std::vector<std::string>(argv + 1, argv + argc));
    } catch (const std::exception& e) {
        std::cerr << "bench_generate: " << e.what() << std::endl;
        return 2;
    }
}
