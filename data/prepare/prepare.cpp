// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/prepare.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <thread>

#include "data/prepare/options_record.hpp"
#include "data/prepare/split_encoding.hpp"
#include "data/prepare/tokenizer_building.hpp"
#include "data/splits/equal_files.hpp"
#include "data/storage/dataset_info.hpp"
#include "data/text/json_texts.hpp"
#include "data/text/read_progress.hpp"
#include "data/tokenizers/chat_format.hpp"
#include "data/tokenizers/dict_file.hpp"
#include "data/tokenizers/unknown_words.hpp"
#include "data/writing/output_directory.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"
#include "runtime/core/trace.hpp"
#include "runtime/files/hash.hpp"
#include "runtime/files/output_claim.hpp"

namespace lockstep::data {
namespace {

// Every shard is an open file, and the usual limit of a process is 1024 files.
constexpr int max_shards = 512;

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::config, what); }

[[noreturn]] void throw_no_examples(const std::string& file) {
    throw Error(ErrorKind::data, file + ": no examples in it; check --format");
}

void check_fraction(const std::string& option, double fraction,
                    const std::vector<std::string>& files, const PrepareOptions& options) {
    if (fraction == 0) return;
    if (!(fraction > 0 && fraction < 1))
        refuse("--" + option + "-fraction: must be more than 0 and less than 1");
    if (!files.empty())
        refuse("--" + option + " names files and --" + option +
               "-fraction takes them from --input; leave one of the two out");
    if (options.inputs.empty())
        refuse("--" + option + "-fraction: takes its rows from --input; name files there");
}

void check_held_out(const PrepareOptions& options) {
    const HeldOut& held_out = options.held_out;
    check_fraction("valid", held_out.valid, options.valid, options);
    check_fraction("test", held_out.test, options.test, options);
    if (held_out.valid + held_out.test >= 1)
        refuse(
            "--valid-fraction and --test-fraction: their sum must be less than 1, or nothing is "
            "left for training");
}

// Without a day there is no strftime_now, so that today's never gets into a shard.
std::optional<jinja::Date> day_of(const PrepareOptions& options) {
    const std::string& text = options.date;
    if (text.empty()) return std::nullopt;
    const bool formed = text.size() == 10 && text[4] == '-' && text[7] == '-' &&
                        text.find_first_not_of("0123456789-") == std::string::npos &&
                        std::count(text.begin(), text.end(), '-') == 2;
    const auto number = [&](std::size_t at, std::size_t count) {
        return formed ? std::stoi(text.substr(at, count)) : 0;
    };
    const jinja::Date day{number(0, 4), number(5, 2), number(8, 2)};
    using namespace std::chrono;
    const year_month_day known{year(day.year), month(static_cast<unsigned>(day.month)),
                               std::chrono::day(static_cast<unsigned>(day.day))};
    if (!formed || !known.ok() || day.year < 1)
        refuse("--date " + shown(text) + ": is no day; write it as 2024-07-26");
    return day;
}

void check_options(const PrepareOptions& options) {
    const bool evaluates = !options.valid.empty() || !options.test.empty();
    check_held_out(options);
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
    (void)day_of(options);
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
    const UnitSplit* units;  // null if no text is held out
    DatasetKind kind;
    Labels labels;  // of the training split
    std::string directory;
    Hdf5Output& index;
    Warnings& warnings;
    Log& log;
};

// Files and the splits that they give.
struct SplitFiles {
    const std::vector<std::string>& files;
    std::uint64_t bytes;
    std::vector<SplitPart> parts;  // the first one has the bytes in the report
};

// Returns the files of each split. Throws a config error that names a file which cannot be read.
std::vector<SplitFiles> files_of(const PrepareOptions& options) {
    std::vector<SplitFiles> all;
    const auto add = [&](const std::vector<std::string>& files, std::vector<SplitPart> parts) {
        if (files.empty()) return;
        const std::uint64_t bytes = ChunkReader(files, options.read.format).total_bytes();
        all.push_back({files, bytes, std::move(parts)});
    };
    std::vector<SplitPart> of_inputs{SplitPart::train};
    if (options.held_out.valid > 0) of_inputs.push_back(SplitPart::valid);
    if (options.held_out.test > 0) of_inputs.push_back(SplitPart::test);
    add(options.inputs, std::move(of_inputs));
    add(options.valid, {SplitPart::valid});
    add(options.test, {SplitPart::test});
    return all;
}

// Returns nothing if no text is held out.
std::optional<UnitSplit> hold_out(const PrepareOptions& options, Log& log) {
    if (!options.held_out.any()) return std::nullopt;
    const std::string& file = options.inputs.front();
    const std::uint64_t units = count_units(options.inputs, options.read, options.block_size, log);
    if (units == 0) throw_no_examples(file);
    const std::string unit(unit_name(options.read));
    const UnitSplit split(options.held_out, units, unit, file);
    std::string shares;
    for (const SplitPart part : {SplitPart::train, SplitPart::valid, SplitPart::test})
        if (const std::uint64_t count = split.units(part); count > 0)
            shares += (shares.empty() ? "" : ", ") + std::string(name(part)) + " " +
                      std::to_string(count);
    log.info("of " + std::to_string(units) + " " + unit + ": " + shares + " (--split-seed " +
             std::to_string(options.held_out.seed) + ")");
    return split;
}

SplitDescription description_of(const Run& run, SplitPart part) {
    const bool training = part == SplitPart::train;
    const bool references = !training && run.kind == DatasetKind::dialogue;
    return {.split = name(part),
            .kind = run.kind,
            .shards = training ? run.options.shards : 1,
            .tokenizer = std::string(run.tokenizer.name()),
            .dictionary_hash = hex(run.tokenizer.hash()),
            .references = references ? References::kept : References::none,
            .labels = training ? run.labels : Labels::of_target};
}

// Throws a data error if a split has no rows.
void require_rows(const Run& run, const SplitFiles& given, const std::deque<SplitWriter>& writers) {
    const auto empty = [](const SplitWriter& writer) { return writer.rows() == 0; };
    const std::string& file = given.files.front();
    if (std::none_of(writers.begin(), writers.end(), empty)) return;
    run.warnings.write(run.log);
    if (std::all_of(writers.begin(), writers.end(), empty)) throw_no_examples(file);
    for (std::size_t i = 0; i < writers.size(); ++i) {
        if (!empty(writers[i])) continue;
        throw Error(ErrorKind::data,
                    file + ": " + std::to_string(run.units->units(given.parts[i])) + " of its " +
                        std::to_string(run.units->units()) + " " +
                        std::string(unit_name(run.options.read)) + " are for " + writers[i].name() +
                        " and have no examples; choose another --split-seed or other fractions");
    }
}

// Writes the splits that the files give, and appends them to `splits`.
void write_splits(const Run& run, const SplitFiles& given, std::vector<SplitInfo>& splits) {
    std::deque<SplitWriter> writers;
    SplitWriters by_part{};
    for (const SplitPart part : given.parts)
        by_part[static_cast<std::size_t>(part)] =
            &writers.emplace_back(run.directory, run.index, description_of(run, part));
    const bool divided = given.parts.size() > 1;
    const SplitJob job = {
        .files = given.files,
        .division = {.units = divided ? run.units : nullptr, .whole = given.parts.front()},
        .read = run.options.read,
        .seed = run.options.seed,
        .block_size = run.options.block_size,
        .threads = run.threads,
        .date = day_of(run.options),
        .talk_rows = run.labels == Labels::in_spans ? TalkRows::conversations : TalkRows::turns};
    encode_splits(job, run.tokenizer, by_part, run.warnings, run.log);
    require_rows(run, given, writers);
    for (SplitWriter& writer : writers) splits.push_back(writer.close());
}

// With --valid FILE and --test-fraction, the test split has been written first.
void order_splits(std::vector<SplitInfo>& splits) {
    const auto place = [](const SplitInfo& split) {
        return split.name == format::train_split ? 0 : split.name == format::valid_split ? 1 : 2;
    };
    std::sort(splits.begin(), splits.end(),
              [&](const SplitInfo& a, const SplitInfo& b) { return place(a) < place(b); });
}

void warn_of_empty_shards(const SplitInfo& train, Log& log) {
    const auto used = std::count_if(train.shards.begin(), train.shards.end(),
                                    [](const ShardInfo& s) { return s.rows > 0; });
    if (static_cast<std::size_t>(used) < train.shards.size())
        log.info("warning: " + std::to_string(train.rows) + " rows fill only " +
                 std::to_string(used) + " of " + std::to_string(train.shards.size()) +
                 " shards; use fewer --shards");
}

// Rows with several answers are for models without an encoder.
Labels labels_of(const PrepareOptions& options, const Tokenizer& tokenizer) {
    const bool whole = options.read.format == TextFormat::messages && !options.inputs.empty() &&
                       options.talk_rows == TalkRows::conversations && !tokenizer.special().start &&
                       ChatFormat::of(tokenizer).has_value();
    return whole ? Labels::in_spans : Labels::of_target;
}

// Mistakes of a template show here first.
void tell_label_shares(const std::vector<SplitInfo>& splits, const ReadOptions& read, Log& log) {
    const bool whole = splits.front().label_tokens.has_value();
    log.info(std::string("the chat template of the tokenizer writes the conversations; ") +
             (whole
                  ? "in train each is a row as far as the template keeps earlier turns, elsewhere "
                    "each turn of the assistant is a row"
                  : "each turn of the assistant is a row"));
    if (read.history_size > 0 || read.delimiter != ReadOptions{}.delimiter)
        log.info(
            "warning: --history-size and --delimiter do not count where a chat template "
            "writes the conversations");
    for (const SplitInfo& split : splits) {
        const auto labels = static_cast<double>(split.labels());
        const auto all = static_cast<double>(split.target_tokens + split.source_tokens);
        log.info(split.name + ": " + one_decimal(100 * labels / all) +
                 " % of the tokens have a label");
    }
}

DatasetInfo write_dataset(const PrepareOptions& options, const std::vector<SplitFiles>& given,
                          int threads, const std::string& directory, Log& log) {
    Warnings warnings, told_later;  // the training text is read again for its split
    const std::optional<UnitSplit> held_out = hold_out(options, log);
    const UnitSplit* units = held_out ? &*held_out : nullptr;
    const auto tokenizer =
        build_tokenizer(options, {.units = units}, threads, directory, told_later, log);
    tokenizer->save(directory);
    const bool text = holds_documents(options.read.format);
    DatasetInfo info{.kind = text ? DatasetKind::language_model : DatasetKind::dialogue,
                     .tokenizer = std::string(tokenizer->name()),
                     .vocabulary = tokenizer->size(),
                     .special = tokenizer->special(),
                     .dictionary_hash = hex(tokenizer->hash()),
                     .index_xxh3 = "",
                     .splits = {},
                     .options = options_record(options, units)};
    Hdf5Output index(directory + "/" + format::index_file);
    const Labels labels = labels_of(options, *tokenizer);
    index.attribute(format::version, labels == Labels::in_spans ? spans_version : format_version);
    index.attribute(format::dictionary_hash, info.dictionary_hash);
    const Run run{options, threads,   *tokenizer, units,    info.kind,
                  labels,  directory, index,      warnings, log};
    for (const SplitFiles& files : given) write_splits(run, files, info.splits);
    warnings.write(log);
    order_splits(info.splits);
    if (has_no_words(*tokenizer))
        throw Error(ErrorKind::data,
                    given.front().files.front() +
                        ": no word for the dictionary; check --format, --dict-minfreq and "
                        "--dict-maxtokens");
    warn_of_empty_shards(info.splits.front(), log);
    for (const SplitInfo& split : info.splits)
        warn_of_unknown(split.name, split.texts, *tokenizer, options.tokenizer.dict_file, log);
    const bool chat = options.read.format == TextFormat::messages && ChatFormat::of(*tokenizer);
    if (chat) tell_label_shares(info.splits, options.read, log);
    if (!chat && !options.date.empty())
        log.info("warning: --date does not count: the tokenizer has no chat template");
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

void find_json_texts(PrepareOptions& options) {
    const bool may_be = options.read.format == TextFormat::text ||
                        options.read.format == TextFormat::messages ||
                        options.read.format == TextFormat::jsonl;
    std::vector<std::string> files = options.inputs;
    for (const auto* more : {&options.valid, &options.test})
        files.insert(files.end(), more->begin(), more->end());
    if (may_be && hold_json_texts(files)) options.read.format = TextFormat::json_texts;
}

PrepareReport prepare(const PrepareOptions& given, Log& log) {
    const auto begin = Clock::now();
    check_options(given);
    PrepareOptions options = given;
    options.tokenizer = with_kept_tokenizer(given.tokenizer, log);
    const bool parlais = options.tokenizer.kind == TokenizerKind::re ||
                         options.tokenizer.kind == TokenizerKind::sentencepiece;
    find_json_texts(options);
    if (options.read.format == TextFormat::json_texts)
        log.info("each {\"text\": ...} of the files is a document");
    options.read.texts = parlais ? Texts::parlais : Texts::as_written;
    // The names are checked before any work, so that a wrong one is reported at once.
    const std::vector<SplitFiles> given_files = files_of(options);
    warn_of_equal_files({options.inputs, options.valid, options.test}, log);
    OutputDirectory out(options.out, options.existing);
    const OutputClaim claim("--out", options.out);  // the folder above is there by now
    const DatasetInfo info =
        write_dataset(options, given_files, thread_count(options), out.partial(), log);
    out.commit();

    PrepareReport report;
    report.dictionary_size = info.vocabulary;
    report.seconds = seconds_between(begin, Clock::now());
    std::map<std::string, std::uint64_t> bytes;  // nothing was read for a part that is held out
    for (const SplitFiles& files : given_files) {
        report.megabytes_per_s += static_cast<double>(files.bytes) / 1e6 / report.seconds;
        bytes[name(files.parts.front())] = files.bytes;
    }
    for (const SplitInfo& split : info.splits)
        report.splits.push_back({.name = split.name,
                                 .rows = split.rows,
                                 .tokens = split.source_tokens + split.target_tokens,
                                 .texts = split.texts,
                                 .bytes_read = bytes[split.name]});
    tell(report, options.out, log);
    return report;
}

}  // namespace lockstep::data
