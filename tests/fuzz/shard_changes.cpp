// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/shard_changes.hpp"

#include <algorithm>
#include <array>

#include "data/hdf5/hdf5_section.hpp"
#include "data/storage/shard_format.hpp"
#include "tests/fuzz/target.hpp"

namespace lockstep::fuzz {
namespace {

using namespace data;

constexpr std::array datasets{
    format::tokens,         format::offsets,           format::row_ids,
    format::reference_rows, format::reference_offsets, format::reference_text};
constexpr std::array attributes{
    format::version, format::dictionary_hash, format::rows,  format::token_count,
    format::kind,    format::split,           format::shard, format::shards};

template <class List>
auto one_of(const List& list, InputReader& input) {
    return list[input.number<std::uint8_t>() % list.size()];
}

Hdf5Type type_of(InputReader& input) {
    const std::array numbers{H5T_STD_I64LE, H5T_STD_I32LE, H5T_STD_U32LE, H5T_STD_U64LE,
                             H5T_STD_U8LE,  H5T_STD_I32BE, H5T_IEEE_F64LE};
    const std::size_t choice = input.number<std::uint8_t>() % (numbers.size() + 2);
    if (choice < numbers.size()) return Hdf5Type(H5Tcopy(numbers[choice]));
    Hdf5Type text(H5Tcopy(H5T_C_S1));
    const std::size_t bytes = 1 + input.number<std::uint8_t>() * std::size_t{32};
    H5Tset_size(text.raw(), choice == numbers.size() ? H5T_VARIABLE : bytes);
    return text;
}

void replace_attribute(const Hdf5File& file, InputReader& input) {
    const char* name = one_of(attributes, input);
    const Hdf5Type type = type_of(input);
    // A longer attribute makes a file that the target would drop, and takes the fuzzer's own
    // memory.
    constexpr hsize_t largest_bytes = hsize_t{1} << 20;
    const hsize_t count = std::min<hsize_t>(input.number<std::uint16_t>() % 8001,
                                            largest_bytes / H5Tget_size(type.raw()));
    const std::int64_t value = input.number<std::int64_t>();
    H5Adelete(file.raw(), name);
    const Hdf5Space space(count == 0 ? H5Screate(H5S_SCALAR)
                                     : H5Screate_simple(1, &count, nullptr));
    const Hdf5Attribute made(
        H5Acreate2(file.raw(), name, type.raw(), space.raw(), H5P_DEFAULT, H5P_DEFAULT));
    if (H5Tis_variable_str(type.raw()) > 0) return;
    std::vector<char> bytes((count + 1) * H5Tget_size(type.raw()) + sizeof value, 'A');
    std::memcpy(bytes.data(), &value, sizeof value);
    H5Awrite(made.raw(), type.raw(), bytes.data());
}

void choose_storage(const Hdf5Properties& create, hsize_t extent, InputReader& input) {
    const hsize_t chunk = 1 + input.number<std::uint32_t>() % 5'000;
    const std::uint8_t layout = input.number<std::uint8_t>() % 8;
    const Hdf5Space all(H5Screate_simple(1, &extent, nullptr));
    if (layout == 0) H5Pset_layout(create.raw(), H5D_CONTIGUOUS);
    if (layout == 1) H5Pset_layout(create.raw(), H5D_COMPACT);
    if (layout == 2) H5Pset_external(create.raw(), outside, 0, H5F_UNLIMITED);
    if (layout == 3) H5Pset_virtual(create.raw(), all.raw(), ".", "tokens", all.raw());
    if (layout > 3) H5Pset_chunk(create.raw(), 1, &chunk);
    const std::uint8_t filters = input.number<std::uint8_t>();
    if ((filters & 1) == 0) H5Pset_fletcher32(create.raw());
    if ((filters & 2) != 0) H5Pset_deflate(create.raw(), 1);
    if ((filters & 4) != 0) H5Pset_shuffle(create.raw());
}

// The library writes to a virtual dataset that is its own source until the stack is full, and to
// the file that an external dataset names, which may be any file of this host.
bool may_be_written(const Hdf5Dataset& dataset) {
    const Hdf5Properties create(H5Dget_create_plist(dataset.raw()));
    return H5Pget_layout(create.raw()) != H5D_VIRTUAL && H5Pget_external_count(create.raw()) == 0;
}

void replace_dataset(const Hdf5File& file, InputReader& input) {
    const char* name = one_of(datasets, input);
    const Hdf5Type type = type_of(input);
    const std::uint8_t bits = input.number<std::uint8_t>();
    const hsize_t extent = input.number<std::uint16_t>() + (bits < 62 ? hsize_t{1} << bits : 0);
    const Hdf5Properties create(H5Pcreate(H5P_DATASET_CREATE));
    choose_storage(create, extent, input);
    const hsize_t unlimited = H5S_UNLIMITED;
    const Hdf5Space space(H5Screate_simple(
        1, &extent, H5Pget_layout(create.raw()) == H5D_CHUNKED ? &unlimited : nullptr));
    H5Ldelete(file.raw(), name, H5P_DEFAULT);
    const Hdf5Dataset made(H5Dcreate2(file.raw(), name, type.raw(), space.raw(), H5P_DEFAULT,
                                      create.raw(), H5P_DEFAULT));
    if (!made || extent > 1000 || H5Tget_class(type.raw()) == H5T_STRING) return;
    if (!may_be_written(made)) return;
    const std::vector<std::uint64_t> values(extent, input.number<std::uint64_t>());
    H5Dwrite(made.raw(), type.raw(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

void replace_link(const Hdf5File& file, InputReader& input) {
    const char* name = one_of(datasets, input);
    const std::string other = std::string("/") + one_of(datasets, input);
    H5Ldelete(file.raw(), name, H5P_DEFAULT);
    switch (input.number<std::uint8_t>() % 4) {
        case 0:
            H5Lcreate_soft(other.c_str(), file.raw(), name, H5P_DEFAULT, H5P_DEFAULT);
            break;
        case 1:
            H5Lcreate_external("input.h5", other.c_str(), file.raw(), name, H5P_DEFAULT,
                               H5P_DEFAULT);
            break;
        case 2:
            H5Lcreate_hard(file.raw(), other.c_str(), file.raw(), name, H5P_DEFAULT, H5P_DEFAULT);
            break;
        default:
            break;
    }
}

void put_value(const Hdf5File& file, InputReader& input) {
    const Hdf5Dataset dataset(H5Dopen2(file.raw(), one_of(datasets, input), H5P_DEFAULT));
    if (!dataset || !may_be_written(dataset)) return;
    const Hdf5Space space(H5Dget_space(dataset.raw()));
    const auto elements = static_cast<hsize_t>(H5Sget_simple_extent_npoints(space.raw()));
    const hsize_t at = input.number<std::uint16_t>() % (elements == 0 ? 1 : elements), one = 1;
    const std::uint64_t value = input.number<std::uint64_t>();
    const Hdf5Space memory(H5Screate_simple(1, &one, nullptr));
    H5Sselect_hyperslab(space.raw(), H5S_SELECT_SET, &at, nullptr, &one, nullptr);
    H5Dwrite(dataset.raw(), H5T_NATIVE_UINT64, memory.raw(), space.raw(), H5P_DEFAULT, &value);
}

void resize(const Hdf5File& file, InputReader& input) {
    const Hdf5Dataset dataset(H5Dopen2(file.raw(), one_of(datasets, input), H5P_DEFAULT));
    const hsize_t extent = input.number<std::uint16_t>();
    if (!dataset || !may_be_written(dataset)) return;
    // The library looks for each chunk that is cut off, whether it is stored or not.
    const Hdf5Space space(H5Dget_space(dataset.raw()));
    if (H5Sget_simple_extent_npoints(space.raw()) > hssize_t{1} << 17) return;
    H5Dset_extent(dataset.raw(), &extent);
}

void copy_attribute(const Hdf5File& from, const Hdf5File& to, const char* name) {
    const Hdf5Attribute attribute(H5Aopen(from.raw(), name, H5P_DEFAULT));
    const Hdf5Type type(H5Aget_type(attribute.raw()));
    const Hdf5Space space(H5Aget_space(attribute.raw()));
    std::vector<char> value(H5Aget_storage_size(attribute.raw()));
    H5Aread(attribute.raw(), type.raw(), value.data());
    const Hdf5Attribute copy(
        H5Acreate2(to.raw(), name, type.raw(), space.raw(), H5P_DEFAULT, H5P_DEFAULT));
    expect(H5Awrite(copy.raw(), type.raw(), value.data()) >= 0, "an attribute is not copied");
}

void copy_dataset(const Hdf5File& from, const Hdf5File& to, const char* name) {
    const Hdf5Dataset dataset(H5Dopen2(from.raw(), name, H5P_DEFAULT));
    const Hdf5Type type(H5Dget_type(dataset.raw()));
    const Hdf5Space space(H5Dget_space(dataset.raw()));
    const auto elements = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.raw()));
    std::vector<char> values(elements * H5Tget_size(type.raw()));
    H5Dread(dataset.raw(), type.raw(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    const Hdf5Properties create(H5Pcreate(H5P_DATASET_CREATE));
    // Sizes are 256, 1,024 or 2,048 and 4 bytes of checksum, so that no single byte of an address
    // in the index makes it that of another chunk, as with prepare's 262,148 bytes.
    const hsize_t chunk = 256;
    H5Pset_chunk(create.raw(), 1, &chunk);
    H5Pset_fletcher32(create.raw());
    const Hdf5Dataset copy(H5Dcreate2(to.raw(), name, type.raw(), space.raw(), H5P_DEFAULT,
                                      create.raw(), H5P_DEFAULT));
    expect(H5Dwrite(copy.raw(), type.raw(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0,
           "a dataset is not copied");
}

constexpr std::array changes{replace_attribute, replace_dataset, replace_link,
                             put_value,         put_value,       resize};

}  // namespace

void copy_with_small_chunks(const std::string& from, const std::string& to) {
    const Hdf5Section section;
    const Hdf5Properties access(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_libver_bounds(access.raw(), H5F_LIBVER_V18, H5F_LIBVER_V18);
    const Hdf5File shard(H5Fopen(from.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
    const Hdf5File copy(H5Fcreate(to.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.raw()));
    for (const char* name : attributes) copy_attribute(shard, copy, name);
    for (const char* name : datasets) copy_dataset(shard, copy, name);
}

void change_structure(const std::string& path, InputReader& input) {
    const std::size_t times = input.number<std::uint8_t>() % 4;
    if (times == 0) return;
    const Hdf5Section section;
    const Hdf5Properties access(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_libver_bounds(access.raw(), H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST);
    const Hdf5File file(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.raw()));
    expect(static_cast<bool>(file), "the shard to change cannot be opened");
    for (std::size_t i = 0; i < times; ++i) one_of(changes, input)(file, input);
}

void change_bytes(std::vector<std::uint8_t>& bytes, InputReader& input) {
    // Most bytes are the unused ends of chunks.
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        if (bytes[i] != 0) used.push_back(i);
    while (!input.at_end() && !used.empty()) {
        const std::size_t offset = used[input.number<std::uint16_t>() % used.size()];
        const std::size_t near = offset + input.number<std::uint8_t>() % 8;
        bytes[near < bytes.size() ? near : offset] = input.number<std::uint8_t>();
    }
}

}  // namespace lockstep::fuzz
