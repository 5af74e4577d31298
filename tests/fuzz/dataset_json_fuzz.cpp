// SPDX-License-Identifier: Apache-2.0
#include "data/storage/dataset.hpp"
#include "tests/fuzz/target.hpp"

using namespace lockstep;

// The input is the dataset.json of a folder. What was read is written and read again.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::write_input("dataset.json", {data, size});
    fuzz::expect_answer([&] {
        const data::Dataset dataset = data::Dataset::open(".");
        for (const data::SplitInfo& split : dataset.info().splits)
            for (const data::ShardInfo& shard : split.shards)
                fuzz::expect(dataset.shard_path(shard).find('/', 2) == std::string::npos,
                             "a shard outside of the folder");
        data::write_dataset_info(".", dataset.info());
        const data::DatasetInfo again = data::read_dataset_info(".");
        fuzz::expect(again.vocabulary == dataset.vocabulary() &&
                         again.splits.size() == dataset.info().splits.size() &&
                         again.splits.front().rows == dataset.info().splits.front().rows,
                     "a data set that is another after it was written");
    });
    return 0;
}
