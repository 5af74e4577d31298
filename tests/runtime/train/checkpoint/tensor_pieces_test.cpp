// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/tensor_pieces.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "runtime/kernels/moment_codes.hpp"
#include "tests/runtime/train/checkpoint/saved_run.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using train::TensorExtent;
using train::TensorPiece;

namespace {

std::vector<TensorExtent> tensors_of(SavedRun& run) {
    std::vector<TensorExtent> tensors;
    for (const train::OptimizerTensor& t : run.optimizer)
        tensors.push_back({t.name, t.shape, t.values});
    return tensors;
}

// A state whose parts `writers` processes have written, each its own share.
struct Parts {
    Parts(const LoggedFolder& to, SavedRun& run, std::size_t writers) {
        const auto tensors = tensors_of(run);
        const auto all = train::whole_tensors(tensors);
        const std::size_t total = train::elements(all);
        for (std::size_t w = 0; w < writers; ++w) {
            const std::size_t first = total * w / writers, end = total * (w + 1) / writers;
            paths.push_back(to.folder.path() + "/" + train::part_name(w));
            written.push_back(train::write_part(paths.back(), train::cut(all, first, end - first)));
        }
    }
    std::vector<std::string> paths;
    std::vector<train::WrittenFile> written;
};

void opens_not(const std::vector<std::string>& paths, const std::string& why) {
    check_contains(failure(ErrorKind::data, [&] { (void)train::PartFiles(paths); }), why);
}

}  // namespace

TEST_CASE_FIXTURE(LoggedFolder, "a file holds several pieces of one tensor") {
    SavedRun saved(1), loaded(2);
    const auto from = tensors_of(saved), to = tensors_of(loaded);
    const auto all = train::whole_tensors(from);
    std::vector<std::string> paths;
    for (const std::size_t writer : {0, 1}) {
        std::vector<TensorPiece> own;  // every other run of three elements
        for (std::size_t at = 3 * writer; at < 13; at += 6)
            for (const TensorPiece& piece : train::cut(all, at, 3)) own.push_back(piece);
        paths.push_back(folder / train::part_name(writer));
        train::write_part(paths.back(), own);
    }
    train::PartFiles files(paths);
    files.check(to, "here", "");
    files.read(train::whole_tensors(to));
    CHECK(loaded.optimizer_values == saved.optimizer_values);
}

TEST_CASE_FIXTURE(LoggedFolder, "a state in any number of pieces comes back bit for bit") {
    SavedRun saved(1);
    for (const std::size_t writers : {1, 2, 3, 7}) {
        CAPTURE(writers);
        Parts parts(*this, saved, writers);
        // The readers are others than the writers, and see the files in another order.
        std::ranges::rotate(parts.paths, parts.paths.begin() + static_cast<int>(writers / 2));
        for (const std::size_t readers : {1, 2, 5}) {
            SavedRun loaded(2);
            train::PartFiles files(parts.paths);
            const auto tensors = tensors_of(loaded);
            files.check(tensors, "here", "");
            const auto all = train::whole_tensors(tensors);
            for (std::size_t r = 0; r < readers; ++r)
                files.read(
                    train::cut(all, 13 * r / readers, 13 * (r + 1) / readers - 13 * r / readers));
            CHECK(std::memcmp(loaded.optimizer_values.data(), saved.optimizer_values.data(),
                              13 * sizeof(float)) == 0);
        }
    }
}

namespace {

// Both moments of a parameter of 602 elements, three cells, in both kinds.
struct BothKinds {
    std::vector<std::int64_t> shape{2, 301};
    std::string names[2] = {"w.exp_avg", "w.exp_avg_sq"};
    std::vector<float> values[2], scales[2];
    std::vector<std::uint8_t> codes[2];

    explicit BothKinds(std::uint64_t seed) {
        PhiloxStream random(seed);
        for (int i = 0; i < 2; ++i) {
            values[i].resize(602);
            codes[i].resize(602);
            scales[i].resize(3);
            for (float& value : values[i])
                value = (static_cast<float>(random() % 2001) - (i == 0 ? 1000.0f : 0.0f)) / 500;
            const auto map =
                i == 0 ? kernels::DynamicMap::with_sign : kernels::DynamicMap::without_sign;
            kernels::encode_moments(map, view_of(values[i]), view_of(codes[i]), view_of(scales[i]));
        }
    }
    std::vector<TensorExtent> fp32() {
        return {{names[0], shape, view_of(values[0])}, {names[1], shape, view_of(values[1])}};
    }
    std::vector<TensorExtent> int8() {
        return {{names[0], shape, view_of(scales[0]), view_of(codes[0])},
                {names[1], shape, view_of(scales[1]), view_of(codes[1])}};
    }
    std::vector<float> decoded(int i) const {
        std::vector<float> result(602);
        const auto map =
            i == 0 ? kernels::DynamicMap::with_sign : kernels::DynamicMap::without_sign;
        kernels::decode_moments(map, view_of(codes[i]), view_of(scales[i]), view_of(result));
        return result;
    }
};

std::vector<std::string> written(const LoggedFolder& to, const std::vector<TensorExtent>& tensors,
                                 std::size_t writers) {
    std::vector<std::string> paths;
    const auto all = train::whole_tensors(tensors);
    const std::size_t total = train::elements(all);
    for (std::size_t w = 0; w < writers; ++w) {
        const std::size_t first = total * w / writers, end = total * (w + 1) / writers;
        const auto pieces = train::cut(all, first, end - first);
        if (pieces.empty()) continue;  // the cell is another writer's
        paths.push_back(to.folder.path() + "/" + train::part_name(w));
        train::write_part(paths.back(), pieces);
    }
    return paths;
}

void read(const std::vector<std::string>& paths, const std::vector<TensorExtent>& tensors,
          std::size_t readers) {
    train::PartFiles files(paths);
    files.check(tensors, "here", "");
    const auto all = train::whole_tensors(tensors);
    const std::size_t total = train::elements(all);
    for (std::size_t r = 0; r < readers; ++r) {
        const std::size_t first = total * r / readers, end = total * (r + 1) / readers;
        files.read(train::cut(all, first, end - first));
    }
}

}  // namespace

TEST_CASE_FIXTURE(LoggedFolder, "moments in int8 come back bit for bit, whoever has which cells") {
    BothKinds saved(1);
    for (const std::size_t writers : {1, 2, 3, 7, 11}) {
        const auto paths = written(*this, saved.int8(), writers);
        for (const std::size_t readers : {1, 2, 5}) {
            BothKinds loaded(2);
            read(paths, loaded.int8(), readers);
            for (int i = 0; i < 2; ++i) {
                CHECK(loaded.codes[i] == saved.codes[i]);
                CHECK(loaded.scales[i] == saved.scales[i]);
            }
            read(paths, loaded.fp32(), readers);
            for (int i = 0; i < 2; ++i) CHECK(loaded.values[i] == saved.decoded(i));
        }
        const train::PartFiles files(paths);
        CHECK(files.is_coded("w.exp_avg_sq"));
        CHECK(files.tensors().size() == 2);  // the scales are not told
    }
}

TEST_CASE_FIXTURE(LoggedFolder, "moments in fp32 are rounded to int8 by who wants them so") {
    BothKinds saved(1);
    for (const std::size_t writers : {1, 3}) {
        const auto paths = written(*this, saved.fp32(), writers);
        for (const std::size_t readers : {1, 5}) {
            BothKinds loaded(2);
            read(paths, loaded.int8(), readers);
            for (int i = 0; i < 2; ++i) {
                CHECK(loaded.codes[i] == saved.codes[i]);
                CHECK(loaded.scales[i] == saved.scales[i]);
            }
        }
    }
}

TEST_CASE_FIXTURE(LoggedFolder, "codes without their scales are damage") {
    BothKinds saved(1);
    const std::string file = folder.path() + "/" + train::part_name(0);
    const auto write = [&](const std::string& named, std::int64_t cells) {
        std::vector<float> scales(static_cast<std::size_t>(cells));
        const std::string count = std::to_string(cells);
        const std::string pieces = R"({"a":{"first":0,"count":602,"shape":[602]},")" + named +
                                   R"(":{"first":0,"count":)" + count + R"(,"shape":[)" + count +
                                   "]}}";
        const std::vector<train::TensorToWrite> tensors{
            {"a", {602}, HostView<const std::uint8_t>(view_of(saved.codes[0]))},
            {named, {cells}, HostView<const float>(view_of(scales))}};
        train::write_safetensors(file, tensors, {{"pieces", pieces}});
    };
    write("a.scale", 3);
    CHECK_NOTHROW(train::PartFiles({file}));
    write("a.scale", 2);
    opens_not({file}, "a has codes without their scales");
    write("b.scale", 3);
    opens_not({file}, "a has codes without their scales");
}

TEST_CASE_FIXTURE(LoggedFolder, "a hash made while writing is the file's") {
    SavedRun saved(1);
    const Parts parts(*this, saved, 3);
    for (std::size_t i = 0; i < parts.paths.size(); ++i) {
        CHECK(parts.written[i].xxh3 == hash_file(parts.paths[i]));
        CHECK(parts.written[i].bytes == std::filesystem::file_size(parts.paths[i]));
    }
}

TEST_CASE_FIXTURE(LoggedFolder, "pieces that are missing, doubled or overlap are damage") {
    SavedRun saved(1);
    const Parts parts(*this, saved, 7);  // elements 0-0, 1-2, 3-4, 5-6, 7-8, 9-10, 11-12
    std::vector<std::string> some = parts.paths;
    some.erase(some.begin() + 3);
    opens_not(some,
              parts.paths[4] + ": is damaged: elements 5 to 6 of layer.weight.exp_avg are in");
    some = parts.paths;
    some.pop_back();
    opens_not(some, "elements 11 to 11 of layer.weight.exp_avg are in no part");
    some = parts.paths;
    some.push_back(folder / "twice.safetensors");
    std::filesystem::copy_file(parts.paths[2], some.back());
    opens_not(some, "elements 3 to 4 of layer.weight.exp_avg are also in " + parts.paths[2]);

    const auto tensors = tensors_of(saved);
    const auto all = train::whole_tensors(tensors);
    train::write_part(some.back(), train::cut(all, 4, 3));
    opens_not(some, "of layer.weight.exp_avg are also in ");
}

TEST_CASE_FIXTURE(LoggedFolder, "parts that contradict themselves or each other are damage") {
    SavedRun saved(1);
    const Parts parts(*this, saved, 2);
    const std::string other = folder / "other.safetensors";
    const std::vector<std::int64_t> shape = {13}, long_shape = {20};
    std::vector<float> values(4);
    const auto writes = [&](const TensorPiece& piece) { train::write_part(other, {&piece, 1}); };
    writes({"layer.weight.exp_avg", shape, 0, view_of(values)});
    opens_not({parts.paths[0], parts.paths[1], other}, "has shape [13] here and [12] in another");
    writes({"x", shape, 10, view_of(values)});
    opens_not({other}, "the piece of x is outside of its tensor");
    writes({"x", long_shape, 16, view_of(values)});
    opens_not({other}, "elements 0 to 15 of x are in no part");
    const auto holds = [&](const std::string& pieces) {
        train::write_safetensors(
            other,
            std::vector<train::TensorToWrite>{{"x", {4}, HostView<const float>(view_of(values))}},
            {{"pieces", pieces}});
    };
    holds("7");
    opens_not({other}, "it does not say which pieces it holds");
    holds("{}");
    opens_not({other}, "it does not describe all pieces that it holds");
    holds(R"({"x":{"first":0,"count":3,"shape":[4]}})");
    opens_not({other}, "the piece of x is not as it is described");
    holds(R"({"x":{"first":0,"count":4}})");
    opens_not({other}, "its description of a piece is not whole");
    for (const char* pieces : {R"({"x":{"first":1e300,"count":4,"shape":[4]}})",
                               R"({"x":{"first":0.5,"count":4,"shape":[4]}})",
                               R"({"x":{"first":0,"count":4,"shape":[4e0]}})",
                               R"({"x":{"first":-1,"count":4,"shape":[4]}})"}) {
        holds(pieces);
        opens_not({other}, "the piece of x is described without counts");
    }
    const std::string long_name(2000, 'x');
    holds(R"({"x":{"first":0,"count":3,"shape":[4],"of":")" + long_name + "\"}}");
    opens_not({other}, "the piece of " + std::string(80, 'x') + "... is not as it is described");
    holds(R"({"x":{"first":18446744073709551615,"count":4,"shape":[4294967296,4294967296]}})");
    opens_not({other}, "the piece of x is outside of its tensor");
}
