// SPDX-License-Identifier: Apache-2.0
#include "data/storage/length_index.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "data/storage/shard_store.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/written_dataset.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

struct Written {
    tests::ScratchFolder directory;

    Written() {
        tests::write_dataset(directory.path(), tests::random_shard(7, 5000, 40),
                             tests::random_shard(8, 70, 10), 3);
    }
};

}  // namespace

TEST_CASE("the index tells of rows what the shards tell") {
    const Written written;
    const Dataset dataset = Dataset::open(written.directory.path());
    for (const char* name : {"train", "valid"}) {
        const SplitInfo& split = dataset.split(name);
        LengthIndex index(dataset, split);
        ShardStore shards(dataset, split);
        for (std::size_t i = 0; i < split.shards.size(); ++i) {
            const auto rows = static_cast<std::int64_t>(split.shards[i].rows);
            std::vector<RowExtent> expected, found;
            shards.append_extents(static_cast<int>(i), 3, rows - 3, expected);
            index.append_extents(static_cast<int>(i), 3, rows - 3, found);
            REQUIRE(found.size() == expected.size());
            for (std::size_t row = 0; row < found.size(); ++row) {
                REQUIRE(found[row].row == expected[row].row);
                REQUIRE(found[row].local == expected[row].local);
                REQUIRE(found[row].source == expected[row].source);
                REQUIRE(found[row].label == expected[row].label);
            }
        }
        std::vector<std::int32_t> tokens(1);
        CHECK_THROWS_AS(index.read_tokens(0, 0, tokens), Error);
    }
}

TEST_CASE("an index that is missing, damaged or another's is refused by name") {
    const Written written;
    const Dataset dataset = Dataset::open(written.directory.path());
    const std::string path = dataset.directory() + "/index.h5";
    const auto opened = [&](const SplitInfo& split) { LengthIndex(dataset, split); };
    SplitInfo longer = dataset.split("train");
    longer.shards[1].rows += 1;
    CHECK_THROWS_WITH_AS(opened(longer), doctest::Contains("/train/00001"), Error);
    std::filesystem::resize_file(path, 100);
    CHECK_THROWS_WITH_AS(opened(dataset.split("train")), doctest::Contains("not a whole"), Error);
    std::filesystem::remove(path);
    CHECK_THROWS_WITH_AS(opened(dataset.split("train")), doctest::Contains("index.h5"), Error);
    { const Hdf5Output other(path); }
    CHECK_THROWS_WITH_AS(opened(dataset.split("train")), doctest::Contains("another"), Error);
}
