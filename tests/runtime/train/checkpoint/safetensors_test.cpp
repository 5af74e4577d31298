// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/safetensors.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/files.hpp"

using namespace lockstep;
using train::SafetensorsFile;
using train::TensorToWrite;

namespace {

// Returns a file with this header and `data_bytes` bytes after it.
std::string file_with(const std::string& header, std::size_t data_bytes) {
    const auto length = std::uint64_t{header.size()};
    std::string bytes(sizeof length, '\0');
    std::memcpy(bytes.data(), &length, sizeof length);
    return bytes + header + std::string(data_bytes, 'x');
}

std::string refusal(const std::string& path) {
    try {
        const SafetensorsFile file(path);
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::data);
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("tensors of every type survive bit for bit") {
    const tests::ScratchFolder folder;
    const std::string path = folder / "t.safetensors";
    const std::vector<float> floats = {1.5f,
                                       -0.0f,
                                       std::numeric_limits<float>::infinity(),
                                       std::nanf("7"),
                                       std::numeric_limits<float>::denorm_min(),
                                       3e38f};
    const std::vector<bf16> halves = {bf16(1.0f), bf16(-2.5f), bf16(1e30f)};
    const std::vector<std::uint64_t> words = {0, ~0ull};
    const std::vector<TensorToWrite> tensors = {
        {"halves", {3}, view_of(halves)},
        {"a \"quoted\" \u00E9 name", {2, 3}, view_of(floats)},
        {"words", {2, 1}, view_of(words)},
        {"none", {0, 4}, HostView<const float>()},
        {"scalar", {}, HostView<const float>(floats.data(), 1)}};
    train::write_safetensors(path, tensors, {{"format", "pt"}, {"note", "\u00FC"}});

    SafetensorsFile file(path);
    CHECK(file.metadata() == train::Metadata{{"format", "pt"}, {"note", "\u00FC"}});
    CHECK(file.tensors().size() == 5);
    CHECK(file.find("nothing") == nullptr);

    const train::TensorInfo* tensor = file.find("a \"quoted\" \u00E9 name");
    REQUIRE(tensor != nullptr);
    CHECK(tensor->shape == std::vector<std::int64_t>{2, 3});
    std::vector<float> read_floats(6);
    file.read(*tensor, view_of(read_floats));
    CHECK(std::memcmp(read_floats.data(), floats.data(), 24) == 0);

    std::vector<bf16> read_halves(3);
    file.read(*file.find("halves"), view_of(read_halves));
    CHECK(std::memcmp(read_halves.data(), halves.data(), 6) == 0);
    std::vector<float> widened(3);
    file.read(*file.find("halves"), view_of(widened));
    CHECK(widened[1] == -2.5f);

    std::vector<std::uint64_t> read_words(2);
    file.read(*file.find("words"), view_of(read_words));
    CHECK(read_words == words);
    CHECK(file.find("words")->offset % 8 == 0);
    CHECK(file.find("none")->count == 0);
    CHECK(file.find("scalar")->count == 1);
    CHECK_THROWS_AS(file.read(*file.find("words"), view_of(widened)), Error);
}

TEST_CASE("writing checks names and shapes") {
    const tests::ScratchFolder folder;
    const std::vector<float> values(4);
    const std::vector<TensorToWrite> twice = {{"a", {4}, view_of(values)},
                                              {"a", {4}, view_of(values)}};
    CHECK_THROWS_AS(train::write_safetensors(folder / "x", twice, {}), Error);
    const std::vector<TensorToWrite> wrong = {{"a", {5}, view_of(values)}};
    CHECK_THROWS_AS(train::write_safetensors(folder / "x", wrong, {}), Error);
    CHECK(folder.names().empty());
}

TEST_CASE("damaged and hostile headers are refused in one line that names the file") {
    const tests::ScratchFolder folder;
    const std::string path = folder / "bad.safetensors";
    struct Case {
        std::string bytes, says;
    };
    const std::string good = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
    const Case cases[] = {
        {"", "shorter"},
        {"1234567", "shorter"},
        {std::string(8, '\xFF') + "{}", "header claims"},
        {file_with(good, 8).substr(0, 20), "header claims"},
        {file_with("{\"w\":", 0), "JSON"},
        {file_with("[]", 0), "JSON"},
        {file_with(std::string(100000, '['), 0), "nested"},
        {file_with("{\"\xFF\":{}}", 0), "JSON"},
        {file_with(R"({"w":7})", 0), "lacks"},
        {file_with(R"({"w":{"dtype":"F32","shape":[2]}})", 8), "lacks"},
        {file_with(R"({"w":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})", 16), "F64"},
        {file_with(R"({"w":{"dtype":3,"shape":[2],"data_offsets":[0,4]}})", 4), "dtype"},
        {file_with(good, 7), "beyond the end"},
        {file_with(good, 9), "header describes"},
        {file_with(R"({"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8), "counts"},
        {file_with(R"({"w":{"dtype":"F32","shape":"2","data_offsets":[0,8]}})", 8), "counts"},
        {file_with(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8), "beyond"},
        {file_with(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8), "beyond"},
        {file_with(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8), "larger|fill"},
        {file_with(R"({"w":{"dtype":"F32","shape":[4611686018427387905,4],"data_offsets":[0,8]}})",
                   8),
         "larger"},
        {file_with(R"({"w":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}})",
                   8),
         "counts"},
        {file_with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                   R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                   12),
         "overlaps"},
        {file_with(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8), "gaps"},
        {file_with(R"({"__metadata__":{"a":1}})", 0), "metadata"},
        {file_with(R"({"__metadata__":[]})", 0), "metadata"},
    };
    for (const Case& c : cases) {
        tests::write_text(path, c.bytes);
        const std::string line = refusal(path);
        CAPTURE(line);
        CHECK(line.starts_with(path + ": "));
        CHECK(line.find('\n') == std::string::npos);
        const std::size_t bar = c.says.find('|');
        CHECK(
            (line.find(c.says.substr(0, bar)) != std::string::npos ||
             (bar != std::string::npos && line.find(c.says.substr(bar + 1)) != std::string::npos)));
    }
    tests::write_text(path, file_with(good, 8));
    CHECK(refusal(path) == "");
}

TEST_CASE("a missing file and a folder are io errors that name the path") {
    const tests::ScratchFolder folder;
    for (const std::string& path : {folder / "none", folder.path()}) {
        try {
            const SafetensorsFile file(path);
            FAIL("opened " << path);
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::io);
            CHECK(std::string(error.what()).starts_with(path + ": "));
        }
    }
}
