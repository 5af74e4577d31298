// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <optional>
#include <set>

#include "launcher/checkpoints/comparison.hpp"
#include "launcher/checkpoints/conversion.hpp"
#include "launcher/checkpoints/listing.hpp"
#include "launcher/checkpoints/verification.hpp"
#include "launcher/command_line/command_line.hpp"
#include "launcher/command_line/size_option.hpp"
#include "launcher/command_line/spelling.hpp"
#include "launcher/programs/programs.hpp"
#include "launcher/text/output_reader.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher {

namespace {

constexpr const char* usage =
    "lockstep checkpoint list MODEL [--json]\n"
    "lockstep checkpoint verify MODEL|CHECKPOINT|FILE... [--json]\n"
    "lockstep checkpoint diff A B [--tolerance X] [--json]\n"
    "lockstep checkpoint convert FROM TO [--like MODEL] [--merge] [--overwrite]\n"
    "lockstep checkpoint convert FROM TO --to transformers [--dtype bf16] [--shard-size 5GB]\n"
    "Lists, verifies, compares and converts checkpoints. TO is a plain file (NAME.safetensors), a\n"
    "checkpoint (step-00001234), or the folder of a new model, of Lockstep or of transformers.\n"
    "list, verify and diff change nothing.\n"
    "Exit code 1: verify found something bad, or A and B differ.\n";

constexpr int bad = 1;

struct CheckpointOptions {
    std::vector<std::string> paths;
    std::string like;
    double tolerance = 0;
    bool json = false, merge = false, overwrite = false;
    checkpoints::Form form = checkpoints::Form::lockstep;
    std::optional<Dtype> dtype;
    std::int64_t shard_bytes = checkpoints::usual_shard_bytes;
};

Dtype dtype_named(const std::string& word) {
    if (word == "fp32" || word == "float32") return Dtype::fp32;
    if (word == "bf16" || word == "bfloat16") return Dtype::bf16;
    if (word == "fp16" || word == "float16") return Dtype::fp16;
    OptionTable::reject("dtype", word, "fp32, bf16 or fp16");
}

// Only folders of transformers have a type and shards, so that these options ask for one.
void add_form(OptionTable& table, CheckpointOptions& options) {
    using checkpoints::Form;
    table.choice<Form>("to", options.form,
                       {{"lockstep", Form::lockstep}, {"transformers", Form::transformers}},
                       "convert: whose model's folder TO becomes");
    table.add("dtype", Arity::one, "fp32|bf16|fp16",
              "convert: the type of the weights for transformers", "FROM's",
              [&options](const auto& given) {
                  options.dtype = dtype_named(given.front());
                  options.form = Form::transformers;
              });
    table.add("shard-size", Arity::one, "SIZE",
              "convert: the most bytes of a file for transformers, say 5GB", "50GB",
              [&options](const auto& given) {
                  options.shard_bytes = parse_bytes("shard-size", given.front(), 1'000);
                  options.form = Form::transformers;
              });
}

OptionTable checkpoint_table(CheckpointOptions& options) {
    OptionTable table("Checkpoint");
    table.texts("model-file,mf", options.paths, "PATH...",
                "model folders, checkpoints or .safetensors files; they may also stand first, "
                "without this option");
    table.flag("json", options.json, "list, verify, diff: print one JSON document");
    table.number_from_0("tolerance", options.tolerance,
                        "diff: values are alike if |a - b| is at most X times the largest of 1, "
                        "|a| and |b| (0: bit for bit)");
    table.text("like", options.like, "DIR",
               "convert: the model whose config.json and tokenizer a new model's folder gets "
               "(default: the one that FROM is in)");
    table.flag(
        "merge", options.merge,
        "convert: write a model of transformers, with adapters (LoRA) merged into their base");
    table.flag("overwrite", options.overwrite, "convert: replace TO");
    add_form(table, options);
    return table;
}

int list(const CheckpointOptions& options) {
    const auto listing = checkpoints::list_checkpoints(options.paths.front());
    std::cout << (options.json ? checkpoints::json_text(listing) : checkpoints::text(listing));
    return 0;
}

int verify(const CheckpointOptions& options) {
    const EndWithReader reader;
    std::vector<checkpoints::Verified> all;
    bool good = true;
    for (const std::string& path : options.paths) {
        const bool found_good = checkpoints::verify(path, [&](const checkpoints::Verified& one) {
            if (options.json)
                all.push_back(one);
            else
                std::cout << checkpoints::text(one) << std::flush;
        });
        good = good && found_good;
    }
    if (options.json) std::cout << checkpoints::json_text(all);
    return good ? 0 : bad;
}

int diff(const CheckpointOptions& options) {
    const EndWithReader reader;
    const auto comparison =
        checkpoints::compare(options.paths[0], options.paths[1], options.tolerance);
    std::cout << (options.json ? checkpoints::json_text(comparison)
                               : checkpoints::text(comparison));
    return comparison.differs() ? bad : 0;
}

int convert(const CheckpointOptions& options) {
    const train::LockWaiting waiting{[](const std::string& line) { std::cerr << line + "\n"; },
                                     [] { return false; }};
    const checkpoints::Conversion conversion{
        options.paths[0],
        options.paths[1],
        options.like,
        options.overwrite ? checkpoints::Existing::overwrite : checkpoints::Existing::refuse,
        options.merge ? checkpoints::Adapters::merge : checkpoints::Adapters::keep,
        options.form,
        options.dtype,
        static_cast<std::uint64_t>(options.shard_bytes)};
    std::cout << printable(checkpoints::convert(conversion, waiting)) << '\n';
    return 0;
}

struct Command {
    std::string_view name;
    int (*run)(const CheckpointOptions& options);
    std::size_t fewest, most;  // paths
    const char* wanted;
    std::set<std::string> options;
};

std::vector<Command> commands() {
    return {{"list", list, 1, 1, "name one model's folder", {"json"}},
            {"verify", verify, 1, 1'000, "name model folders, checkpoints or files", {"json"}},
            {"diff", diff, 2, 2, "name two checkpoints, models or files", {"json", "tolerance"}},
            {"convert",
             convert,
             2,
             2,
             "name what to convert and the result",
             {"like", "merge", "overwrite", "to", "dtype", "shard-size"}}};
}

Command find_command(const std::string& word) {
    std::vector<std::string> names;
    for (const Command& command : commands()) {
        if (command.name == word) return command;
        names.emplace_back(command.name);
    }
    const std::string meant = probably_meant(word, names);
    throw Error(ErrorKind::config, "'" + word + "': no such command; " +
                                       (meant.empty() ? "give list, verify, diff or convert"
                                                      : "did you mean " + meant + "?"));
}

// Tells whether the next word is the value of this one.
bool takes(const std::string& word, const std::string& next) {
    const std::string name = word.substr(std::min(word.find_first_not_of('-'), word.size()));
    if (name == "json" || name == "merge" || name == "overwrite") return is_bool_word(next);
    constexpr std::array<std::string_view, 6> valued{"tolerance", "like",  "config",
                                                     "to",        "dtype", "shard-size"};
    return std::ranges::find(valued, name) != valued.end();
}

// Returns the options and then all paths behind their option, as paths may stand anywhere.
std::vector<std::string> with_option(const std::vector<std::string>& words) {
    std::vector<std::string> options, paths;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        const bool path = !word.starts_with("-");
        (path ? paths : options).push_back(word);
        if (!path && i + 1 < words.size() && takes(word, words[i + 1]))
            options.push_back(words[++i]);
    }
    std::erase_if(options, [&](const std::string& word) {
        return !paths.empty() && (word == "-mf" || word == "--model-file");
    });
    if (!paths.empty()) options.emplace_back("--model-file");
    options.insert(options.end(), paths.begin(), paths.end());
    return options;
}

void check(const Command& command, const CheckpointOptions& options,
           const std::set<std::string>& given) {
    const std::string name(command.name);
    for (const std::string& option : given)
        if (option != "model-file" && !command.options.contains(option))
            throw Error(ErrorKind::config, "--" + option + ": is no option of " + name);
    if (options.paths.size() < command.fewest || options.paths.size() > command.most)
        throw Error(ErrorKind::config, name + ": " + command.wanted);
    if (std::ranges::find(options.paths, "") != options.paths.end())
        throw Error(ErrorKind::config, name + ": a path is empty; " + command.wanted);
}

}  // namespace

int checkpoint_program(const std::vector<std::string>& args) {
    CheckpointOptions options;
    const bool named = !args.empty() && !args.front().starts_with("-");
    const std::vector<std::string> words(args.begin() + (named ? 1 : 0), args.end());
    std::optional<Command> command;
    if (named) command = find_command(args.front());
    const auto line = parse_or_answer(usage, with_option(words), {checkpoint_table(options)});
    if (!line) return 0;
    if (!command) throw Error(ErrorKind::config, "give list, verify, diff or convert, and a path");
    check(*command, options, line->given);
    return command->run(options);
}

}  // namespace lockstep::launcher
