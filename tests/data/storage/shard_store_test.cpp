// SPDX-License-Identifier: Apache-2.0
#include "data/storage/shard_store.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <set>
#include <thread>

#include "data/loading/eval_loader.hpp"
#include "data/loading/step_loader.hpp"
#include "data/storage/length_index.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/written_dataset.hpp"

using namespace lockstep;
using namespace lockstep::data;
namespace fs = std::filesystem;

namespace {

struct StoredRows {
    explicit StoredRows(int rows = 500, int shards = 2) {
        tests::write_dataset(folder.path(), tests::random_shard(1, rows, 40),
                             tests::random_shard(2, 30, 40), shards);
    }
    Dataset open() const { return Dataset::open(folder.path()); }
    std::string shard(const std::string& name = "train-00000-of-00002.h5") const {
        return folder / name;
    }

    tests::ScratchFolder folder;
};

StepLoaderOptions two_lanes(int num_workers = 0) {
    StepLoaderOptions options;
    options.batching.batch_tokens = 200;
    options.batching.n_positions = 64;
    options.lanes = 2;
    options.num_workers = num_workers;
    return options;
}

Coverage run_epoch(StepLoader& source, std::int64_t lanes) {
    while (source.next().lanes_finished < lanes) {
    }
    return source.usage().sets.at(0).completed;
}

template <class Action>
std::string complaint(Action action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

std::string training_complaint(const StoredRows& data, int num_workers = 0) {
    return complaint([&] {
        const Dataset dataset = data.open();
        run_epoch(*open_step_source({&dataset, 1}, two_lanes(num_workers)), 2);
    });
}

bool says(const std::string& message, const std::string& text) {
    INFO(message);
    CHECK(message.find('\n') == std::string::npos);
    return message.find(text) != std::string::npos;
}

void damage(const std::string& path, std::streamoff at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.write("\x5a\x5a\x5a\x5a", 4);
}

void set_attribute(const std::string& path, const char* name, std::int64_t value) {
    const Hdf5Section section;
    const Hdf5File file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    const Hdf5Attribute attribute(H5Aopen(file.raw(), name, H5P_DEFAULT));
    REQUIRE(H5Awrite(attribute.raw(), H5T_NATIVE_INT64, &value) >= 0);
}

}  // namespace

TEST_CASE("an epoch of shards uses every row once, with the tokens that were written") {
    const StoredRows data;
    const Dataset dataset = data.open();
    for (const int workers : {0, 2}) {
        const auto source = open_step_source({&dataset, 1}, two_lanes(workers));
        CHECK(source->rows_per_epoch() == 500);
        std::int64_t finished = 0;
        while (finished < 2) {
            const train::StepBatches step = source->next();
            finished = step.lanes_finished;
            for (const train::Batch& batch : step.lanes)
                for (std::size_t i = 0; i < batch.rows.size(); ++i) {
                    const auto label = static_cast<std::size_t>(batch.target.offsets[i]);
                    const auto first = static_cast<std::size_t>(batch.source.offsets[i]);
                    const auto size = batch.source.offsets[i + 1] - batch.source.offsets[i];
                    const bool empty = size == 1 && batch.source.tokens[first] == 0;
                    if (!empty)
                        REQUIRE(batch.source.tokens[first] == tests::token_of(batch.rows[i], 0));
                    REQUIRE(batch.labels[label] ==
                            tests::token_of(batch.rows[i], empty ? 0 : size));
                }
        }
        CHECK(source->usage().sets.at(0).completed == complete_coverage(0, 1, 500));
    }
}

TEST_CASE("with as many lanes as shards a rank reads its own file alone") {
    const StoredRows data;
    fs::remove(data.shard("train-00001-of-00002.h5"));
    StepLoaderOptions options = two_lanes();
    options.world = 2;
    const Dataset dataset = data.open();
    CHECK(run_epoch(*open_step_source({&dataset, 1}, options), 1).rows == 256);
    options.rank = 1;
    CHECK(says(complaint([&] {
                   open_step_source({&dataset, 1}, options)->next();
               }),
               "train-00001-of-00002.h5"));
}

TEST_CASE("loaders of several threads do not disturb one another") {
    const StoredRows data(300, 3);
    const Dataset dataset = data.open();
    std::vector<Coverage> covered(4);
    {
        std::vector<std::jthread> threads;
        for (Coverage& coverage : covered)
            threads.emplace_back([&] {
                coverage = run_epoch(*open_step_source({&dataset, 1}, two_lanes(1)), 2);
            });
    }
    for (const Coverage& coverage : covered) CHECK(coverage == complete_coverage(0, 1, 300));
}

TEST_CASE("evaluation by lanes has the same micro-batches on any number of ranks") {
    const StoredRows data(100, 2);
    const Dataset dataset = data.open();
    const auto batches = [&](int world) {
        EvalLoaderOptions options;
        options.batching.batchsize = 4;
        options.split = "train";
        options.lanes = 5;
        options.world = world;
        std::vector<std::vector<std::uint32_t>> rows;
        for (options.rank = 0; options.rank < world; ++options.rank) {
            const auto source = open_eval_source(dataset, options);
            for (int again = 0; again < 2; ++again, source->rewind())
                for (train::Batch batch; source->next(batch);)
                    if (again == 1) rows.push_back(batch.rows);
        }
        return rows;
    };
    std::set<std::uint32_t> all;
    for (const auto& rows : batches(1)) all.insert(rows.begin(), rows.end());
    CHECK(all.size() == 100);
    for (const int world : {2, 3, 5, 7}) CHECK(batches(world) == batches(1));
}

TEST_CASE("rows are shown in the order of the data for any batching and any number of shards") {
    for (const int shards : {1, 2, 3, 5}) {
        const StoredRows data(300, shards);
        const Dataset dataset = data.open();
        for (const Dynamic dynamic : {Dynamic::off, Dynamic::full, Dynamic::batchsort}) {
            for (const std::int64_t limit : {-1, 1, 6, 64, 65, 130, 200, 256, 300, 1000}) {
                EvalLoaderOptions options;
                options.split = "train";
                options.batching.dynamic = dynamic;
                options.batching.batchsize = 7;
                options.order = EvalOrder::of_data;
                options.max_examples = limit;
                const auto source = open_eval_source(dataset, options);
                std::vector<std::uint32_t> rows;
                for (train::Batch batch; source->next(batch);)
                    rows.insert(rows.end(), batch.rows.begin(), batch.rows.end());
                std::vector<std::uint32_t> expected(limit > 0 && limit < 300 ? limit : 300);
                std::iota(expected.begin(), expected.end(), 0u);
                CHECK(rows == expected);
            }
        }
    }
}

TEST_CASE("evaluation reads every alternative label as written") {
    const StoredRows data;
    EvalLoaderOptions options;
    options.references = ReferenceText::read;
    const Dataset dataset = data.open();
    std::set<std::uint32_t> rows;
    for (options.rank = 0, options.world = 2; options.rank < 2; ++options.rank) {
        const auto source = open_eval_source(dataset, options);
        for (train::Batch batch; source->next(batch);)
            for (std::size_t i = 0; i < batch.rows.size(); ++i) {
                rows.insert(batch.rows[i]);
                CHECK(batch.references[i] ==
                      std::vector<std::string>{"row " + std::to_string(batch.rows[i]), "or else"});
            }
    }
    CHECK(rows.size() == 30);
}

TEST_CASE("a folder that is not a data set is named, and how to make one") {
    CHECK(says(complaint([] { Dataset::open("/nowhere/at/all"); }), "/nowhere/at/all: no such"));
    const tests::ScratchFolder empty;
    CHECK(says(complaint([&] { Dataset::open(empty.path()); }), "lockstep prepare"));
    const StoredRows data;
    CHECK(says(complaint([&] { Dataset::open(data.shard()); }), "not a folder"));
    CHECK(says(complaint([&] { data.open().split("test"); }), "train, valid"));
    CHECK(data.open().has_split("valid"));
    CHECK_FALSE(data.open().has_split("test"));
}

TEST_CASE("a missing, empty or foreign shard is named") {
    const StoredRows data;
    const std::string path = data.shard();
    std::ofstream(path, std::ios::trunc).close();
    CHECK(says(training_complaint(data), path + ": the data shard is empty"));
    std::ofstream(path) << "This is text, and not an HDF5 file at all.\n";
    CHECK(says(training_complaint(data), path + ": not a whole HDF5 file"));
    fs::remove(path);
    CHECK(says(training_complaint(data, 2), "No such file"));
}

TEST_CASE("a truncated shard is named") {
    const StoredRows data;
    fs::resize_file(data.shard(), fs::file_size(data.shard()) / 2);
    CHECK(says(training_complaint(data, 1), data.shard()));
}

TEST_CASE("damaged tokens are found by their checksum") {
    const StoredRows data(20'000, 2);
    damage(data.shard(), static_cast<std::streamoff>(fs::file_size(data.shard()) / 2));
    const std::string message = training_complaint(data);
    CHECK(says(message, data.shard()));
    CHECK(says(message, "damaged"));
    CHECK(says(message, "checksum"));
    CHECK(says(message, "lockstep prepare"));
}

TEST_CASE("a shard of another data set, format or number is refused") {
    const StoredRows data;
    Dataset dataset = data.open();
    DatasetInfo other = dataset.info();
    other.dictionary_hash = "fedcba9876543210";
    write_dataset_info(data.folder.path(), other);
    CHECK(says(training_complaint(data), "another dictionary"));
    write_dataset_info(data.folder.path(), dataset.info());
    set_attribute(data.shard(), format::shard, 1);
    CHECK(says(training_complaint(data), "shard is 1"));
    set_attribute(data.shard(), format::shard, 0);
    set_attribute(data.shard(), format::version, 99);
    CHECK(says(training_complaint(data), "format 99"));
    set_attribute(data.shard(), format::version, format_version);
    CHECK(training_complaint(data) == "no error");
}

TEST_CASE("options that cannot work are named before anything is read") {
    const StoredRows data;
    const Dataset dataset = data.open();
    StepLoaderOptions options = two_lanes(-1);
    CHECK(says(complaint([&] { open_step_source({&dataset, 1}, options); }), "--num-workers -1"));
    options = two_lanes();
    options.split = "tset";
    CHECK(says(complaint([&] { open_step_source({&dataset, 1}, options); }), "'tset'"));
}

namespace {

// Writes a data set of two rows: one of two answers, and one of a single answer. `spans` takes the
// place of the first row's.
void write_conversations(const std::string& directory, const std::vector<LabelSpan>& spans) {
    DatasetInfo info;
    info.tokenizer = "re";
    info.vocabulary = 100;
    info.special.start.reset();
    info.dictionary_hash = tests::dictionary_hash;
    Hdf5Output index(directory + "/" + format::index_file);
    index.attribute(format::dictionary_hash, info.dictionary_hash);
    SplitDescription description;
    description.split = "train";
    description.tokenizer = info.tokenizer;
    description.dictionary_hash = info.dictionary_hash;
    description.labels = Labels::in_spans;
    SplitWriter writer(directory, index, description);
    const std::vector<std::int32_t> tokens = {10, 11, 12, 13, 14, 15, 16, 17};
    const std::span<const std::int32_t> all(tokens);
    writer.add(all.first(2), all.subspan(2), {}, spans);
    writer.add(all.first(3), all.subspan(3));
    info.splits.push_back(writer.close());
    index.close();
    write_dataset_info(directory, info);
}

}  // namespace

TEST_CASE("the spans of rows come back from shards, and their counts from the index") {
    const tests::ScratchFolder folder;
    write_conversations(folder.path(), {{2, 4}, {7, 8}});
    const Dataset dataset = Dataset::open(folder.path());
    const SplitInfo& split = dataset.split("train");
    CHECK(split.version() == 2);
    CHECK(split.labels() == 8);
    CHECK(tests::read_text(folder / "dataset.json").find("\"format_version\": 2") !=
          std::string::npos);
    ShardStore store(dataset, split);
    LengthIndex index(dataset, split);
    std::vector<RowExtent> rows, planned;
    store.append_extents(0, 0, 2, rows);
    index.append_extents(0, 0, 2, planned);
    std::vector<LabelSpan> spans;
    for (const RowExtent& row : rows) store.read_spans(row, spans);
    CHECK(spans == std::vector<LabelSpan>{{2, 4}, {7, 8}, {3, 8}});
    for (const auto& both : {rows, planned}) {
        CHECK(both[0].unlabelled == 3);
        CHECK(both[1].unlabelled == 0);
    }
    StepLoaderOptions options = two_lanes();
    options.batching.layout = Layout::decoder_only;
    options.lanes = 1;
    const train::StepBatches step = open_step_source({&dataset, 1}, options)->next();
    CHECK(step.lanes.at(0).label_tokens == 8);
}

TEST_CASE("damaged spans are named with their row") {
    const std::vector<std::vector<LabelSpan>> damaged = {
        {{1, 4}, {7, 8}},  {{2, 4}, {7, 9}}, {{2, 4}, {6, 7}},
        {{2, 5}, {4, 6}},  {{2, 2}, {7, 8}}, {{7, 8}, {2, 4}},
        {{2, -4}, {7, 8}}, {{2, 4}},         {{2, 4}, {7, 7}, {7, 8}}};
    for (const auto& spans : damaged) {
        const tests::ScratchFolder folder;
        write_conversations(folder.path(), spans);
        const Dataset dataset = Dataset::open(folder.path());
        ShardStore store(dataset, dataset.split("train"));
        std::vector<RowExtent> rows;
        CHECK(says(complaint([&] { store.append_extents(0, 0, 2, rows); }), "of row 0 is damaged"));
    }
}

TEST_CASE("a shard without the spans that dataset.json tells of is refused, and one with others") {
    const tests::ScratchFolder folder;
    write_conversations(folder.path(), {{2, 4}, {7, 8}});
    DatasetInfo info = Dataset::open(folder.path()).info();
    info.splits[0].label_tokens.reset();
    write_dataset_info(folder.path(), info);
    const auto opened = [&] {
        const Dataset dataset = Dataset::open(folder.path());
        std::vector<RowExtent> rows;
        ShardStore(dataset, dataset.split("train")).append_extents(0, 0, 2, rows);
    };
    CHECK(says(complaint(opened), "format_version is 2 where dataset.json says 1"));
    std::string text = tests::read_text(folder / "dataset.json");
    text.replace(text.find("\"format_version\": 1"), 19, "\"format_version\": 2");
    tests::write_text(folder / "dataset.json", text);
    CHECK(says(complaint(opened), "format_version"));
}
