// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "data/storage/shard_reader.hpp"
#include "data/storage/shard_store.hpp"
#include "tests/fuzz/engine/bytes.hpp"
#include "tests/fuzz/shard_changes.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/written_dataset.hpp"

using namespace lockstep;
using namespace lockstep::data;

// HDF5 1.10 itself loses some hundred bytes where it refuses a damaged file.
extern "C" const char* __lsan_default_suppressions() { return "leak:H5"; }

namespace {

constexpr const char* path = "input.h5";

struct Row {
    std::vector<std::int32_t> tokens;
    std::vector<std::string> references;
    bool operator==(const Row&) const = default;
};

std::vector<Row> read_all(const std::string& shard, const ShardIdentity& identity) {
    ShardReader reader(shard, identity);
    std::vector<RowExtent> extents;
    reader.append_extents(0, identity.rows, extents);
    std::vector<Row> rows;
    for (const RowExtent& extent : extents) {
        Row row;
        row.tokens.resize(static_cast<std::size_t>(extent.source + extent.label));
        reader.read_tokens(extent.first_token, row.tokens);
        for (const std::int32_t token : row.tokens)
            fuzz::expect(token >= 0 && token < identity.vocabulary, "a token out of range");
        row.references = reader.read_references(extent.local);
        rows.push_back(std::move(row));
    }
    return rows;
}

// The shard that all inputs change.
struct Written {
    ShardIdentity identity;
    fuzz::Bytes bytes;
    std::vector<Row> rows;

    Written() {
        std::filesystem::create_directory("written");
        const tests::MemoryRows::Shard valid{{4, 2}, {0, 1}, {7, 5}, {1, 1}, {3, 9}};
        tests::write_dataset("written", {{2, 3}}, valid, 1);
        const Dataset dataset = Dataset::open("written");
        identity = shard_identity(dataset, dataset.split("valid"), 0);
        identity.bytes = 0;  // a stranger writes what fits
        fuzz::copy_with_small_chunks(dataset.shard_path(dataset.split("valid").shards.front()),
                                     "written/small.h5");
        bytes = fuzz::read_bytes("written/small.h5");
        rows = read_all("written/small.h5", identity);
        fuzz::write_input(fuzz::outside, bytes);
    }
};

const Written& written() {
    static const Written only;
    return only;
}

}  // namespace

// The input says how a sound shard is changed: in its structure, and then in single bytes. A single
// byte never changes a row in silence.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t one_byte = 1 + 4;  // no change of the structure, one change of a byte
    constexpr std::size_t max_file_bytes = std::size_t{1} << 20;
    fuzz::InputReader input(data, size);
    fuzz::Bytes bytes = written().bytes;
    const bool same_structure = size == 0 || data[0] % 4 == 0;
    if (!same_structure) {
        fuzz::write_input(path, bytes);
        fuzz::change_structure(path, input);
        fuzz::expect(fuzz::read_bytes(fuzz::outside) == written().bytes,
                     "the fuzzer itself has changed another file");
        if (std::filesystem::file_size(path) > max_file_bytes) return 0;
        bytes = fuzz::read_bytes(path);
    } else {
        (void)input.number<std::uint8_t>();
    }
    fuzz::change_bytes(bytes, input);
    fuzz::write_input(path, bytes);
    fuzz::expect_answer([&] {
        const std::vector<Row> rows = read_all(path, written().identity);
        fuzz::expect(!same_structure || size > one_byte || rows == written().rows,
                     "one changed byte changes a row");
    });
    return 0;
}
