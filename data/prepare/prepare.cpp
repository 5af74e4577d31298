// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/prepare.hpp"

#include <algorithm>
#include <thread>

#include "data/prepare/options_record.hpp"
#include "data/prepare/split_encoding.hpp"
#include "data/prepare/tokenizer_building.hpp"
#include "data/storage/dataset_info.hpp"
#include "data/text/read_progress.hpp"
#include "data/tokenizers/dict_file.hpp"
#include "data/tokenizers/unknown_words.hpp"
#include "data/writing/output_directory.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::data {
namespace {

// Every shard is an open file, and the usual limit of a process is 1024 files.
constexpr int max_shards = 512;

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::config, what); }

void check_options(const PrepareOptions& options) {
    const bool evaluates = !options.valid.empty() || !options.test.empty();
    if (options.inputs.empty() && (!evaluates || options.tokenizer.dict_file.empty()))
        refuse(
            "--input: name at least one text file; only with --dict-file can --valid or --test "
            "stand alone");
    if (options.out.empty()) refuse("--out: name the folder to make");
    if (options.shards < 1 || options.shards > max_shards)
        refuse("--shards " + std::to_string(options.shards) + ": must be 1 to " +
               std::to_string(max_shards));
    if (options.block_size < 2)
        refuse("--block-size " + std::to_string(options.block_size) + ": must be at least 2");
    if (options.tokenizer.sample_sentences < 1)
        refuse("--sentencepiece-sample: must be at least 1");
}

int thread_count(const PrepareOptions& options) {
    if (options.threads > 0) return options.threads;
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

// All splits of a run share this state.
struct Run {
    const PrepareOptions& options;
    int threads;
    const Tokenizer& tokenizer;
    DatasetKind kind;
    std::string directory;
    Hdf5Output& index;
    Warnings& warnings;
    Log& log;
};

struct SplitFiles {
    const char* name;
    const std::vector<std::string>& files;
    std::uint64_t bytes;
};

// Returns the splits that have files. Throws a config error that names a file which cannot be read.
std::vector<SplitFiles> splits_of(const PrepareOptions& options) {
    std::vector<SplitFiles> splits;
    const auto add = [&](const char* name, const std::vector<std::string>& files) {
        if (files.empty()) return;
        splits.push_back({name, files, ChunkReader(files, options.read.format).total_bytes()});
    };
    add(format::train_split, options.inputs);
    add(format::valid_split, options.valid);
    add(format::test_split, options.test);
    return splits;
}

SplitInfo write_split(const Run& run, const SplitFiles& given) {
    const auto& [name, files, bytes] = given;
    const bool training = name == std::string_view(format::train_split);
    const bool references = !training && run.kind == DatasetKind::dialogue;
    SplitWriter writer(run.directory, run.index,
                       {.split = name,
                        .kind = run.kind,
                        .shards = training ? run.options.shards : 1,
                        .tokenizer = std::string(run.tokenizer.name()),
                        .dictionary_hash = hex(run.tokenizer.hash()),
                        .references = references ? References::kept : References::none});
    using Kept = EncodeSettings::References;
    const SplitJob job = {.files = files,
                          .settings = {.read = run.options.read,
                                       .seed = run.options.seed,
                                       .references = references ? Kept::kept : Kept::none},
                          .block_size = run.options.block_size,
                          .threads = run.threads};
    encode_split(job, run.tokenizer, writer, run.warnings, run.log);
    if (writer.rows() == 0)
        throw Error(ErrorKind::data, files.front() + ": no examples in it; check --format");
    return writer.close();
}

void warn_of_empty_shards(const SplitInfo& train, Log& log) {
    const auto used = std::count_if(train.shards.begin(), train.shards.end(),
                                    [](const ShardInfo& s) { return s.rows > 0; });
    if (static_cast<std::size_t>(used) < train.shards.size())
        log.info("warning: " + std::to_string(train.rows) + " rows fill only " +
                 std::to_string(used) + " of " + std::to_string(train.shards.size()) +
                 " shards; use fewer --shards");
}

DatasetInfo write_dataset(const PrepareOptions& options, const std::vector<SplitFiles>& splits,
                          int threads, const std::string& directory, Log& log) {
    Warnings warnings(log);
    const auto tokenizer = build_tokenizer(options, threads, directory, warnings, log);
    tokenizer->save(directory);
    const bool text = options.read.format == TextFormat::text;
    DatasetInfo info{.kind = text ? DatasetKind::language_model : DatasetKind::dialogue,
                     .tokenizer = std::string(tokenizer->name()),
                     .vocabulary = tokenizer->size(),
                     .dictionary_hash = hex(tokenizer->hash()),
                     .index_xxh3 = "",
                     .splits = {},
                     .options = options_record(options)};
    Hdf5Output index(directory + "/" + format::index_file);
    index.attribute(format::version, format_version);
    index.attribute(format::dictionary_hash, info.dictionary_hash);
    const Run run{options, threads, *tokenizer, info.kind, directory, index, warnings, log};
    for (const SplitFiles& split : splits) info.splits.push_back(write_split(run, split));
    if (tokenizer->size() == tokenizer->special().unk + 1)
        throw Error(ErrorKind::data,
                    splits.front().files.front() +
                        ": no word for the dictionary; check --format, --dict-minfreq and "
                        "--dict-maxtokens");
    warn_of_empty_shards(info.splits.front(), log);
    for (const SplitInfo& split : info.splits)
        warn_of_unknown(split.name, split.texts, *tokenizer, options.tokenizer.dict_file, log);
    index.close();
    info.index_xxh3 = hex(hash_file(directory + "/" + format::index_file));
    write_dataset_info(directory, info);
    return info;
}

void tell(const PrepareReport& report, const std::string& out, Log& log) {
    for (const SplitReport& split : report.splits)
        log.info(split.name + ": " + std::to_string(split.rows) + " rows, " +
                 std::to_string(split.tokens) + " tokens, " + unknown_text(split.texts));
    log.info(out + ": " + std::to_string(report.dictionary_size) + " tokens in the dictionary, " +
             one_decimal(report.seconds) + " s, " + one_decimal(report.megabytes_per_s) +
             " MB/s of input");
}

}  // namespace

PrepareReport prepare(const PrepareOptions& given, Log& log) {
    const auto begin = Clock::now();
    check_options(given);
    PrepareOptions options = given;
    options.tokenizer = with_kept_tokenizer(given.tokenizer, log);
    // The names are checked before any work, so that a wrong one is reported at once.
    const std::vector<SplitFiles> splits = splits_of(options);
    OutputDirectory out(options.out, options.existing);
    const DatasetInfo info =
        write_dataset(options, splits, thread_count(options), out.partial(), log);
    out.commit();

    PrepareReport report;
    report.dictionary_size = info.vocabulary;
    report.seconds = seconds_between(begin, Clock::now());
    for (std::size_t i = 0; i < info.splits.size(); ++i) {
        report.megabytes_per_s += static_cast<double>(splits[i].bytes) / 1e6 / report.seconds;
        report.splits.push_back(
            {.name = info.splits[i].name,
             .rows = info.splits[i].rows,
             .tokens = info.splits[i].source_tokens + info.splits[i].target_tokens,
             .texts = info.splits[i].texts,
             .bytes_read = splits[i].bytes});
    }
    tell(report, options.out, log);
    return report;
}

}  // namespace lockstep::data
