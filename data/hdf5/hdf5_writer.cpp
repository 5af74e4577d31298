// SPDX-License-Identifier: Apache-2.0
#include "data/hdf5/hdf5_writer.hpp"

#include <algorithm>

#include "runtime/core/error.hpp"

namespace lockstep::data {
namespace {

hsize_t rank_of(hsize_t width) { return width == 1 ? 1 : 2; }

// Returns properties of a new object without a time stamp, so that equal text gives equal files.
Hdf5Properties timeless(hid_t kind, const Hdf5Output& file, const Hdf5Section& section) {
    Hdf5Properties create(file.check(H5Pcreate(kind), section));
    file.check(H5Pset_obj_track_times(create.raw(), 0), section);
    return create;
}

// Makes the group of `name`, which is "train" for "train/3".
void make_group(const std::string& name, Hdf5Output& file, const Hdf5Section& section) {
    const auto slash = name.rfind('/');
    if (slash == std::string::npos) return;
    const std::string group = name.substr(0, slash);
    if (file.check(H5Lexists(file.raw(), group.c_str(), H5P_DEFAULT), section) > 0) return;
    const Hdf5Properties create = timeless(H5P_GROUP_CREATE, file, section);
    const Hdf5Group made(file.check(
        H5Gcreate2(file.raw(), group.c_str(), H5P_DEFAULT, create.raw(), H5P_DEFAULT), section));
}

}  // namespace

Hdf5Output::Hdf5Output(std::string path) : path_(std::move(path)) {
    const Hdf5Section section;
    const Hdf5Properties access(check(H5Pcreate(H5P_FILE_ACCESS), section));
    // Strings and 64-bit offsets are stored as HDF5 1.8 wrote them: every reader in use understands
    // this.
    check(H5Pset_libver_bounds(access.raw(), H5F_LIBVER_V18, H5F_LIBVER_V18), section);
    // Nobody else has the file's folder, and file servers without locks refuse them.
    check(H5Pset_file_locking(access.raw(), 0, 1), section);
    const Hdf5Properties create = timeless(H5P_FILE_CREATE, *this, section);
    file_ = Hdf5File(
        check(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, create.raw(), access.raw()), section));
}

Hdf5Output::~Hdf5Output() {
    const Hdf5Section section;
    file_ = Hdf5File();
}

void Hdf5Output::attribute(const char* name, std::int64_t value) {
    const Hdf5Section section;
    const Hdf5Space space(check(H5Screate(H5S_SCALAR), section));
    const Hdf5Attribute attribute(
        check(H5Acreate2(file_.raw(), name, H5T_STD_I64LE, space.raw(), H5P_DEFAULT, H5P_DEFAULT),
              section));
    check(H5Awrite(attribute.raw(), H5T_NATIVE_INT64, &value), section);
}

void Hdf5Output::attribute(const char* name, std::string_view value) {
    const Hdf5Section section;
    const Hdf5Space space(check(H5Screate(H5S_SCALAR), section));
    const Hdf5Type type(check(H5Tcopy(H5T_C_S1), section));
    check(H5Tset_size(type.raw(), std::max<std::size_t>(value.size(), 1)), section);
    check(H5Tset_cset(type.raw(), H5T_CSET_UTF8), section);
    check(H5Tset_strpad(type.raw(), H5T_STR_NULLPAD), section);
    const Hdf5Attribute attribute(check(
        H5Acreate2(file_.raw(), name, type.raw(), space.raw(), H5P_DEFAULT, H5P_DEFAULT), section));
    check(H5Awrite(attribute.raw(), type.raw(), std::string(value).c_str()), section);
}

void Hdf5Output::close() {
    const Hdf5Section section;
    check(H5Fflush(file_.raw(), H5F_SCOPE_GLOBAL), section);
    check(H5Fclose(file_.release()), section);
}

void Hdf5Output::fail(const std::string& reason) const {
    throw Error(ErrorKind::io, path_ + ": cannot write (" + reason +
                                   "); check free space and permissions of its folder");
}

Hdf5Column::Hdf5Column(Hdf5Output& file, const std::string& name, hid_t type,
                       std::size_t element_bytes, hsize_t width, hsize_t chunk_rows)
    : file_(&file),
      type_(type),
      row_bytes_(element_bytes * width),
      width_(width),
      chunk_bytes_(row_bytes_ * chunk_rows) {
    const Hdf5Section section;
    const hsize_t none[2] = {0, width}, unlimited[2] = {H5S_UNLIMITED, width},
                  chunk[2] = {chunk_rows, width};
    const int rank = static_cast<int>(rank_of(width));
    const Hdf5Space space(file.check(H5Screate_simple(rank, none, unlimited), section));
    const Hdf5Properties create = timeless(H5P_DATASET_CREATE, file, section);
    file.check(H5Pset_chunk(create.raw(), rank, chunk), section);
    file.check(H5Pset_fletcher32(create.raw()), section);
    const Hdf5Properties access(file.check(H5Pcreate(H5P_DATASET_ACCESS), section));
    // Whole chunks are written directly to the file. A cache per dataset and shard would only use
    // memory.
    file.check(H5Pset_chunk_cache(access.raw(), 0, 0, 1.0), section);
    make_group(name, file, section);
    dataset_ = Hdf5Dataset(file.check(H5Dcreate2(file.raw(), name.c_str(), type, space.raw(),
                                                 H5P_DEFAULT, create.raw(), access.raw()),
                                      section));
}

Hdf5Column::~Hdf5Column() {
    if (!dataset_) return;
    const Hdf5Section section;
    dataset_ = Hdf5Dataset();
}

void Hdf5Column::close() {
    write_buffer();
    const Hdf5Section section;
    file_->check(H5Dclose(dataset_.release()), section);
}

void Hdf5Column::append_bytes(const char* data, std::size_t bytes) {
    buffer_.reserve(chunk_bytes_);
    while (bytes > 0) {
        const std::size_t part = std::min(bytes, chunk_bytes_ - buffer_.size());
        buffer_.insert(buffer_.end(), data, data + part);
        data += part;
        bytes -= part;
        if (buffer_.size() == chunk_bytes_) write_buffer();
    }
}

void Hdf5Column::write_buffer() {
    if (buffer_.empty()) return;
    const Hdf5Section section;
    const hsize_t count[2] = {buffer_.size() / row_bytes_, width_}, start[2] = {rows_, 0};
    const hsize_t extent[2] = {rows_ + count[0], width_};
    file_->check(H5Dset_extent(dataset_.raw(), extent), section);
    const Hdf5Space in_file(file_->check(H5Dget_space(dataset_.raw()), section));
    file_->check(H5Sselect_hyperslab(in_file.raw(), H5S_SELECT_SET, start, nullptr, count, nullptr),
                 section);
    const Hdf5Space in_memory(
        file_->check(H5Screate_simple(static_cast<int>(rank_of(width_)), count, nullptr), section));
    file_->check(H5Dwrite(dataset_.raw(), type_, in_memory.raw(), in_file.raw(), H5P_DEFAULT,
                          buffer_.data()),
                 section);
    rows_ += count[0];
    buffer_.clear();
}

}  // namespace lockstep::data
