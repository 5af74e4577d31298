// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <zlib.h>

#include <filesystem>

#include "data/text/text_chunks.hpp"
#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

void write_gzip(const std::string& path, const std::string& text, const char* mode = "wb") {
    const gzFile file = gzopen(path.c_str(), mode);
    REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) ==
            static_cast<int>(text.size()));
    REQUIRE(gzclose(file) == Z_OK);
}

struct Whole {
    std::string text;
    std::uint64_t file_bytes = 0, total_bytes = 0;
};

Whole read_whole(const std::string& path) {
    ChunkReader reader({path}, TextFormat::text);
    Whole whole;
    whole.total_bytes = reader.total_bytes();
    for (TextChunk chunk; reader.next(chunk);) {
        whole.text += chunk.text;
        whole.file_bytes += chunk.file_bytes;
    }
    return whole;
}

std::string error_of(const std::string& path) {
    try {
        read_whole(path);
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

// Lines that gzip cannot make much shorter.
std::string many_lines() {
    std::string text;
    for (unsigned i = 0; i < 300'000; ++i) text += std::to_string(i * 2654435761u) + "\n";
    return text;
}

}  // namespace

TEST_CASE("a compressed file gives its text, and its own bytes are what is counted") {
    const tests::ScratchFolder dir;
    const std::string text = many_lines();
    write_gzip(dir / "t.gz", text);
    tests::write_text(dir / "t", text);
    const Whole packed = read_whole(dir / "t.gz"), plain = read_whole(dir / "t");
    CHECK(packed.text == text);
    CHECK(plain.text == text);
    CHECK(plain.file_bytes == text.size());
    CHECK(packed.total_bytes == std::filesystem::file_size(dir / "t.gz"));
    CHECK(packed.file_bytes == packed.total_bytes);
}

TEST_CASE("a file of several compressed parts, and one that is named otherwise") {
    const tests::ScratchFolder dir;
    write_gzip(dir / "parts", "\xEF\xBB\xBFone\n");
    write_gzip(dir / "parts", "two\n", "ab");
    CHECK(read_whole(dir / "parts").text == "one\ntwo\n");
    tests::write_text(dir / "plain.gz", "not compressed\n");
    CHECK(read_whole(dir / "plain.gz").text == "not compressed\n");
}

TEST_CASE("text behind compressed data is told, zeros are not") {
    const tests::ScratchFolder dir;
    write_gzip(dir / "one.gz", "one\n");
    const std::string one = tests::read_text(dir / "one.gz");
    tests::write_text(dir / "mixed.gz", one + "two\n");
    CHECK(error_of(dir / "mixed.gz").find("that is not gzip follows") != std::string::npos);
    tests::write_text(dir / "mark.gz", one + "\x1F");
    CHECK(error_of(dir / "mark.gz").find("that is not gzip follows") != std::string::npos);
    const std::string zeros(1000, '\0');
    tests::write_text(dir / "padded.gz", one + zeros + one + zeros);
    CHECK(read_whole(dir / "padded.gz").text == "one\none\n");
}

TEST_CASE("damaged and cut off data is told with file and line") {
    const tests::ScratchFolder dir;
    const std::string path = dir / "t.gz";
    write_gzip(path, many_lines());
    const auto bytes = std::filesystem::file_size(path);
    std::string packed = tests::read_text(path);
    packed[bytes / 2] = static_cast<char>(packed[bytes / 2] ^ 0x55);
    tests::write_text(dir / "bad.gz", packed);
    CHECK(error_of(dir / "bad.gz").starts_with(dir / "bad.gz:"));
    CHECK(error_of(dir / "bad.gz").find("the gzip data is damaged (") != std::string::npos);
    packed = tests::read_text(path);
    packed[bytes - 7] = static_cast<char>(packed[bytes - 7] ^ 1);  // of the checksum
    tests::write_text(dir / "sum.gz", packed);
    CHECK(error_of(dir / "sum.gz").find("incorrect data check") != std::string::npos);
    for (const auto kept : {bytes / 2, bytes - 1, std::uintmax_t{5}}) {
        CAPTURE(kept);
        std::filesystem::resize_file(path, kept);
        const std::string error = error_of(path);
        CHECK(error.starts_with(path + ":"));
        CHECK(error.find("cut off") != std::string::npos);
    }
    CHECK(error_of(path).starts_with(path + ":1: "));
}

TEST_CASE("a small file of one endless line is refused before it fills the memory") {
    const tests::ScratchFolder dir;
    write_gzip(dir / "t.gz", std::string(40 << 20, 'x'));
    CHECK(std::filesystem::file_size(dir / "t.gz") < 100'000);
    CHECK(error_of(dir / "t.gz").find("t.gz:1: a line of more than 16 MiB") != std::string::npos);
}

TEST_CASE("standard input cannot be read twice") {
    CHECK(error_of("-").find("standard input; name a file") != std::string::npos);
}

TEST_CASE("a JSON array is read as lines that keep their numbers") {
    const tests::ScratchFolder dir;
    const auto lines_of = [&](const std::string& text, TextFormat format = TextFormat::messages) {
        tests::write_text(dir / "a.json", text);
        std::string lines;
        try {
            ChunkReader reader({dir / "a.json"}, format);
            for (TextChunk chunk; reader.next(chunk);) lines += chunk.text;
        } catch (const Error& e) {
            const std::string what = e.what();
            return what.substr(what.find("a.json"));
        }
        return lines;
    };
    CHECK(lines_of("[{\"a\": 1}, {\"b\": [\"x\", {}]}]\n") == "{\"a\": 1}\n{\"b\": [\"x\", {}]}\n");
    CHECK(lines_of("\n[\n  {\"a\": 1,\n   \"b\": \"}\\\"]\"},\n  {\"c\": 2}\n]") ==
          "\n\n{\"a\": 1,    \"b\": \"}\\\"]\"}\n\n{\"c\": 2}\n");
    CHECK(lines_of("[\n 1,\n {}]x", TextFormat::jsonl) == "\n1\n{}x");
    CHECK(lines_of("[]") == "");
    CHECK(lines_of("[{}]", TextFormat::text) == "[{}]");
    CHECK(lines_of("[\n{}\n,\n") ==
          "a.json:4: the JSON array is not closed by ']'; was the file cut?");
    CHECK(lines_of("[{},\n{},\n]") ==
          "a.json:3: a comma before the ']' that closes the array; take it out");
    CHECK(lines_of("[{},\n\n,{}]") ==
          "a.json:3: a comma without an element before it; take it out");
    CHECK(lines_of("[,{}]") == "a.json:1: a comma without an element before it; take it out");
    CHECK(lines_of("[{}\n{}]") ==
          "a.json:2: two elements of the array without a comma between them; write one there");
    std::string many = "[", wanted;
    for (int i = 0; i < 60'000; ++i) {
        const std::string one = "{\"number\": " + std::to_string(i * 7919) + "}";
        many += (i > 0 ? ",\n" : "") + one;
        wanted += one + "\n";
    }
    CHECK(lines_of(many + "]\n") == wanted);
}
