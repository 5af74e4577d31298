// SPDX-License-Identifier: Apache-2.0
// What a shard by a stranger or with a damaged structure does: a data error that names the file, or
// the rows that were written, and nothing else.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "data/hdf5/hdf5_read.hpp"
#include "data/storage/length_index.hpp"
#include "data/storage/shard_reader.hpp"
#include "data/storage/shard_store.hpp"
#include "runtime/core/error.hpp"
#include "runtime/files/hash.hpp"
#include "tests/support/files.hpp"
#include "tests/support/written_dataset.hpp"

using namespace lockstep;
using namespace lockstep::data;
namespace fs = std::filesystem;

namespace {

constexpr int rows = 5;

struct Prepared {
    Prepared() {
        const tests::MemoryRows::Shard lengths = tests::random_shard(3, rows, 9);
        tests::write_dataset(folder.path(), lengths, lengths, 1);
        path = folder / "valid-00000-of-00001.h5";
        const Dataset dataset = Dataset::open(folder.path());
        identity = shard_identity(dataset, dataset.split("valid"), 0);
        identity.bytes = 0;  // a stranger writes what fits
    }

    tests::ScratchFolder folder;
    std::string path;
    ShardIdentity identity;
};

// Reads everything that a shard holds. Returns its hash.
std::uint64_t read_all(const std::string& path, const ShardIdentity& identity) {
    ShardReader reader(path, identity);
    std::vector<RowExtent> extents;
    reader.append_extents(0, identity.rows, extents);
    std::uint64_t hash = 0;
    for (const RowExtent& extent : extents) {
        std::vector<std::int32_t> tokens(static_cast<std::size_t>(extent.source + extent.label));
        reader.read_tokens(extent.first_token, tokens);
        hash = hash64(&extent.source, sizeof extent.source, hash + extent.row);
        hash = hash64(tokens.data(), tokens.size() * sizeof tokens.front(), hash);
        for (const std::string& text : reader.read_references(extent.local))
            hash = hash64(text, hash);
    }
    return hash;
}

template <class Action>
std::string damage_told(Action action) {
    try {
        action();
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::data);
        return error.what();
    }
    return "no error";
}

bool says(const std::string& message, const std::string& path, const std::string& text) {
    INFO(message);
    CHECK(message.starts_with(path + ": "));
    CHECK(message.size() < path.size() + 400);
    return message.find(text) != std::string::npos;
}

using Change = std::function<void(const Hdf5File&)>;

void change(const std::string& path, const Change& action) {
    const Hdf5Section section;
    const Hdf5Properties access(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_libver_bounds(access.raw(), H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST);
    const Hdf5File file(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.raw()));
    REQUIRE(static_cast<bool>(file));
    action(file);
}

// What a reader says of a shard that was changed.
std::string after(const Change& action) {
    Prepared data;
    change(data.path, action);
    std::string message = damage_told([&] { read_all(data.path, data.identity); });
    if (message != "no error") CHECK(says(message, data.path, ""));
    return message;
}

// Replaces an attribute by one of `count` values: an array, which the library reads whole.
Change attribute_of(const char* name, hid_t type, hsize_t count) {
    return [=](const Hdf5File& file) {
        H5Adelete(file.raw(), name);
        const Hdf5Space space(H5Screate_simple(1, &count, nullptr));
        const Hdf5Attribute attribute(
            H5Acreate2(file.raw(), name, type, space.raw(), H5P_DEFAULT, H5P_DEFAULT));
        const std::vector<char> bytes(count * H5Tget_size(type), 'A');
        if (H5Tis_variable_str(type) <= 0)
            REQUIRE(H5Awrite(attribute.raw(), type, bytes.data()) >= 0);
    };
}

Hdf5Type text_type(std::size_t bytes) {
    Hdf5Type type(H5Tcopy(H5T_C_S1));
    H5Tset_size(type.raw(), bytes);
    return type;
}

// How a dataset is made anew. `extent` is the number of its elements.
struct Remade {
    const char* name;
    hid_t type;
    hsize_t extent;
    std::function<void(hid_t)> properties;
};

// Replaces a dataset by an empty one of another kind.
void remake(const Hdf5File& file, const Remade& wanted) {
    H5Ldelete(file.raw(), wanted.name, H5P_DEFAULT);
    const hsize_t unlimited = H5S_UNLIMITED;
    const Hdf5Properties create(H5Pcreate(H5P_DATASET_CREATE));
    wanted.properties(create.raw());
    const bool chunked = H5Pget_layout(create.raw()) == H5D_CHUNKED;
    const Hdf5Space space(H5Screate_simple(1, &wanted.extent, chunked ? &unlimited : nullptr));
    const Hdf5Dataset made(H5Dcreate2(file.raw(), wanted.name, wanted.type, space.raw(),
                                      H5P_DEFAULT, create.raw(), H5P_DEFAULT));
    REQUIRE(static_cast<bool>(made));
}

hsize_t size_of(const Hdf5File& file, const char* name) {
    const Hdf5Dataset dataset(H5Dopen2(file.raw(), name, H5P_DEFAULT));
    const Hdf5Space space(H5Dget_space(dataset.raw()));
    return static_cast<hsize_t>(H5Sget_simple_extent_npoints(space.raw()));
}

void set_token(const Hdf5File& file, hsize_t at, std::int32_t value) {
    const Hdf5Dataset dataset(H5Dopen2(file.raw(), format::tokens, H5P_DEFAULT));
    const Hdf5Space space(H5Dget_space(dataset.raw()));
    const hsize_t one = 1;
    const Hdf5Space memory(H5Screate_simple(1, &one, nullptr));
    H5Sselect_hyperslab(space.raw(), H5S_SELECT_SET, &at, nullptr, &one, nullptr);
    REQUIRE(H5Dwrite(dataset.raw(), H5T_NATIVE_INT32, memory.raw(), space.raw(), H5P_DEFAULT,
                     &value) >= 0);
}

constexpr auto chunks_and_checksums = [](hid_t create) {
    const hsize_t chunk = 1 << 12;
    H5Pset_chunk(create, 1, &chunk);
    H5Pset_fletcher32(create);
};

}  // namespace

TEST_CASE("the shard that the others are made of is read") {
    CHECK(after([](const Hdf5File&) {}) == "no error");
}

TEST_CASE("an attribute of several values is not read over what lies behind one value") {
    for (const char* name : {format::version, format::shard, format::shards, format::rows})
        for (const hsize_t count : {2, 64, 8000}) {
            CAPTURE(name);
            CHECK(after(attribute_of(name, H5T_STD_I64LE, count)) != "no error");
        }
    for (const char* name : {format::dictionary_hash, format::kind, format::split}) {
        CAPTURE(name);
        CHECK(after(attribute_of(name, text_type(16).raw(), 1000)) != "no error");
        CHECK(after(attribute_of(name, text_type(H5T_VARIABLE).raw(), 200)) != "no error");
    }
    const std::string message = after([](const Hdf5File& file) {
        H5Adelete(file.raw(), format::kind);
        const Hdf5Type type = text_type(60'000);
        const Hdf5Space space(H5Screate(H5S_SCALAR));
        const Hdf5Attribute large(H5Acreate2(file.raw(), format::kind, type.raw(), space.raw(),
                                             H5P_DEFAULT, H5P_DEFAULT));
        const std::string text(60'000, '\x1b');
        REQUIRE(H5Awrite(large.raw(), type.raw(), text.data()) >= 0);
    });
    CHECK(message.find("another kind of rows (none, not dialogue)") != std::string::npos);
}

TEST_CASE("values outside of the file's own chunks are refused before they are read") {
    const auto refused = [](const Change& action) {
        const std::string message = after(action);
        INFO(message);
        CHECK(message.find("dataset 'tokens' is damaged") != std::string::npos);
        return message;
    };
    const auto remade = [](const std::function<void(hid_t)>& properties) {
        return [=](const Hdf5File& file) {
            remake(file,
                   {format::tokens, H5T_STD_I32LE, size_of(file, format::tokens), properties});
        };
    };
    // Such a dataset reads the file that it names. One that names itself reads without end.
    const auto virtual_of = [](const char* other) {
        return [=](hid_t create) {
            const hsize_t all = 7;
            const Hdf5Space space(H5Screate_simple(1, &all, nullptr));
            REQUIRE(H5Pset_virtual(create, space.raw(), other, format::tokens, space.raw()) >= 0);
        };
    };
    for (const char* other : {".", "outside.bin"})
        refused([&](const Hdf5File& file) {
            remake(file, {format::tokens, H5T_STD_I32LE, 7, virtual_of(other)});
        });
    refused(remade([](hid_t create) { H5Pset_external(create, "outside.bin", 0, 4096); }));
    refused(remade([](hid_t create) { H5Pset_layout(create, H5D_CONTIGUOUS); }));
    refused(remade([](hid_t create) {
        chunks_and_checksums(create);
        H5Pset_deflate(create, 9);
    }));
    refused(remade([](hid_t create) {
        const hsize_t chunk = 1 << 12;
        H5Pset_chunk(create, 1, &chunk);
    }));
    for (const auto link : {0, 1})
        refused([&](const Hdf5File& file) {
            H5Ldelete(file.raw(), format::tokens, H5P_DEFAULT);
            const herr_t made = link == 0
                                    ? H5Lcreate_external("outside.bin", "tokens", file.raw(),
                                                         format::tokens, H5P_DEFAULT, H5P_DEFAULT)
                                    : H5Lcreate_soft("/row_ids", file.raw(), format::tokens,
                                                     H5P_DEFAULT, H5P_DEFAULT);
            REQUIRE(made >= 0);
        });
    refused([](const Hdf5File& file) {
        remake(file, {format::tokens, H5T_STD_U16LE, size_of(file, format::tokens),
                      chunks_and_checksums});
    });
}

TEST_CASE("an extent without stored chunks is refused, however large it is") {
    for (const hsize_t extent : {hsize_t{7}, hsize_t{1} << 40}) {
        const std::string message = after([&](const Hdf5File& file) {
            remake(file, {format::tokens, H5T_STD_I32LE, extent, chunks_and_checksums});
        });
        INFO(message);
        CHECK(message.find("a part of it is not in the file") != std::string::npos);
    }
}

TEST_CASE("a token outside of the vocabulary is named with its row") {
    Prepared data;
    std::vector<RowExtent> extents;
    ShardReader(data.path, data.identity).append_extents(0, rows, extents);
    for (const std::int32_t token : {1004, -1, std::numeric_limits<std::int32_t>::min()})
        for (const int row : {0, 3, rows - 1}) {
            const std::string message = after([&](const Hdf5File& file) {
                set_token(file, extents[static_cast<std::size_t>(row)].first_token, token);
            });
            INFO(message);
            CHECK(message.find("row " + std::to_string(row) + " has the token " +
                               std::to_string(token) + ", but the vocabulary has 1004") !=
                  std::string::npos);
        }
}

TEST_CASE("no single flipped bit of a shard's structure changes what is read") {
    Prepared data;
    const std::uint64_t written = read_all(data.path, data.identity);
    std::string bytes = tests::read_text(data.path);
    std::fstream file(data.path, std::ios::in | std::ios::out | std::ios::binary);
    const auto put = [&](std::size_t at, char byte) {
        file.seekp(static_cast<std::streamoff>(at));
        file.put(byte).flush();
    };
    int refused = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        if (bytes[at] == 0) continue;  // most zeros are the unused ends of chunks
        // Some of them move a chunk's address into the zeros of another chunk.
        for (int bit = 0; bit < 8; ++bit) {
            put(at, static_cast<char>(bytes[at] ^ (1 << bit)));
            std::uint64_t read = written;
            try {
                read = read_all(data.path, data.identity);
            } catch (const Error& error) {
                ++refused;
                CHECK(std::string(error.what()).starts_with(data.path));
            }
            INFO("byte " << at << ", bit " << bit);
            CHECK(read == written);
        }
        put(at, bytes[at]);
    }
    CHECK(refused > 4000);
}

TEST_CASE("a pipe in place of a shard is refused instead of waited for") {
    Prepared data;
    fs::remove(data.path);
    REQUIRE(::mkfifo(data.path.c_str(), 0600) == 0);
    CHECK(says(damage_told([&] { read_all(data.path, data.identity); }), data.path,
               "not a regular file"));
}

TEST_CASE("a shard of another size than dataset.json says is refused") {
    Prepared data;
    const Dataset dataset = Dataset::open(data.folder.path());
    const ShardIdentity identity = shard_identity(dataset, dataset.split("valid"), 0);
    CHECK(read_all(data.path, identity) == read_all(data.path, data.identity));
    std::ofstream(data.path, std::ios::app) << "more";
    CHECK(says(damage_told([&] { read_all(data.path, identity); }), data.path,
               "bytes where dataset.json says"));
}

TEST_CASE("the index is checked as the shards are") {
    const auto read = [](Prepared& data, const Change& action) {
        change(data.folder / "index.h5", action);
        return damage_told([&] {
            const Dataset dataset = Dataset::open(data.folder.path());
            LengthIndex index(dataset, dataset.split("valid"));
            std::vector<RowExtent> extents;
            index.append_extents(0, 0, rows, extents);
        });
    };
    Prepared sound, text, link;
    CHECK(read(sound, [](const Hdf5File&) {}) == "no error");
    CHECK(says(read(text, attribute_of(format::dictionary_hash, text_type(16).raw(), 1000)),
               text.folder / "index.h5", "another data set"));
    CHECK(says(read(link,
                    [](const Hdf5File& file) {
                        H5Ldelete(file.raw(), "/valid", H5P_DEFAULT);
                        H5Lcreate_soft("/train", file.raw(), "/valid", H5P_DEFAULT, H5P_DEFAULT);
                    }),
               link.folder / "index.h5", "'/valid/00000' is not the lengths of 5 rows"));
}

TEST_CASE("an attribute that claims more bytes than it has is damage, not a lack of memory") {
    const tests::ScratchFolder folder;
    const std::string path = folder / "old.h5";
    {
        // HDF5's first format has no checksums over its structure.
        const Hdf5Section section;
        const Hdf5File file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
        const Hdf5Type type(H5Tcopy(H5T_C_S1));
        H5Tset_size(type.raw(), 16);
        const Hdf5Space space(H5Screate(H5S_SCALAR));
        const Hdf5Attribute text(
            H5Acreate2(file.raw(), "text", type.raw(), space.raw(), H5P_DEFAULT, H5P_DEFAULT));
        REQUIRE(H5Awrite(text.raw(), type.raw(), "0123456789abcdef") >= 0);
    }
    std::string bytes = tests::read_text(path);
    const std::string size("\x13\0\0\0\x10\0\0\0", 8);  // of a string of 16 bytes
    const std::size_t at = bytes.find(size);
    REQUIRE(at < bytes.size());
    for (const std::uint32_t claimed : {64U, 4'000U, 60'000U, 0x7FFFFFFFU}) {
        CAPTURE(claimed);
        std::memcpy(bytes.data() + at + 4, &claimed, sizeof claimed);
        tests::write_text(path, bytes);
        const Hdf5Section section;
        const Hdf5File file = hdf5::open_file(path);
        CHECK(hdf5::read_text(file, "text") != "0123456789abcdef");
        CHECK_NOTHROW(section.require_memory());
    }
}
