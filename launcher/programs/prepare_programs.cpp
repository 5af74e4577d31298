// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "data/prepare/build_dict.hpp"
#include "data/prepare/display.hpp"
#include "data/prepare/inspect.hpp"
#include "data/prepare/prepare.hpp"
#include "launcher/command_line/command_line.hpp"
#include "launcher/command_line/output_file.hpp"
#include "launcher/model_folder/longest_row.hpp"
#include "launcher/model_folder/tokenizer_folder.hpp"
#include "launcher/options/prepare_checks.hpp"
#include "launcher/options/prepare_options.hpp"
#include "launcher/programs/programs.hpp"
#include "launcher/rank/threads_per_rank.hpp"
#include "launcher/text/terminal.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/path_status.hpp"

namespace lockstep::launcher {

namespace {

void require_given(bool condition, const char* what) {
    if (!condition) throw Error(ErrorKind::config, what);
}

// A row of plain text is no longer than the model of --like or --dict-file reads.
std::string fit_blocks(PrepareConfig& config, const std::set<std::string>& given) {
    data::PrepareOptions& options = config.options;
    const std::string& folder = options.tokenizer.dict_file;
    if (!data::holds_documents(options.read.format) || !is_folder(folder)) return "";
    const auto longest = longest_row(folder);
    if (!longest || options.block_size <= *longest) return "";
    const std::string reads =
        "the model in " + folder + " reads " + std::to_string(*longest) + " tokens of a row";
    if (given.contains("block-size"))
        return "warning: --block-size " + std::to_string(options.block_size) + ": " + reads +
               ", and training cuts longer ones";
    options.block_size = *longest;
    return reads + ": so many each row has (--block-size)";
}

// Returns nothing when --help or --dump-config was answered. Options in `refused` belong to a data
// set.
std::optional<PrepareConfig> parse_prepare(const std::string& usage,
                                           const std::vector<std::string>& args,
                                           const std::vector<std::string>& refused = {}) {
    PrepareConfig config;
    std::vector<OptionTable> tables{prepare_table(config), tokenizer_table(config)};
    for (OptionTable& table : tables)
        table.refuse(refused, "a dictionary needs it not; a data set of --out DIR does");
    const auto line = parse_or_answer(usage, args, tables);
    if (!line) return std::nullopt;
    check_prepare(config, line->given);
    config.like = folder_of_tokenizer(config.like);
    if (!config.like.empty()) config.options.tokenizer.dict_file = config.like;
    data::find_json_texts(config.options);
    config.told = fit_blocks(config, line->given);
    if (config.dict_lower)
        config.options.tokenizer.dictionary.letter_case = data::LetterCase::lower;
    if (config.overwrite) config.options.existing = data::Existing::overwrite;
    if (config.options.threads == 0) config.options.threads = usable_cores();
    return config;
}

// Inserts --data when the first word is the folder, or the last one behind --verify.
std::vector<std::string> with_data(std::vector<std::string> words) {
    if (words.empty()) return words;
    const bool last = words.front() == "--verify" && words.size() == 2 &&
                      !words.back().starts_with("-") && !is_bool_word(words.back());
    if (last) std::swap(words.front(), words.back());
    if (!words.front().starts_with("-")) words.insert(words.begin(), "--data");
    return words;
}

}  // namespace

int prepare_program(const std::vector<std::string>& args) {
    const auto config = parse_prepare(
        "lockstep prepare --input FILE... [--valid FILE... | --valid-fraction X]\n"
        "                 [--test FILE... | --test-fraction X] --out DIR [options]\n"
        "Text to a dictionary (or a SentencePiece model) and HDF5 shards.\n",
        args);
    if (!config) return 0;
    Log log(std::cout, config->verbose ? Verbosity::verbose : Verbosity::normal, 0, "",
            output_kind());
    if (!config->told.empty()) log.info(config->told);
    data::prepare(config->options, log);
    return 0;
}

int build_dict_program(const std::vector<std::string>& args) {
    const std::string usage =
        "build_dict --input FILE... --dict-file FILE [options]\n"
        "The dictionary (or SentencePiece model) of a text; with --out DIR the same as prepare.\n";
    PrepareConfig asked;
    const auto line = parse_command_line(args, {prepare_table(asked), tokenizer_table(asked)});
    if (!line.help && !asked.options.out.empty()) return prepare_program(args);
    const auto config = line.help
                            ? parse_prepare(usage, args)
                            : parse_prepare(usage, args,
                                            {"valid", "test", "valid-fraction", "test-fraction",
                                             "split-seed", "shards", "block-size", "history-size",
                                             "delimiter", "date", "row-of", "seed", "like"});
    if (!config) return 0;
    require_given(!config->options.inputs.empty(),
                  "--input: name at least one file of training text");
    require_given(!config->options.tokenizer.dict_file.empty(),
                  "--dict-file: name the dictionary to make");
    require_file_name("--dict-file", config->options.tokenizer.dict_file);
    Log log(std::cout, config->verbose ? Verbosity::verbose : Verbosity::normal, 0, "",
            output_kind());
    data::build_dict(config->options, log);
    return 0;
}

int inspect_program(const std::vector<std::string>& args) {
    data::InspectOptions options;
    OptionTable table("Inspect");
    table.text("data", options.data, "DIR", "what `lockstep prepare` wrote");
    table.integer("rows", options.sample_rows, "sample rows shown of each split", 0);
    bool verify = false;
    table.flag(
        "verify", verify,
        "read every row, and compare each shard and index.h5 with the hashes in dataset.json");
    const char* usage =
        "lockstep inspect DIR [--verify]\n"
        "What prepared data holds. Exit code 1: --verify found damage.\n";
    if (!parse_or_answer(usage, with_data(args), {table})) return 0;
    if (verify) options.shards = data::InspectOptions::Shards::verify;
    require_given(!options.data.empty(), "--data: name a directory that `lockstep prepare` wrote");
    constexpr int found_damage = 1;  // as of `lockstep checkpoint verify`
    return data::inspect(options, std::cout) == data::Inspected::damaged ? found_damage : 0;
}

int display_data_program(const std::vector<std::string>& args) {
    data::DisplayOptions options;
    OptionTable table("Display");
    table.text("data", options.data, "DIR", "what `lockstep prepare` wrote");
    table.text("split", options.split, "NAME", "train, valid or test; default: the first there is");
    table.integer("num-examples,n,ne", options.examples, "rows shown, from the first on", 1);
    if (!parse_or_answer("display_data DIR [-n 10] [--split NAME]\n", with_data(args), {table}))
        return 0;
    require_given(!options.data.empty(), "--data: name a directory that `lockstep prepare` wrote");
    data::display(options, std::cout, std::cerr);
    return 0;
}

}  // namespace lockstep::launcher
